"""A router that leaves tells all that its links are long, and knows when they know."""

import pytest

from cbnet.network import MemoryNetwork, Settings
from cbnet.network.protocol.fields import MAX_WEIGHT


@pytest.fixture
def line():
    memory = MemoryNetwork(seed=3)
    for name in "abc":
        memory.add(Settings(name, weights={"a": 7} if name == "b" else {}))
    memory.add_cable("a", "b")
    memory.add_cable("b", "c")
    memory.run(3)
    return memory


def leave(memory, name):
    host = memory.hosts[name]
    host.perform(host.router.leave(host.now))


def weights(memory, name):
    return {ends: edge.weight for ends, edge in memory.router(name).version.edges.items()}


def test_all_see_long_links_and_nothing_else_changes(line):
    assert weights(line, "c") == {("a", "b"): 7, ("b", "c"): 1}
    leave(line, "b")
    assert not line.router("b").is_departure_known
    line.run(2)
    assert line.router("b").is_departure_known
    for name in "abc":
        assert weights(line, name) == {("a", "b"): MAX_WEIGHT, ("b", "c"): MAX_WEIGHT}
    changes = line.router("c").versions.changes
    leave(line, "b")  # again
    line.run(2)
    assert line.router("c").versions.changes == changes


def test_departure_is_unknown_until_all_reachable_routers_acknowledge(line):
    line.cut("b", "c", noticed_by=["c"])  # b believes that the link is there, until it hears nothing for a while
    leave(line, "b")
    line.run(1)
    assert not line.router("b").is_departure_known
    line.run(6)
    assert line.router("b").is_departure_known


def test_a_router_alone_knows_at_once():
    memory = MemoryNetwork(seed=1)
    memory.add(Settings("a"))
    memory.run(1)
    leave(memory, "a")
    memory.run(1)
    assert memory.router("a").is_departure_known
