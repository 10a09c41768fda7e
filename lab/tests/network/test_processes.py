"""Servers that benchmarks start."""

import pytest

from cbnet.errors import CbnetError
from cbnet_lab.bench import processes
from cbnet_lab.bench.processes import ServerProcess, ServerSetup, running_server


def test_a_server_that_does_not_start_is_an_error_and_leaves_nothing(monkeypatch):
    started = []

    class Started(ServerProcess):
        def wait(self):
            started.append(self)
            super().wait()

    monkeypatch.setattr(processes, "ServerProcess", Started)
    setup = ServerSetup(("sh", "start"), {"start": "echo cannot do that\nexit 3\n"})
    with pytest.raises(CbnetError, match="sh did not start: cannot do that"), running_server(setup, 1):
        pass
    (server,) = started
    assert not server.folder.exists()
    assert server.process.poll() is not None
