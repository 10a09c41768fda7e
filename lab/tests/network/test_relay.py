import socket
import time

import pytest

from cbnet.network.protocol.addresses import Address
from cbnet_lab.faults.driver.processes import Relay


@pytest.fixture
def far():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        yield listener


@pytest.fixture
def relay(far):
    made = Relay(Address(*far.getsockname()[:2]))
    yield made
    made.close()


def through(relay, far):
    near = socket.create_connection(relay.address, timeout=10)
    other, _ = far.accept()
    other.settimeout(10)
    return near, other


def check_sent(near, other):
    near.sendall(b"there")
    assert other.recv(10) == b"there"


def test_bytes_go_through_both_ways(relay, far):
    near, other = through(relay, far)
    with near, other:
        check_sent(near, other)
        other.sendall(b"and back")
        assert near.recv(10) == b"and back"


def test_a_cut_closes_both_ends_until_it_is_mended(relay, far):
    near, other = through(relay, far)
    with near, other:
        relay.cut()
        assert (near.recv(1), other.recv(1)) == (b"", b"")
    with socket.create_connection(relay.address, timeout=10) as refused:
        assert refused.recv(1) == b""
    far.accept()[0].close()
    relay.repair()
    near, other = through(relay, far)
    with near, other:
        check_sent(near, other)


def test_in_silence_nothing_comes_and_nothing_ends(relay, far):
    near, other = through(relay, far)
    with near, other:
        relay.silence()
        near.sendall(b"lost")
        other.settimeout(0.2)
        with pytest.raises(TimeoutError):
            other.recv(10)
        relay.repair()
        other.settimeout(10)
        assert near.recv(1) == b""


def test_a_slow_link_delays_what_it_forwards(relay, far):
    near, other = through(relay, far)
    with near, other:
        relay.slow(0.3)
        began = time.monotonic()
        near.sendall(b"late")
        assert other.recv(10) == b"late"
        assert time.monotonic() - began >= 0.3
        relay.repair()
        check_sent(near, other)
