"""Routers in a cycle that saturate each other; `python -m lab.tests.support.saturated_ring` runs longer."""

from support.saturated_ring import saturate


def test_saturated_ring_delivers_everything_in_order_and_drops_nothing():
    outcome = saturate(routers=3, seconds=5)
    assert outcome.is_right, "\n".join(outcome.lines())
    assert outcome.longest_queue > 1 << 18  # more than a neighbour may send without credit
    assert outcome.longest_answer < 60
