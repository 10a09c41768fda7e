"""Routers that are restarted under load; `python -m tests.support.restarted_routers` publishes more messages."""

from support.restarted_routers import restart_under_load


def test_no_acknowledged_message_is_lost_while_all_routers_are_restarted_under_load(tmp_path):
    outcome = restart_under_load(tmp_path, acknowledged=40_000, restarts=6)
    assert len(outcome.stored) >= 40_000
    assert outcome.restarts == 6
    assert not outcome.lost
    assert outcome.received == sorted({*outcome.received})  # once, in order
    assert not {*outcome.received}.difference(outcome.stored, outcome.failed)
