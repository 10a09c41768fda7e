"""Notification of systemd."""

import socket

import pytest

from cbnet.network.service.router_process import notify_systemd


@pytest.mark.parametrize("is_abstract", [False, True])
def test_systemd_is_notified_at_its_socket(tmp_path, monkeypatch, is_abstract):
    path = f"@cbnet-test-{tmp_path.name}-{id(tmp_path)}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + path[1:] if is_abstract else path)
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        notify_systemd("READY=1")
        assert manager.recv(100) == b"READY=1"


def test_without_systemd_nothing_happens(tmp_path, monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify_systemd("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify_systemd("READY=1")
    assert list(tmp_path.iterdir()) == []
