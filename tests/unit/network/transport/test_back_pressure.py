"""Who feeds a long queue waits until it is short, and never longer."""

import pytest

from cbnet.network.transport.back_pressure import BackPressure, Feed

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
