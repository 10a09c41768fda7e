"""Whatever happens to a network: afterwards everybody has got what was wanted, and nobody ever anything twice.

Each schedule is made again from its seed and its scheme: `RandomSchedule(seed, scheme).run(25)`. The environment variable
SCHEDULES sets their number.
"""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growing_networks import GrowingNetwork
from support.memory_networks import Lab
from support.seeds import seeds

from cbnet.network.link.settings import LIVE_SCHEMES
from cbnet.network.protocol.frames import Subscribed
from cbnet_lab.faults.random_schedule import RandomSchedule

SCHEDULES = int(os.environ.get("SCHEDULES", "24"))  # each has about 12 failures
_GROWING = 12  # networks
PARTS = 3
VARIED = (3, 4, 5, 8, 11, 15, 18)  # seeds of short schedules that have all faults together


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("scheme", LIVE_SCHEMES)
def test_after_any_schedule_deliveries_are_those_of_the_reference(scheme, part):
    for seed in seeds(SCHEDULES // len(LIVE_SCHEMES))[part::PARTS]:
        found = RandomSchedule(seed, scheme).run(25)
        assert found.violations == {}, (seed, scheme)
        assert found.counts["settled"] >= 14  # messages of each router, at each of two checks


def test_a_closed_session_does_not_tell_what_is_wanted_behind_it():
    """A router that has not heard of the new session of a link gets a packet for what the old one led to."""
    assert RandomSchedule(300075, trees=1).run(25).violations == {}


def test_the_schedules_are_not_idle():
    schedules = [RandomSchedule(seed) for seed in VARIED]
    found = [schedule.run(25) for schedule in schedules]
    assert [each.violations for each in found] == [{}] * len(VARIED)
    cuts, kills = {"cut", "half-noticed cut", "silent cut"}, {"kill", "silent kill"}
    changes = {"start", "subscribe", "unsubscribe", "clock jump"}
    assert {kind for each in found for kind in each.faults} == changes | cuts | kills
    assert {kind for each in found for kind in each.ends} == cuts | kills
    assert sum(each.counts["checked"] for each in found) > 1_000
    assert sum(each.counts["confirmed"] for each in found) > 100
    routers = [host.router for schedule in schedules for host in schedule.memory.hosts.values()]
    for what in ("records_expired", "records_superseded", "packets_retried", "packets_unpruned"):
        assert any(router.counters[what] for router in routers), what


@pytest.mark.parametrize("part", range(2))
def test_a_confirmed_subscription_misses_nothing_while_links_are_added(part):
    confirmed = 0
    for seed in seeds(_GROWING)[part::2]:
        found = GrowingNetwork(seed).run()
        assert found.violations == {}, seed
        confirmed += found.counts["confirmed"]
    assert confirmed > 50


@settings(max_examples=15)
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
