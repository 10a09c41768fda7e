"""Budgets of messages that wait for slow clients: the longest queues are cut first, to one level."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.network.transport.back_pressure import QueueBudget, level

EACH, ACCOUNT, TOTAL = 100, 150, 400


class FakeConnection:
    def __init__(self, queued, account=""):
        self.queued = queued
        self.link = SimpleNamespace(account=account)
        self.output = SimpleNamespace(max_lossy=EACH)

    def limit_queue(self, size):
        self.output.max_lossy = size
        self.queued = min(self.queued, size)


@pytest.mark.parametrize(
    ("sizes", "budget", "expected"),
    [([16, 9, 3, 1], 18, 7), ([16, 9, 3, 1], 29, 16), ([5, 5, 5], 14, 4), ([], 10, 10), ([3], 0, 0)],
)
def test_level(sizes, budget, expected):
    assert level(sizes, budget) == expected


@given(st.lists(st.integers(0, 50)), st.integers(0, 500))
def test_level_is_the_highest_within_the_budget(sizes, budget):
    found = level(sizes, budget)
    assert sum(min(size, found) for size in sizes) <= budget
    if sum(sizes) > budget:
        assert sum(min(size, found + 1) for size in sizes) > budget


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(0, EACH)), max_size=12))
def test_budgets_hold_and_shorter_queues_are_cut_last(told):
    clients = [FakeConnection(size, account) for account, size in told]
    QueueBudget(EACH, ACCOUNT, TOTAL).enforce(clients)
    left = [each.queued for each in clients]
    assert sum(left) <= TOTAL
    for account in "ab":
        assert sum(each.queued for each in clients if each.link.account == account) <= ACCOUNT
    for (account, before), after in zip(told, left, strict=True):
        if after < before:  # nobody of the same account is left with more
            assert after == max(each.queued for each in clients if each.link.account == account)


def test_a_limit_is_lifted_when_the_queues_are_short_again():
    clients = [FakeConnection(100) for _ in range(5)]
    budget = QueueBudget(EACH, ACCOUNT, TOTAL)
    budget.enforce(clients)
    assert {each.output.max_lossy for each in clients} == {80}
    clients[0].queued = 0
    budget.enforce(clients)
    assert {each.output.max_lossy for each in clients} == {EACH}
