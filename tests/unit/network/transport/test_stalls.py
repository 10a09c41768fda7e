"""A neighbour is stalled if something waits for it and nothing shows that it reads."""

from types import SimpleNamespace

import pytest

from cbnet.network.transport.back_pressure import Stalls


class FakeConnection:
    waiting = 1
    unsent = 100

    def __init__(self):
        self.traffic = SimpleNamespace(sent=1_000)


@pytest.fixture
def stalls():
    return Stalls()


def test_neighbour_that_reads_nothing_is_stalled_after_the_timeout(stalls):
    neighbour = FakeConnection()
    assert stalls.check([neighbour], 0.0, timeout=3.0) == []
    assert stalls.check([neighbour], 3.0, timeout=3.0) == []
    assert stalls.check([neighbour], 3.1, timeout=3.0) == [neighbour]


def test_neighbour_that_reads_slowly_is_not_stalled_even_if_ever_more_is_sent(stalls):
    neighbour = FakeConnection()
    for second in range(0, 20, 2):
        assert stalls.check([neighbour], second, timeout=3.0) == []
        neighbour.unsent += 99  # of 100 that were sent
        neighbour.traffic.sent += 100


def test_bytes_that_the_operating_system_takes_are_no_sign_of_reading(stalls):
    neighbour = FakeConnection()
    neighbour.unsent = 0
    for second in range(3):
        assert stalls.check([neighbour], second, timeout=3.0) == []
        neighbour.traffic.sent += 10
    assert stalls.check([neighbour], 3.1, timeout=3.0) == [neighbour]


def test_neighbour_that_answers_is_not_stalled(stalls):
    neighbour = FakeConnection()
    for second in range(0, 20, 2):
        assert stalls.check([neighbour], second, timeout=3.0) == []
        stalls.answered(neighbour)


def test_neighbour_for_which_nothing_waits_is_not_stalled(stalls):
    neighbour = FakeConnection()
    stalls.check([neighbour], 0.0, timeout=3.0)
    neighbour.waiting = 0
    assert stalls.check([neighbour], 9.0, timeout=3.0) == []
    neighbour.waiting = 1
    assert stalls.check([neighbour], 10.0, timeout=3.0) == []
