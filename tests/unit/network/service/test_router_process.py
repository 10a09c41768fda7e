"""What a service manager is told of a router."""

import socket

import pytest

from cbnet.network.service.router_process import tell_systemd


@pytest.mark.parametrize("is_abstract", [False, True])
def test_the_service_manager_is_told_where_it_listens(tmp_path, monkeypatch, is_abstract):
    where = f"@cbnet-test-{tmp_path.name}-{id(tmp_path)}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + where[1:] if is_abstract else where)
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", where)
        tell_systemd("READY=1")
        assert manager.recv(100) == b"READY=1"


def test_without_a_service_manager_nothing_happens(tmp_path, monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    tell_systemd("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    tell_systemd("READY=1")
    assert list(tmp_path.iterdir()) == []
