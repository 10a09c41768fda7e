"""Contents of streams that both ends of a link still have: what is sent when a link comes back, or at the start."""

import pytest
from support.memory_networks import Alone, Lab, encoded
from support.seeds import seeds

from cbnet import Predicate, parse
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.announce import retained_contents
from cbnet.network.announce.announcements import NodeData
from cbnet.network.link.counters import Event
from cbnet.routing.aggregation.aggregation import SLICE

LINE = (("a", "b"), ("b", "c"), ("c", "d"))
MANY = [f"x = {number}" for number in range(40)]


def filters_sent(memory):
    return sum(memory.router(name).counters[Event.FILTERS_SENT] for name in memory.hosts)


def held(memory, name, neighbour):
    """Return the filters that a router has of a neighbour's side."""
    router = memory.router(name)
    return router.fib.filters(router.version.trees[0].links[neighbour])


def subscribed(*wants, **settings):
    """Return a line of routers; the client at d wants these filters."""
    lab = Lab("a-b b-c c-d", **settings)
    lab.clients["d"].subscribe(1, " or ".join(wants))
    lab.run(2)
    return lab


def flap(lab, a, b, seconds=1.0):
    lab.memory.cut(a, b)
    lab.run(seconds)
    lab.memory.repair(a, b)
    lab.run(6)


# --- after a session


def test_a_link_that_flaps_sends_no_filters():
    lab = subscribed(*MANY)
    before = filters_sent(lab.memory)
    flap(lab, "b", "c")
    assert held(lab.memory, "a", "b") == held(lab.memory, "b", "c") == set(encoded(*MANY))
    assert filters_sent(lab.memory) == before


def test_with_few_changes_only_these_are_sent():
    lab = subscribed(*MANY)
    before = filters_sent(lab.memory)
    lab.memory.cut("c", "d")
    lab.run(0.5)
    lab.clients["d"].subscribe(1, " or ".join(["y = 1", *MANY[1:]]))
    lab.run(0.5)
    lab.memory.repair("c", "d")
    lab.run(6)
    assert held(lab.memory, "a", "b") == set(encoded("y = 1", *MANY[1:]))
    assert filters_sent(lab.memory) - before <= 2 * 3  # one added and one removed, over each link


def test_small_contents_are_sent_again():
    lab = subscribed("x = 1")
    before = filters_sent(lab.memory)
    flap(lab, "c", "d")
    assert held(lab.memory, "c", "d") == set(encoded("x = 1"))
    assert filters_sent(lab.memory) > before


def test_contents_expire():
    lab = subscribed(*MANY)
    before = filters_sent(lab.memory)
    flap(lab, "c", "d", seconds=70)
    assert held(lab.memory, "a", "b") == set(encoded(*MANY))
    assert filters_sent(lab.memory) >= before + len(MANY)


def test_a_router_that_lost_its_state_is_told_all_and_tells_what_is_not_known():
    lab = subscribed(*MANY)
    before = lab.router("d").counters[Event.FILTERS_SENT]
    lab.memory.kill("c")
    lab.run(1)
    lab.memory.start("c")
    lab.run(6)
    assert held(lab.memory, "a", "b") == held(lab.memory, "c", "d") == set(encoded(*MANY))
    assert lab.router("d").counters[Event.FILTERS_SENT] == before + len(MANY)
    assert lab.router("c").counters[Event.FILTERS_SENT] == 0  # b still has the same content


# --- computed tables

WANTS = {"a": "#jazz", "c": "#jazz and #vinyl or #news", "d": "#jazz and #live"}
TABLES = {
    "a": {"b": "#jazz and #vinyl or #news or #jazz and #live"},
    "b": {"a": "#jazz", "c": "#jazz and #vinyl or #news or #jazz and #live"},
    "c": {"b": "#jazz", "d": "#jazz and #live"},
    "d": {"c": "#jazz or #news"},
}


def table(texts):
    return {neighbour: encoded(*map(str, parse(text).filters)) for neighbour, text in texts.items()}


def started(tables, seconds=5.0, seed=1, links=LINE):
    """Return a line of routers with predicates and computed tables, after some time."""
    memory = MemoryNetwork(seed)
    for name in "abcd":
        data = NodeData(parse(WANTS[name]) if name in WANTS else Predicate(), [table(tables.get(name, {}))])
        memory.add(Settings(name), data)
    for pair in links:
        memory.add_cable(*pair)
    memory.run(seconds)
    return memory


