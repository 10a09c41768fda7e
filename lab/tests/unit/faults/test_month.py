"""A month of failures: a network delivers as it must with any number of trees."""

from dataclasses import replace

import pytest

from cbnet.errors import InputError
from cbnet.topology import topology
from cbnet_lab.bench.plan_options import routings
from cbnet_lab.faults import month
from cbnet_lab.faults.month import MAX_RECOVERY, month_schedule
from cbnet_lab.faults.plans import MonthPlan

MINUTES = MonthPlan("powerlaw:8", hours=0.03, rate=5)


def run(plan, trees="1"):
    return [*month.run(replace(plan, trees=routings("--trees", trees)), lambda _: None)]


def test_in_minutes_of_failures_nothing_is_missed_in_a_quiet_network_with_any_number_of_trees():
    outcomes = run(MINUTES, "1,3,pif")
    for outcome in outcomes:
        found, counts = outcome.found, outcome.counts()
        assert found.violations == {}
        assert counts["messages"] >= 0.03 * 3600 * 5
        assert 0 < counts["quiet_messages"] < counts["messages"]
        assert counts["requests"] == counts["messages"] // 5 > 0
        assert 0 < counts["from_caches"] < counts["replies"] <= counts["requests"]
        assert found.recoveries
        assert max(each.since_last for each in found.recoveries) <= MAX_RECOVERY
        assert 0.3 < outcome.quiet_share < 1
        assert outcome.events == outcomes[0].events  # all have the same month
        assert (outcome.routers, outcome.links, outcome.clients) == (8, outcomes[0].links, 16)


def test_every_kind_of_failure_happens():
    faults = month_schedule(topology("ring:3"), ["0.0", "1.0"], hours=8, seed=0)
    assert {each.kind for each in faults} == {
        "cut", "half-noticed cut", "silent cut", "partition", "kill", "silent kill", "leave", "leave silently", "stall",
        "slow", "resubscribe",
    }  # fmt: skip
    (outcome,) = run(MonthPlan("ring:3", hours=0.4, rate=0.1))
    assert outcome.found.is_good
    assert {"resubscribe", "leave", "end of leave"} <= set(outcome.events)


@pytest.mark.parametrize("wrong", [{"hours": 0}, {"hours": 1001}, {"rate": 0}, {"rate": 1001}])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        MonthPlan(**wrong)
