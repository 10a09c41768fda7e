"""Unit tests start no process and open no connection: a test that does fails here and belongs elsewhere."""

import sys
from multiprocessing.process import BaseProcess

import pytest

_FORBIDDEN = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system", "socket.bind", "socket.connect"}
_watched = False


def _refuse(event, _arguments):
    if _watched and event in _FORBIDDEN:
        raise AssertionError(f"{event} in a unit test: move the test to tests/process, tests/network or tests/spark")


sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def _no_processes_or_sockets(monkeypatch):
    global _watched

    def refuse_start(_process):
        raise AssertionError("a process in a unit test: move the test to tests/process")

    monkeypatch.setattr(BaseProcess, "start", refuse_start)
    _watched = True
    yield
    _watched = False


@pytest.fixture
def spark():
    pytest.fail("Spark in a unit test: move the test to tests/spark")
