"""View: how does the network look to one router, and what does its scheme make of that?

    records of links ─► links that both ends tell of ─► the part that this router can reach ─► one `routing.Network`

A link has the greater of the lengths that its ends say. All nodes send and receive. The predicates are not
in the view: the interests ask the database, so that a change of a predicate leaves every view as it is, and
a change of the topology makes a new one, with new trees, in the place of the old. The old one is kept for a while:
others may not know of the change yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import chain
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbnet.language.predicate import Predicate
from cbnet.network.announce.initial_predicates import Edges
from cbnet.network.announce.initial_table import InitialTable, InitialTableRouter
from cbnet.network.announce.live_interests import LiveInterests
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.protocol.fields import MAX_WEIGHT
from cbnet.network.protocol.header_codec import HeaderCodec, header_codec
from cbnet.routing import Network, Scheme, SchemeRouter, scheme
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.topology import Graph, Tree, shortest_path_tree

_MOST_EARLIER = 2


class View:
    """The network around one router; it does not change."""

    def __init__(
        self,
        settings: Settings,
        edges: Edges,
        predicates: NodePredicates,
        first: InitialTable | None = None,
        counters: Counter[str] | None = None,
    ) -> None:
        """Take the links, what nodes want, and a table to match by at first: see `open_initial_table`."""
        self.edges = edges
        self._settings = settings
        self._first = first
        self._counters: Counter[str] = Counter() if counters is None else counters
        self._predicates = predicates
        self.seconds = 0.0  # that its scheme took to compute

    def __len__(self) -> int:
        return len({self._settings.name, *chain.from_iterable(self.edges)})

    # made when they are asked for: while a network starts there are very many views, and few are used

    @cached_property
    def _graph(self) -> Graph:
        links = ((u, v, weight) for (u, v), weight in self.edges.items())
        return Graph.from_edges(links, names=[self._settings.name])

    @cached_property
    def names(self) -> list[str]:
        """The routers that can be reached, by id."""
        return [str(name) for name in self._graph.names]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of these routers."""
        return {name: id for id, name in enumerate(self.names)}

    @cached_property
    def me(self) -> int:
        """The id of this router."""
        return self.ids[self._settings.name]

    @cached_property
    def interests(self) -> LiveInterests:
        """What these routers want."""
        return LiveInterests(self.names, self._predicates)

    @cached_property
    def _scheme(self) -> Scheme:
        nobody = dict.fromkeys(range(len(self)), Predicate())
        network = Network(self._graph, nobody, interests=self.interests)
        if self._settings.scheme == "multitree":
            return MultiTree(network, self._roots())
        return scheme(self._settings.scheme)(network)

    def _roots(self) -> list[int]:
        """Return the roots that are said, or the nodes with the most neighbours, of several the smallest first.

        A root that cannot be reached is replaced by the node with the most neighbours: the same at every router.
        """
        said = self._settings.roots
        order = np.lexsort((-self._graph.degrees, self._leaving()))
        busiest: list[int] = order[: self._settings.trees].tolist()
        return [self.ids.get(root, busiest[0]) for root in said] if said else busiest

    def _leaving(self) -> NDArray[np.bool_]:
        """Return which nodes have only links that are as long as can be: a tree should not be rooted there."""
        is_leaving = np.ones(len(self), bool)
        for (u, v), weight in self.edges.items():
            if weight < MAX_WEIGHT:
                is_leaving[[self.ids[u], self.ids[v]]] = False
        return is_leaving

    @cached_property
    def router(self) -> SchemeRouter:
        """What the scheme says for this router."""
        began = perf_counter()
        try:
            return self._made_router()
        finally:
            self.seconds += perf_counter() - began

    def _made_router(self) -> SchemeRouter:
        if self._first is not None and isinstance(self._scheme, MultiTree):
            return InitialTableRouter(self._scheme, self.me, self._first, self.interests, self._counters)
        return self._scheme.router(self.me)

    @cached_property
    def header_codec(self) -> HeaderCodec:
        """How the headers of the scheme travel."""
        return header_codec(self._scheme, self.names, self.ids)

    @cached_property
    def _tree(self) -> Tree:
        return shortest_path_tree(self._graph, self.me)

    @cached_property
    def _hops(self) -> dict[str, str]:
        """The neighbour on the way to each other node."""
        tree = self._tree
        return {
            self.names[node]: self.names[child]
            for child in tree.children(self.me).tolist()
            for node in tree.descendants(child).tolist()
        }

    def behind(self) -> dict[str, list[str]] | None:
        """Return the nodes behind each neighbour on the first tree; None if the scheme has no trees for all."""
        if not isinstance(self._scheme, MultiTree):
            return None
        sides = self._scheme.subscriptions.behind(self.me, 0)
        return {self.names[w]: [self.names[x] for x in nodes] for w, nodes in sides.items()}

    def neighbours(self) -> list[int]:
        """Return the neighbours of this router, by id."""
        found: list[int] = self._graph.neighbours(self.me).tolist()
        return found

    def nearest(self, nodes: Iterable[str]) -> str | None:
        """Return that of some nodes which is nearest, of equal ones the first by name; None if none can be reached."""
        reached = (node for node in nodes if node in self.ids)
        return min(reached, key=lambda node: (int(self._tree.distances[self.ids[node]]), node), default=None)

    def next_hop(self, node: str) -> str | None:
        """Return the neighbour on the way to another node; None if there is no way."""
        return self._hops.get(node)


class _Earlier(NamedTuple):
    view: View
    until: float


class ViewHistory:
    """The view of a router, made anew when the topology has changed and somebody asks, and those before it."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        first: InitialTable | None = None,
        counters: Counter[str] | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._first = first
        self._counters = counters
        self._topology = -1
        self._view: View | None = None
        self._earlier: list[_Earlier] = []  # oldest first
        self.changes = 0

    def current(self) -> View:
        """Return the present view."""
        if self._view is None or self._topology != self._database.topology:
            edges = reachable_edges(self._settings.name, self._database.neighbours)
            self._topology = self._database.topology
            if self._view is None or self._view.edges != edges:  # else the change was somewhere out of reach
                if self._view is not None:
                    self._keep(self._view, self._database.changed + self._settings.overlap)
                self.changes += 1
                first = self._first if self._first is not None and self._first.loaded.edges == edges else None
                self._view = View(self._settings, edges, self._database.predicates, first, self._counters)
        return self._view

    def earlier(self, now: float) -> list[View]:
        """Return the views before the present one that others may still have."""
        if self._earlier:
            self._earlier = [each for each in self._earlier if each.until > now]
        return [each.view for each in self._earlier]

    def _keep(self, view: View, until: float) -> None:
        """Keep the oldest view, which others may have longest, and the newest."""
        recent = [each for each in self._earlier if each.until > self._database.changed]
        self._earlier = [*recent[: _MOST_EARLIER - 1], _Earlier(view, until)]


def reachable_edges(start: str, neighbours: Callable[[str], Mapping[str, int]]) -> dict[tuple[str, str], int]:
    """Return the two-way links of the part of the network around a node, by the names of their ends."""
    edges: dict[tuple[str, str], int] = {}
    waiting = [start]
    reached = {start}
    done: set[str] = set()  # what is to be said of their links is said
    for u in waiting:  # grows meanwhile
        done.add(u)
        for v, weight in neighbours(u).items():
            if v in done:
                continue
            back = neighbours(v).get(u)
            if back is not None:
                edges[min(u, v), max(u, v)] = max(weight, back)
                if v not in reached:
                    reached.add(v)
                    waiting.append(v)
    return edges
