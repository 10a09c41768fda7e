"""Takeovers of a home group with PostgreSQL while messages are published durably."""

import pytest
from support.killed_homes import kill_homes, longest_pause


@pytest.mark.parametrize("fault", ["stop", "database", "failover"])
def test_holders_and_databases_that_are_gone_lose_no_acknowledged_message(fault):
    outcome = kill_homes(1_500, fault)
    assert len(outcome.killed) == (1 if fault == "failover" else 2)
    assert not outcome.lost
    assert outcome.is_ordered
    assert longest_pause(outcome.answers) > 1.0  # nobody stores before the lease has ended
