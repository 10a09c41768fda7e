"""Session: how is Spark started, the same for a laptop and for a cluster? Only the master differs."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from socket import create_connection

from pyspark.sql import SparkSession

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.java import java_home
from cbnet.pipeline.spark.progress import watch_stages

LOCAL = "local[*]"
_MASTERS = re.compile(r"local(-cluster)?(\[[\d*, ]+\])?|spark://.+|yarn|k8s://.+")
_GIB = 2**30
# Java addresses up to 32 GiB with short pointers: between that and about 48 more memory holds less.
_LARGEST_HEAP = 31 * _GIB

_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.io.compression.codec": "zstd",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # It drops what was joined with nothing from a plan that has run, and with it what was counted there.
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
}


def spark_session(
    name: str = "cbnet", *, master: str | None = None, conf: Mapping[str, str] | None = None, progress: bool = True
) -> SparkSession:
    """Start Spark, or return the session that is running; `conf` has the last word on every setting.

    Stop it with `stop()`, or use it in a `with` block. Its progress and the address of its web page go to
    standard error.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    master = master or LOCAL
    _check_master(master)
    settings = {**_SETTINGS, **(_local_settings() if master.startswith("local") else {}), **(conf or {})}
    _prepare_environment(master, settings)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # of any kind, from Java or from Python; Spark logs what led to it
        raise CbnetError(f"Spark did not start at {master}: {_first_line(error)}") from error
    if session.sparkContext.uiWebUrl:
        print(f"Spark's web page: {session.sparkContext.uiWebUrl}", file=sys.stderr)
    if progress:
        watch_stages(session)
    return session


@contextmanager
def borrowed_session(
    name: str = "cbnet", *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Give the session that is running, and leave it; or start one, and stop it at the end."""
    running = SparkSession.getActiveSession()
    session = running or spark_session(name, master=master, conf=conf)
    try:
        yield session
    finally:
        if running is None:
            session.stop()


def _check_master(master: str) -> None:
    """Check what Spark would find out after a minute."""
    if not _MASTERS.fullmatch(master):
        hint = "use local[*], spark://host:7077, yarn or k8s://https://host:port"
        raise InputError(f"{master!r} is no Spark master", hint=hint)
    if master.startswith("spark://"):
        addresses = [address.rpartition(":") for address in master.removeprefix("spark://").split(",")]
        if not any(_listens(host, port) for host, _, port in addresses):
            raise CbnetError(f"no Spark master listens at {master}")


def _listens(host: str, port: str) -> bool:
    try:
        create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError):
        return False
    return True


def _local_settings() -> dict[str, str]:
    return {
        "spark.driver.memory": f"{heap_bytes(machine_memory()) // 2**20}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def heap_bytes(memory: int) -> int:
    """Return how much of a machine's memory Java may take: half, as the Python workers and mapped files need theirs."""
    return max(_GIB, min(memory // 2, _LARGEST_HEAP))


def machine_memory(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many bytes of memory this process may use: the machine's, or less where it runs in a container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in (groups / "memory.max", groups / "memory" / "memory.limit_in_bytes"):
        try:
            return min(physical, int(limit.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return physical


def _prepare_environment(master: str, settings: dict[str, str]) -> None:
    """Set what Spark takes from the environment alone, before its Java starts."""
    home = java_home(_own_folder)
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    # Spark's workers would run the `python3` of PATH, which may have no cbnet.
    if "spark.pyspark.python" in settings:
        os.environ["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # so nobody else reaches the web page
    log = Path(__file__).with_name("log4j2.properties")
    options = "spark.driver.extraJavaOptions"
    settings[options] = f"-Dlog4j2.configurationFile={log.as_uri()} {settings.get(options, '')}".strip()


@cache
def _own_folder() -> Path:
    """Return a folder that lives as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="cbnet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
