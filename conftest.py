import gc
import io
import logging
import os
import random
import signal
import sys
from dataclasses import dataclass
from multiprocessing.process import BaseProcess

import pytest
from hypothesis import HealthCheck, settings
from support.java_options import JAVA_OPTIONS

# A run in the background of a script ignores Ctrl-C, and so would the commands that tests end by it.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads take as much time to start as numpy to import
# In CI random tests use the same data in every run; workers have the seed of the process that starts them.
os.environ.setdefault("CBNET_TEST_SEED", "0" if os.environ.get("CI") else str(random.randrange(10**6)))
settings.register_profile(
    "cbnet",
    deadline=None,
    max_examples=30,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],  # they depend on speed and on chance
)
settings.load_profile("cbnet")

_FORBIDDEN = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system", "socket.bind", "socket.connect"}
_is_unit_test = False


def _refuse(event, _arguments):
    if _is_unit_test and event in _FORBIDDEN:
        raise AssertionError(f"{event} in a unit test: move the test to tests/process, tests/network or tests/spark")


sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def _no_processes_or_sockets(request, monkeypatch):
    """Let a unit test fail that starts a process, Spark or a connection."""
    global _is_unit_test
    if "unit" not in request.path.parts:
        yield
        return

    def refuse_start(_process):
        raise AssertionError("a process in a unit test: move the test to tests/process")

    assert "spark" not in request.fixturenames, "Spark in a unit test: move the test to tests/spark"
    monkeypatch.setattr(BaseProcess, "start", refuse_start)
    _is_unit_test = True
    yield
    _is_unit_test = False


def pytest_report_header():
    return f"random tests: CBNET_TEST_SEED={os.environ['CBNET_TEST_SEED']}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run all tests on Spark in two processes: each process that has some starts a session of its own."""
    from xdist.scheduler import LoadFileScheduling

    class FewSessions(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return ("soak" if "/soak/" in file else "session") if "spark" in nodeid else file

    return FewSessions(config, log)


def pytest_collection_modifyitems(items):
    """Begin with the files that take long, and spread those that wait for routers among the next two thirds.

    Several that wait at the same time, or the last ones, would leave processors idle.
    """
    files = list(dict.fromkeys(item.path for item in items))
    waiting = [file for file in files if "network" in file.parts and "unit" not in file.parts]
    others = [file for file in files if file not in waiting]
    place = {file: rank / len(group) for group in (waiting, others) for rank, file in enumerate(group)}
    place.update((file, place[file] * 2 / 3) for file in waiting)
    items.sort(key=lambda item: (item.get_closest_marker("long") is None, place[item.path]))


def pytest_collection_finish():
    """Exempt the modules and the tests themselves, some million objects, from garbage collection."""
    gc.freeze()


def pytest_unconfigure():
    """Let the interpreter free at its end what is exempt: DuckDB's binding prints pages about what stays."""
    gc.unfreeze()


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def cbnet(monkeypatch, capsys):
    """Run a command in this process, as the shell would."""
    from cbnet.cli.app import main

    monkeypatch.delenv("COLUMNS", raising=False)  # test processes may have it, and would fold tables

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["cbnet", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        handlers, level = logging.root.handlers[:], logging.root.level
        with pytest.raises(SystemExit) as ended:
            main()
        logging.root.handlers[:] = handlers  # a command that logs, such as `router`, is alone in its process otherwise
        logging.root.setLevel(level)
        captured = capsys.readouterr()
        return Outcome(ended.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def spark():
    """The one Spark session of a worker: two cores, little memory, few partitions, no optimising compilers.

    Tests run many tiny queries: compiling each of them, in Spark and in Java, takes longer than running it.
    """
    from cbnet.pipeline.spark.session import spark_session

    if "SPARK_REMOTE" in os.environ:  # of a server that test_spark_connect.py has started
        from pyspark.sql import SparkSession

        session = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).getOrCreate()
        yield session
        session.stop()
        return
    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    with spark_session("cbnet tests", master="local[2]", conf=conf, progress=False) as session:
        yield session
