"""The Spark session, the same on a laptop and on a cluster except for the master."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

import psutil
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.filesystem import process_folder
from cbnet.pipeline.spark.java import java_environment
from cbnet.pipeline.spark.progress import watch_stages

SPARK_ERRORS = (PySparkException, Py4JError)  # what a failed query raises
LOCAL = "local[*]"
_MASTERS = re.compile(r"local(-cluster)?(\[[\d*, ]+\])?|spark://.+|yarn|k8s://.+")
_GIB = 2**30
# Up to 32 GiB Java uses short pointers: a heap between that and about 48 GiB holds less.
_MAX_HEAP = 31 * _GIB

_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.io.compression.codec": "zstd",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # This rule removes empty joins from a plan that has run, and the observed counts with them.
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
}


def spark_session(
    name: str = "cbnet", *, master: str | None = None, conf: Mapping[str, str] | None = None, progress: bool = True
) -> SparkSession:
    """Start Spark, or return the running session; `conf` overrides every setting.

    Stop it with `stop()`, or use it in a `with` block. Progress and the address of the web page go to standard error.
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
    with java_environment(process_folder() / "java"):
        try:
            session = builder.getOrCreate()
        except Exception as error:  # of any type, from Java or from Python; Spark logs the cause
            raise CbnetError(f"Spark did not start at {master}: {_first_line(error)}") from error
    if session.sparkContext.uiWebUrl:
        print(f"Spark's web page: {session.sparkContext.uiWebUrl}", file=sys.stderr)
    if progress:
        watch_stages(session)
    return session


class LazySession:
    """A session that starts on first use and stops at the end of a `with` block.

    A session that was already running is used, and not stopped.
    """

    def __init__(self, name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._name, self._master, self._conf = name, master, conf
        self._spark: SparkSession | None = None
        self._owns_session = SparkSession.getActiveSession() is None

    def start(self) -> SparkSession:
        """Return the session; start it on the first call."""
        if self._spark is None:
            self._spark = spark_session(self._name, master=self._master, conf=self._conf)
        return self._spark

    def __enter__(self) -> LazySession:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spark is not None and self._owns_session:
            self._spark.stop()


@contextmanager
def borrowed_session(
    name: str = "cbnet", *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Yield the running session, or start one and stop it at the end."""
    with LazySession(name, master=master, conf=conf) as session:
        yield session.start()


def _check_master(master: str) -> None:
    """Raise the errors that Spark would raise after a minute."""
    if not _MASTERS.fullmatch(master):
        hint = "use local[*], spark://host:7077, yarn or k8s://https://host:port"
        raise InputError(f"{master!r} is not a Spark master", hint=hint)
    if master.startswith("spark://"):
        addresses = [address.rpartition(":") for address in master.removeprefix("spark://").split(",")]
        if not any(_listens(host, port) for host, _, port in addresses):
            raise CbnetError(f"no Spark master listens on {master}")


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
    """Return the size of Java's heap: half of the memory, as Python workers and mapped files need the rest."""
    return max(_GIB, min(memory // 2, _MAX_HEAP))


def machine_memory(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the memory of the machine, or of the container that this process runs in, in bytes."""
    physical = psutil.virtual_memory().total
    for limit in (groups / "memory.max", groups / "memory" / "memory.limit_in_bytes"):
        try:
            return min(physical, int(limit.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return physical


def _prepare_environment(master: str, settings: dict[str, str]) -> None:
    """Set the environment variables and Java options that Spark needs before its Java starts."""
    # By default Spark's workers run the `python3` of PATH, which may not have cbnet.
    if "spark.pyspark.python" in settings:
        os.environ["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # the web page is not reachable from outside
    log = Path(__file__).with_name("log4j2.properties")
    options = "spark.driver.extraJavaOptions"
    settings[options] = f"-Dlog4j2.configurationFile={log.as_uri()} {settings.get(options, '')}".strip()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
