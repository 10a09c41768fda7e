"""Takeovers of a home group with PostgreSQL while messages are published durably."""

import pytest
from support.killed_homes import kill_homes, longest_pause


@pytest.mark.parametrize("silently", [False, True])
def test_holders_that_are_gone_for_good_lose_no_acknowledged_message(silently):
    outcome = kill_homes(1_500, silently=silently)
    assert len(set(outcome.killed)) == 2
    assert not outcome.lost
    assert outcome.is_ordered
    assert longest_pause(outcome.answers) > 1.0  # nobody stores before the lease has ended
