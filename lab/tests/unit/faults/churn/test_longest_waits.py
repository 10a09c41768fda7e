"""The longest waits of a churn trial."""

from __future__ import annotations

import pytest

from cbnet.errors import CbnetError
from cbnet_lab.faults.churn.longest_waits import LongestWaits
from cbnet_lab.faults.churn.trial import ChurnPlan, checked_plan


def test_the_longer_wait_of_two_phases_counts() -> None:
    waits = LongestWaits(ping=0.05, message=0.2, connect=1.0)
    waits.add(LongestWaits(ping=0.07, message=0.1, late=0.01))
    assert waits == LongestWaits(0.07, 0.2, 1.0, 0.01)
    assert waits.milliseconds() == {"ping_ms": 70.0, "message_ms": 200.0, "connect_ms": 1000.0, "late_ms": 10.0}


@pytest.mark.parametrize(
    ("waits", "is_within"),
    [(LongestWaits(0.1, 0.25, 5.0), True), (LongestWaits(0.101), False), (LongestWaits(0.0, 0.251), False)],
)
def test_pings_and_messages_have_goals(waits: LongestWaits, is_within: bool) -> None:
    assert waits.is_within_goals == is_within


def test_clients_cannot_vanish_with_more_filters_than_are_held() -> None:
    with pytest.raises(CbnetError, match="34,000 filters, more than 33,000"):
        checked_plan(ChurnPlan(33_000, [10_000], 0))
