"""Servers that benchmarks start."""

import pytest

from cbnet.errors import CbnetError
from cbnet_lab.bench.server_process import ServerProcess, ServerSetup


def test_a_server_that_does_not_start_is_an_error_and_leaves_nothing():
    server = ServerProcess(ServerSetup(("sh", "start"), {"start": "echo cannot do that\nexit 3\n"}), 1)
    with pytest.raises(CbnetError, match="sh did not start: cannot do that"), server:
        pass
    assert not server._folder.exists()
    assert server._process.poll() is not None