def assert_computed(memory):
    for name, interfaces in TABLES.items():
        for neighbour, filters in table(interfaces).items():
            assert held(memory, name, neighbour) == set(filters)


@pytest.mark.parametrize("seed", seeds(3))
def test_with_the_right_tables_no_filter_is_sent_at_the_start(seed):
    memory = started(TABLES, seed=seed)
    assert_computed(memory)
    assert filters_sent(memory) == 0


def test_routers_without_a_table_learn_from_neighbours():
    memory = started({name: TABLES[name] for name in "bc"})
    assert_computed(memory)
    assert filters_sent(memory) == 3 + 2  # what a and d have to know


def test_a_wrong_table_is_replaced():
    memory = started({**TABLES, "c": {"b": "#jazz", "d": "#other"}})
    assert_computed(memory)
    assert filters_sent(memory) == 1


def test_nothing_is_thrown_away_when_the_first_predicate_changes():
    memory = started(TABLES)
    client = MemoryClient(memory, "client", "d")
    client.subscribe(1, "x = 1")
    memory.run(2)
    assert filters_sent(memory) == 3
    for name, neighbour in (("a", "b"), ("b", "c"), ("c", "d")):
        assert held(memory, name, neighbour) == {*table(TABLES[name])[neighbour], *encoded("x = 1")}
    client.unsubscribe(1)
    memory.run(2)
    assert_computed(memory)


def test_released_tables_are_not_used_when_a_content_is_announced_again():
    memory = started(TABLES, seconds=10.0)
    memory.cut("c", "d")
    memory.run(5)
    memory.repair("c", "d")
    memory.run(5)
    assert_computed(memory)
    assert [memory.router(name).counters[Event.LINKS_FAILED] for name in "abcd"] == [0, 0, 0, 0]


def test_tables_are_released_when_all_streams_have_come_and_neighbours_do_not_use_them_any_more():
    memory = started(TABLES, seconds=370.0)
    for name in "abcd":
        router = memory.router(name)
        assert {source.key.session != 0 for source in router.streams.incoming.values()} == {True}
        for neighbour in TABLES[name]:
            assert router.announcements.announcer.retained.listed(neighbour, 0.0) == []


def test_a_neighbour_of_the_table_that_does_not_come_is_awaited_for_a_while():
    memory = started(TABLES, seconds=15.0, links=LINE[:2])
    assert (filters_sent(memory), memory.router("c").streams.outgoing) == (0, {})
    memory.run(20)
    assert held(memory, "a", "b") == set(encoded("#jazz and #vinyl", "#news"))


def test_in_a_running_network_a_restarted_router_does_not_await_a_neighbour_that_is_down():
    memory = started(TABLES, seconds=70.0)
    memory.kill("d")
    memory.kill("c")
    memory.run(5)
    memory.start("c")
    memory.run(10)
    assert held(memory, "a", "b") == set(encoded("#jazz and #vinyl", "#news"))


def test_the_content_of_a_new_stream_has_no_digest_if_the_neighbour_has_none(monkeypatch):
    def refuse(_):
        raise AssertionError("the digest of a million filters takes a second")

    lab = Lab("a-b")
    lab.clients["a"].subscribe(1, " or ".join(MANY))
    lab.run(2)
    monkeypatch.setattr(retained_contents, "joint_digest", refuse)
    lab.memory.add(Settings("c"))
    lab.memory.add_cable("c", "a")
    lab.run(6)
    assert held(lab.memory, "c", "a") == set(encoded(*MANY))


def test_a_large_content_that_is_kept_no_longer_is_removed_in_slices():
    alone = Alone()
    alone.leaf(1, "b", [f"x = {value}" for value in range(2 * SLICE + 500)])
    alone.close(1)
    alone.wait(3)
    known = alone.router.fib.aggregation
    assert len(known) == 2 * SLICE + 500
    while not alone.router.has_work:
        assert alone.now < 500
        alone.now += 1
        alone.router.tick(alone.now)
    left = [len(known)]
    while alone.router.has_work:
        alone.router.work(alone.now)
        left.append(len(known))
    assert left[:3] == [SLICE + 500, 500, 0]
    assert alone.router.fib.table.size == 0
