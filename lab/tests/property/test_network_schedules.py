"""Whatever happens to a network: afterwards everybody has got what was wanted, and nobody ever anything twice.

Each schedule is made again from its seed and its scheme: `RandomSchedule(seed, scheme).run(25)`. The environment variable
SCHEDULES says how many are run.
"""

import os
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growing_networks import GrowingNetwork
from support.memory_networks import Lab

from cbnet.network.link.settings import LIVE_SCHEMES
from cbnet.network.protocol.frames import Subscribed
from cbnet_lab.faults.random_schedule import RandomSchedule

SCHEDULES = int(os.environ.get("SCHEDULES", "90"))  # each has about 12 failures
_GROWING = 36  # networks
PARTS = 10


@cache
def outcome(seed, scheme):
    """Return the findings of a schedule, and the counters of its routers."""
    schedule = RandomSchedule(seed, scheme)
    verdict = schedule.run(25)
    return verdict, [host.router.counters for host in schedule.memory.hosts.values()]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("scheme", LIVE_SCHEMES)
def test_after_any_schedule_deliveries_are_those_of_the_reference(scheme, part):
    for seed in range(part, SCHEDULES // len(LIVE_SCHEMES), PARTS):
        verdict, _ = outcome(seed, scheme)
        assert verdict.violations == {}, (seed, scheme)
        assert verdict.counts["settled"] >= 14  # messages of each router, at each of two checks


def test_the_schedules_are_not_idle():
    verdicts, counters = zip(*(outcome(seed, "multitree") for seed in range(20)), strict=True)
    faults = {kind for verdict in verdicts for kind in verdict.faults}
    cuts, kills = {"cut", "half-noticed cut", "silent cut"}, {"kill", "silent kill"}
    assert faults == {"start", "subscribe", "unsubscribe", "clock jump", *cuts, *kills}
    assert {kind for verdict in verdicts for kind in verdict.ends} == cuts | kills
    assert sum(verdict.counts["checked"] for verdict in verdicts) > 1_000
    assert sum(verdict.counts["confirmed"] for verdict in verdicts) > 100
    for what in ("records_expired", "records_superseded", "packets_retried", "packets_unpruned"):
        assert any(router[what] for routers in counters for router in routers), what


@pytest.mark.parametrize("part", range(4))
def test_a_confirmed_subscription_misses_nothing_while_links_are_added(part):
    confirmed = 0
    for seed in range(part, _GROWING, 4):
        found = GrowingNetwork(seed).run()
        assert found.violations == {}, seed
        confirmed += found.counts["confirmed"]
    assert confirmed > 100


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(LIVE_SCHEMES), st.data())
def test_a_confirmed_subscription_misses_nothing_from_then_on(seed, scheme, data):
    names = "abcdefg"[: data.draw(st.integers(2, 7))]
    pairs = {(names[data.draw(st.integers(0, n - 1))], names[n]) for n in range(1, len(names))}
    pairs |= {
        tuple(sorted(pair)) for pair in data.draw(st.lists(st.permutations(names).map(lambda p: p[:2]), max_size=4))
    }
    lab = Lab(" ".join(f"{a}-{b}" for a, b in sorted(pairs)), seed=seed, scheme=scheme)
    subscriber = data.draw(st.sampled_from(names))
    for id, predicate in enumerate(
        data.draw(st.lists(st.sampled_from(["x > 0", "x = 1", "x > 0 and y = 1", "true"]), max_size=4))
    ):
        lab.clients[subscriber].subscribe(id, predicate)  # some of it may cover what comes
    lab.clients[subscriber].subscribe(9, "x = 1", wait=5.0)
    while not (answers := [a for a in lab.answers(subscriber, Subscribed) if a.id == 9]):
        lab.run(0.002)
    assert answers == [Subscribed(9, True, len(names), [])]
    for name in names:
        lab.clients[name].publish({"x": 1}, name.encode())
    lab.run(2)
    got = [delivery.payload.decode() for delivery in lab.clients[subscriber].deliveries if delivery.subscription == 9]
    assert sorted(got) == list(names)
