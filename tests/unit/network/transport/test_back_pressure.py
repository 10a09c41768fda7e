"""Clients are paused while a neighbour has a long queue, and never longer."""

import pytest

from cbnet.network.transport.back_pressure import BackPressure


class FakeConnection:
    """A connection that records whether it is read."""

    is_read = True
    unsent = 100

    def pause_reading(self):
        self.is_read = False

    def resume_reading(self):
        self.is_read = True


@pytest.fixture
def pressure():
    return BackPressure()


def test_clients_are_read_while_no_neighbour_has_a_long_queue(pressure):
    client = FakeConnection()
    pressure.pause(client)
    assert client.is_read


def test_clients_are_read_again_when_the_last_neighbour_is_relieved(pressure):
    client, one, other = (FakeConnection() for _ in range(3))
    pressure.add(one, 0.0)
    pressure.add(other, 0.0)
    pressure.pause(client)
    pressure.relieve(client)  # its own queue is empty, which changes nothing
    pressure.relieve(one)
    assert (client.is_read, list(pressure.paused)) == (False, [client])
    pressure.relieve(other)
    assert (client.is_read, list(pressure.paused)) == (True, [])


def test_closed_client_is_not_read_again(pressure):
    client, neighbour = FakeConnection(), FakeConnection()
    pressure.add(neighbour, 0.0)
    pressure.pause(client)
    pressure.forget(client)
    pressure.forget(neighbour)
    assert not client.is_read


def test_neighbour_that_reads_nothing_is_stalled_after_the_timeout(pressure):
    neighbour = FakeConnection()
    pressure.add(neighbour, 0.0)
    assert pressure.stalled(3.0, timeout=3.0) == []
    neighbour.unsent = 99  # it has read something
    assert pressure.stalled(4.0, timeout=3.0) == []
    assert pressure.stalled(7.0, timeout=3.0) == []
    assert pressure.stalled(7.1, timeout=3.0) == [neighbour]
