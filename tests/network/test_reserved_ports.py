import socket
from contextlib import closing

import pytest

from cbnet.network.service.reserved_ports import ReservedPorts


def test_a_server_can_listen_on_a_reserved_port_again_and_again_and_nobody_else_can_reserve_it(monkeypatch):
    with ReservedPorts(1) as ports:
        (port,) = ports.numbers
        monkeypatch.setattr("cbnet.network.service.reserved_ports._PORTS", [port, port + 1, port + 2, port + 3])
        for _ in range(2):
            with closing(socket.create_server(("127.0.0.1", port))):
                socket.create_connection(("127.0.0.1", port)).close()
            with ReservedPorts(1) as others:
                assert port not in others.numbers
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", port))


def test_ports_that_are_taken_are_left_out(monkeypatch):
    with ReservedPorts(2) as ports:
        numbers = ports.numbers
    monkeypatch.setattr("cbnet.network.service.reserved_ports._PORTS", numbers)
    with ReservedPorts(1, taken=numbers[:1]) as ports:
        assert ports.numbers == numbers[1:]
