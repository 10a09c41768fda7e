"""The prober: its record, checked as any other, and its longest waits."""

import pytest

from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.prober import PROBES, LongestWaits, Probed


@pytest.mark.parametrize(
    ("received", "kinds"),
    [
        ([1, 2, 3], []),
        ([1, 3], ["lost"]),
        ([1, 2, 2, 3], ["repeated"]),
        ([2, 1, 3], ["order"]),
        ([1, 2, 3, 4], ["spurious"]),
    ],
)
def test_every_message_arrives_once_in_order(received, kinds):
    probed = Probed(
        LongestWaits(), [(n, float(n)) for n in (1, 2, 3)], [(n, 10.0 + i) for i, n in enumerate(received)], []
    )
    checker = settled_checker(PROBES)
    checker.add(*probed.events())
    assert [*checker.end().violations] == kinds


def test_the_longest_wait_of_a_phase_counts():
    waits = LongestWaits()
    for seconds in (0.05, 0.07, 0.01):
        waits.add("ping_ms", seconds)
    waits.add("late_ms", 0.25)
    assert waits == LongestWaits(ping_ms=pytest.approx(70), late_ms=250)


@pytest.mark.parametrize(
    ("waits", "is_within"),
    [(LongestWaits(100, 250, 5000), True), (LongestWaits(101), False), (LongestWaits(0, 251), False)],
)
def test_pings_and_messages_have_goals(waits, is_within):
    assert waits.is_within_goals == is_within
