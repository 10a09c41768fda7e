"""Homes whose full subscriptions are broken on purpose: the checker finds each in simulated histories."""

import pytest

from cbnet.network.durable import home
from cbnet.network.durable.home import HomeVerdict, judge
from cbnet.network.durable.publisher_windows import PublisherWindow
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.history_plan import HistoryPlan
from cbnet_lab.faults.memory_history import MemoryHistory


def histories():
    """Yield the findings of histories with full subscriptions, the shorter ones first."""
    plans = [(seed, HistoryPlan.in_memory(seed)) for seed in range(60)]
    limited = [(plan.seconds, seed) for seed, plan in plans if any(each.limit for each in plan.subscriptions)]
    for _, seed in sorted(limited):
        yield check_record(MemoryHistory(seed, Routing(1)).run())


def refuse_for_all(subscriptions, size, mark):
    """Refuse a message for all subscriptions, as in version 0.2."""
    verdict = judge(subscriptions, size, mark)
    return HomeVerdict(problem="full") if verdict.refusing else verdict


def count_all(subscriptions, size, mark):
    """Store a message for subscriptions that are counted as those that refuse it."""
    verdict = judge(subscriptions, size, mark)
    return verdict._replace(taking=subscriptions) if verdict.refusing and not verdict.problem else verdict


def test_full_subscriptions_of_others_are_counted_and_nothing_else_is_missing():
    found = [findings for findings, _ in zip(histories(), range(4), strict=False)]
    assert [dict(each.violations) for each in found] == [{}] * 4
    assert sum(each.counts["refused by others"] for each in found) > 0


@pytest.mark.parametrize(
    ("part", "name", "broken", "kind"),
    [
        (home, "judge", refuse_for_all, "refused"),
        (home, "judge", count_all, "refused"),
        (DurableSubscription, "refuse", lambda *_: None, "lost"),  # the loss is not reported
        (PublisherWindow, "refusals", lambda *_: None, "lost"),  # a copy has another verdict
    ],
    ids=["for all", "counted", "not reported", "copy"],
)
def test_a_broken_home_is_found(monkeypatch, part, name, broken, kind):
    monkeypatch.setattr(part, name, broken)
    assert any(kind in findings.violations for findings in histories())
