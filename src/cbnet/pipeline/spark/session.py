"""The Spark session: the running one or a new one, on this machine, on a cluster or over Spark Connect.

A running session is used as it is; no setting of it is changed. See `session_target` for where a new one runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack
from warnings import catch_warnings, simplefilter

import psutil
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.failures import cause
from cbnet.pipeline.spark.filesystem import process_folder
from cbnet.pipeline.spark.java import java_environment
from cbnet.pipeline.spark.progress import watch_stages
from cbnet.pipeline.spark.session_target import (
    ExternalSettings,
    SessionTarget,
    choose_target,
    external_settings,
    is_connect,
    is_submitted,
    requested_target,
    require_same,
    target_of,
)

_GIB = 2**30
# Up to 32 GiB Java uses short pointers: a heap between that and about 48 GiB holds less.
_MAX_HEAP = 31 * _GIB
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_JAVA_VARIABLES = ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
# Else Arrow checks the bounds of every value that Spark reads from Python's batches, and whether it is null, as Spark
# does: a third of Java's time for writing them as Parquet.
_ARROW_OPTIONS = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
_PYTHON = "spark.pyspark.python"
# In place of G1, which let the heap grow twice as large before it collected, and took an eighth more processor time.
_GC_OPTIONS = "-XX:+UseParallelGC -XX:GCTimeRatio=9"

# Defaults of new sessions. No result depends on them, except timestamps without a zone that are read from text.
_SETTINGS = {
    "spark.io.compression.codec": "zstd",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.executor.extraJavaOptions": _ARROW_OPTIONS,
    "spark.ui.showConsoleProgress": "false",
}


def spark_session(
    name: str = "cbnet",
    *,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: bool = True,
    classic: bool = False,
) -> SparkSession:
    """Return the running session, or start one; `conf` overrides every setting of a new one.

    master, remote: where to run; by default according to spark-submit, the environment or spark-defaults.conf, else on
    all cores of this machine. With `classic`, a Spark Connect session is an error. Stop a new session with `stop()`.
    The target is printed on standard error, and so is progress.
    """
    requested, conf = requested_target(master, remote), conf or {}
    for key in {"spark.master", "spark.remote"} & conf.keys():
        raise InputError(f"{key} cannot be given as a setting", hint="give a master or a remote")
    if running := running_session():
        target = target_of(running)
        if requested is not None:
            require_same(requested, target, "stop that session")
        _check_classic(name, target, classic)
        _print_session(running, target, {key for key in conf if running.conf.get(key, None) != conf[key]})
        return running
    external = external_settings()
    target = choose_target(requested, external)
    _check_classic(name, target, classic)
    target.check()
    session = _start(name, target, _settings(target, external, conf))
    _print_session(session, target)
    if progress:
        watch_stages(session)
    return session


def running_session() -> SparkSession | None:
    """Return the session of this process, of either kind; None if there is none."""
    try:
        session = SparkSession.active()
    except PySparkRuntimeError:
        return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None
    is_stopped = session.is_stopped if is_connect(session) else session.sparkContext._jsc is None  # type: ignore[attr-defined]
    return None if is_stopped else session


def require_classic(spark: SparkSession, name: str) -> None:
    """Raise an error if a session is a client of Spark Connect; name: what needs a classic one."""
    _check_classic(name, target_of(spark), True)


class _Arguments(TypedDict, total=False):
    master: str | None
    remote: str | None
    conf: Mapping[str, str] | None
    progress: bool
    classic: bool


class LazySession:
    """A session that starts on first use and stops at the end of a `with` block; arguments as of `spark_session`.

    A session that was already running is used, and not stopped.
    """

    def __init__(self, name: str, **arguments: Unpack[_Arguments]) -> None:
        self._start = partial(spark_session, name, **arguments)
        self._spark: SparkSession | None = None
        self._owns_session = running_session() is None

    def start(self) -> SparkSession:
        """Return the session; start it on the first call."""
        if self._spark is None:
            self._spark = self._start()
        return self._spark

    def __enter__(self) -> LazySession:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spark is not None and self._owns_session:
            self._spark.stop()


@contextmanager
def borrowed_session(name: str = "cbnet", **arguments: Unpack[_Arguments]) -> Iterator[SparkSession]:
    """Yield the running session, or start one and stop it at the end; arguments as of `spark_session`."""
    with LazySession(name, **arguments) as session:
        yield session.start()


def _start(name: str, target: SessionTarget, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(name)
    builder = builder.remote(target.url) if target.is_remote else builder.master(target.url)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with java_environment(process_folder() / "java") if _starts_java(target) else nullcontext(), catch_warnings():
        if target.is_remote and target.is_local:  # settings of its server cannot be set again by its client
            simplefilter("ignore")
        try:
            return builder.getOrCreate()
        except ImportError as error:
            raise CbnetError(f"Spark Connect needs more packages: pip install 'cbnet[connect]' ({error})") from error
        except Exception as error:  # of any type, from Java or from Python; Spark logs the cause
            raise CbnetError(f"Spark did not start at {target.address}: {cause(error)}") from error


def _starts_java(target: SessionTarget) -> bool:
    return not is_submitted() and (target.is_local or not target.is_remote)


def _check_classic(name: str, target: SessionTarget, classic: bool) -> None:
    if classic and target.is_remote:
        remedy = "unset SPARK_REMOTE" if target.origin == "SPARK_REMOTE" else "use a classic session"
        problem = f"{name} does not support Spark Connect ({target.address}, {target.origin})"
        raise InputError(problem, hint=f"{remedy}, with a master such as spark://host:7077")


def _print_session(spark: SparkSession, target: SessionTarget, unused: Collection[str] = ()) -> None:
    page = "" if target.is_remote else spark.sparkContext.uiWebUrl
    more = [f"web page {page}"] if page else []
    more += [f"ignored settings: {', '.join(sorted(unused))}"] if unused else []
    print("; ".join([f"Spark {spark.version} at {target.address} ({target.origin})", *more]), file=sys.stderr)


def _settings(target: SessionTarget, external: Sequence[ExternalSettings], conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session, and set the environment variables that Spark reads before it starts."""
    if target.is_remote and not target.is_local:
        return dict(conf)
    configured = {key: value for each in reversed(external) for key, value in each.settings.items()}
    ours = _SETTINGS | (_local_settings() if target.is_local else {})
    settings = {key: value for key, value in ours.items() if key not in configured} | dict(conf)
    # By default Spark's workers run the `python3` of PATH, which may not have cbnet.
    if python := settings.get(_PYTHON, configured.get(_PYTHON)):
        os.environ["PYSPARK_PYTHON"] = python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if _starts_java(target):
        log = Path(__file__).with_name("log4j2.properties")
        options = settings.get(_JAVA_OPTIONS, configured.get(_JAVA_OPTIONS, ""))
        chosen = " ".join([options, *(os.environ.get(name, "") for name in _JAVA_VARIABLES)])
        collector = "" if "GC" in chosen else _GC_OPTIONS  # two collectors are an error
        java = (f"-Dlog4j2.configurationFile={log.as_uri()}", _ARROW_OPTIONS, collector, options)
        settings[_JAVA_OPTIONS] = " ".join(filter(None, java))
    return settings


def _local_settings() -> dict[str, str]:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # the web page is not reachable from outside
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if not is_submitted():  # else Java runs already
        settings["spark.driver.memory"] = f"{heap_bytes(machine_memory()) // 2**20}m"
    return settings


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
