"""A month of failures: a network delivers as it must with any number of trees."""

import pytest

from cbnet.errors import InputError
from cbnet.topology import topology
from cbnet_lab.bench.plan_options import routings
from cbnet_lab.faults.month import MAX_RECOVERY, Month, month_schedule
from cbnet_lab.faults.plans import MonthPlan

MINUTES = MonthPlan(topology="powerlaw:8", hours=0.03, rate=5)


def run(plan, trees="1"):
    months = [Month(plan, routing) for routing in routings("--trees", trees)]
    return months, [month.run(lambda _: None) for month in months]


def test_in_minutes_of_failures_nothing_is_missed_in_a_quiet_network_with_any_number_of_trees():
    months, outcomes = run(MINUTES, "1,3,pif")
    for month, found in zip(months, outcomes, strict=True):
        counts = found.counts
        assert found.violations == {}
        assert counts["published"] >= 0.03 * 3600 * 5
        assert 0.3 * counts["published"] < counts["settled"] < counts["published"]
        assert counts["requests"] == counts["published"] // 5 > 0
        assert 0 < counts["cached reply"] < counts["reply"] + counts["cached reply"] <= counts["requests"]
        assert max(max(found.recoveries[kind]) for kind in found.recoveries if kind != "several") <= MAX_RECOVERY
        assert (found.faults, found.ends) == (outcomes[0].faults, outcomes[0].ends)  # all have the same month
        assert (len(month.memory.hosts), len(month.clients)) == (8, 16)


def test_every_kind_of_failure_happens():
    faults = month_schedule(topology("ring:3"), ["0.0", "1.0"], hours=8, seed=0)
    assert {each.kind for each in faults} == {
        "cut", "half-noticed cut", "silent cut", "partition", "kill", "silent kill", "leave", "leave silently", "stall",
        "slow", "resubscribe",
    }  # fmt: skip
    _, (found,) = run(MonthPlan(topology="ring:3", hours=0.4, rate=0.1))
    assert found.is_good
    assert {"resubscribe", "leave"} <= set(found.faults)
    assert "leave" in found.ends


@pytest.mark.parametrize("wrong", [{"hours": 0}, {"hours": 1001}, {"rate": 0}, {"rate": 1001}])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        MonthPlan(**wrong)
