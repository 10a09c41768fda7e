"""The start of a network with computed tables: routers start at different times, and their links come up in any order."""

from random import Random

import pytest
from support.seeds import seeds

from cbnet import parse
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.announce.announcements import NodeData
from cbnet.network.link.counters import Event
from cbnet.network.protocol.frames import Subscribed
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.topology import Graph

NODES = 12


def random_links(rng):
    """Return a random connected graph: a tree, and some more links."""
    tree = [(rng.randrange(node), node) for node in range(1, NODES)]
    more = [tuple(sorted(rng.sample(range(NODES), 2))) for _ in range(NODES // 2)]
    return sorted(set(tree + more))


class Start:
    """A random network whose routers start one after the other, each with its predicate and its table."""

    def __init__(self, seed, last, absent=None, roots=("0",), *, is_computed=True):
        """Start all routers but an absent one within `last` seconds; is_computed: whether they have their tables."""
        rng = self._rng = Random(seed)
        self.memory = MemoryNetwork(seed)
        links = random_links(rng)
        graph = Graph.from_edges([(str(a), str(b), 1) for a, b in links], names=[str(node) for node in range(NODES)])
        wants = {u: parse(f"#a{rng.randrange(4)} and #b{rng.randrange(4)} or #c{u}") for u in range(NODES)}
        scheme = MultiTree(Network(graph, wants), [graph.id(root) for root in roots])
        self.tables = {
            str(u): [_table(graph, scheme.router(graph.id(str(u))), tree) for tree in range(len(roots))]
            for u in range(NODES)
        }
        for u in range(NODES):
            name = str(u)
            tables = self.tables[name] if is_computed else []
            self.memory.add(Settings(name, roots=roots), NodeData(wants[graph.id(name)], tables))
            self.memory.kill(name)
            if u != absent:
                self.memory.after(rng.uniform(0, last), lambda name=name: self.memory.start(name))
        for a, b in links:
            self.memory.add_cable(str(a), str(b))

    def cut_some_links(self, seconds):
        """Break links for a moment, each second."""
        for _ in range(seconds):
            a, b = self._rng.choice(self.memory.cables(cut=False))
            self.memory.cut(a, b)
            self.memory.run(0.5)
            self.memory.repair(a, b)
            self.memory.run(0.5)

    @property
    def sent(self):
        return sum(self.memory.router(name).counters[Event.FILTERS_SENT] for name in self.tables)

    @property
    def filters(self):
        return sum(len(filters) for tables in self.tables.values() for table in tables for filters in table.values())

    def computed(self):
        return {
            name: [{neighbour: set(filters) for neighbour, filters in table.items()} for table in tables]
            for name, tables in self.tables.items()
        }

    def held(self):
        """Return the tables of all routers."""
        return {
            name: [
                {link.neighbour: router.fib.filters(link) for link in tree.links.values()}
                for tree in router.version.trees
            ]
            for name in self.tables
            if (router := self.memory.router(name))
        }


def _table(graph, router, tree):
    return {
        str(graph.names[w]): [filter_to_bytes(each) for each in interface.subscriptions]
        for w, interface in router.fib(tree).items()
    }


@pytest.mark.parametrize("last", [0.0, 2.0, 20.0])  # routers give up waiting after 20 s without a new link
@pytest.mark.parametrize("seed", seeds(2))
def test_no_filter_is_sent_that_both_ends_have_whenever_routers_start(seed, last):
    start = Start(seed, last)
    start.memory.run(last + 10)
    assert start.held() == start.computed()
    assert start.sent == 0


@pytest.mark.parametrize("last", [0.0, 2.0, 20.0])
@pytest.mark.parametrize("seed", seeds(2))
def test_few_filters_are_sent_if_tables_of_several_trees_are_computed(seed, last):
    # not none: while links are missing, a tree may have the computed neighbours of a router but other sides
    start = Start(seed, last, roots=("0", "7", "3"))
    start.memory.run(last + 10)
    assert start.held() == start.computed()
    assert start.sent < start.filters / 20


@pytest.mark.parametrize("seed", seeds(2))
def test_computed_tables_save_filters_though_links_break_at_the_start(seed):
    # not all: a link that breaks changes the tree, and routers with other sides send their filters
    starts = [Start(seed, last=20.0, is_computed=is_computed) for is_computed in (True, False)]
    for start in starts:
        start.cut_some_links(20)
        start.memory.run(10)
        assert start.held() == starts[0].computed()
    computed, announced = starts
    assert computed.sent < announced.sent
    assert announced.sent >= announced.filters


def test_timeout_names_the_router_that_does_not_start_everywhere():
    start = Start(1, last=0.0, absent=5)  # a leaf, next to 0
    clients = [MemoryClient(start.memory, "client", str(node)) for node in range(NODES) if node != 5]
    start.memory.run(12)  # routers report every 5 s what they wait for
    for client in clients:
        client.subscribe(1, "x = 1", wait=4)
    start.memory.run(5)
    answers = [each for client in clients for each in client.answers if isinstance(each, Subscribed)]
    assert answers == [Subscribed(1, False, NODES - 1, ["5→0"])] * len(clients)
    assert start.memory.router("0").silent_neighbours.keys() >= {"5"}
    start.memory.run(10)  # no link has changed for more than 20 s: all give up waiting for it
    for client in clients:
        client.subscribe(2, "x = 1", wait=1)
    start.memory.run(2)
    assert all(client.answers[-1] == Subscribed(2, True, NODES - 1, []) for client in clients)
