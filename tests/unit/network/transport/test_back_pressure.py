"""Who feeds a long queue waits until it is short, and never longer; a neighbour that reads nothing is stalled."""

import pytest

from cbnet.network.link.link import Link
from cbnet.network.transport.back_pressure import BackPressure, Feed, is_stalled

CLIENT, ONE, OTHER = Feed("client", 0), Feed("one", 1), Feed("other", 1)
RELAYED = Feed("one", 2)


@pytest.fixture
def pressure():
    return BackPressure()


def test_feeder_waits_until_all_queues_are_short_that_it_has_fed(pressure):
    pressure.block(ONE, CLIENT)
    pressure.block(OTHER, CLIENT)
    pressure.block(OTHER, CLIENT)
    assert pressure.relieve(ONE) == []
    assert pressure.is_blocked(CLIENT)
    assert pressure.relieve(OTHER) == [CLIENT]
    assert not pressure.is_blocked(CLIENT)


def test_who_has_not_fed_a_queue_does_not_wait(pressure):
    pressure.block(ONE, CLIENT)
    assert not pressure.is_blocked(Feed("another client", 0))
    assert pressure.relieve(OTHER) == []
    assert pressure.is_blocked(CLIENT)


def test_classes_of_a_link_wait_on_their_own(pressure):
    pressure.block(RELAYED, OTHER)
    pressure.block(ONE, CLIENT)
    assert pressure.relieve(RELAYED) == [OTHER]
    assert pressure.is_blocked(CLIENT)


def test_nobody_waits_for_a_closed_link(pressure):
    pressure.block(ONE, CLIENT)
    pressure.block(RELAYED, OTHER)
    pressure.block(RELAYED, CLIENT)
    assert sorted(pressure.forget("one")) == [CLIENT, OTHER]
    assert not pressure.is_blocked(CLIENT)


def test_closed_feeder_is_not_told_to_go_on(pressure):
    pressure.block(ONE, CLIENT)
    assert pressure.forget("client") == []
    assert pressure.relieve(ONE) == []


class Neighbour:
    """A connection over which 1,000 bytes were sent, of which 100 are in the write buffer, and one waits."""

    unsent = 100

    def __init__(self):
        self.link = Link(1)
        self.link.traffic.sent, self.link.traffic.waiting = 1_000, 1


@pytest.fixture
def neighbour():
    return Neighbour()


def test_neighbour_that_reads_nothing_is_stalled_after_the_timeout(neighbour):
    assert not is_stalled(neighbour, 0.0, timeout=3.0)
    assert not is_stalled(neighbour, 3.0, timeout=3.0)
    assert is_stalled(neighbour, 3.1, timeout=3.0)


def test_neighbour_that_reads_slowly_is_not_stalled_even_if_ever_more_is_sent(neighbour):
    for second in range(0, 20, 2):
        assert not is_stalled(neighbour, second, timeout=3.0)
        neighbour.unsent += 99  # of 100 that were sent
        neighbour.link.traffic.sent += 100


def test_bytes_that_the_operating_system_takes_are_no_sign_of_reading(neighbour):
    neighbour.unsent = 0
    for second in range(3):
        assert not is_stalled(neighbour, second, timeout=3.0)
        neighbour.link.traffic.sent += 10
    assert is_stalled(neighbour, 3.1, timeout=3.0)


def test_neighbour_that_answers_is_not_stalled(neighbour):
    for second in range(0, 20, 2):
        assert not is_stalled(neighbour, second, timeout=3.0)
        neighbour.link.stall = None


def test_neighbour_for_which_nothing_waits_is_not_stalled(neighbour):
    is_stalled(neighbour, 0.0, timeout=3.0)
    neighbour.link.traffic.waiting = 0
    assert not is_stalled(neighbour, 9.0, timeout=3.0)
    neighbour.link.traffic.waiting = 1
    assert not is_stalled(neighbour, 10.0, timeout=3.0)
