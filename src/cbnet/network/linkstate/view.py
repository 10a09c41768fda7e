"""Views of the network: the topology that one router sees, and the scheme's router on it.

    link records ─► links that both ends announce ─► the part that this router can reach ─► one `routing.Network`

A link has the greater of the lengths that its ends announce. All nodes send and receive. Predicates are not part of a
view: the interests read the database, so that a change of a predicate leaves every view as it is. A change of the
topology creates a new view, with new trees. The old one is kept for a while, as other routers may still use it.
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

_MAX_EARLIER = 2


class View:
    """An immutable view of the network around one router."""

    def __init__(
        self,
        settings: Settings,
        edges: Edges,
        predicates: NodePredicates,
        initial: InitialTable | None = None,
        counters: Counter[str] | None = None,
    ) -> None:
        self.edges = edges
        self._settings = settings
        self._initial = initial
        self._counters: Counter[str] = Counter() if counters is None else counters
        self._predicates = predicates
        self.seconds = 0.0  # time to compute the scheme

    def __len__(self) -> int:
        return len({self._settings.name, *chain.from_iterable(self.edges)})

    # computed on demand: while a network starts there are very many views, and few are used

    @cached_property
    def _graph(self) -> Graph:
        links = ((u, v, weight) for (u, v), weight in self.edges.items())
        return Graph.from_edges(links, names=[self._settings.name])

    @cached_property
    def names(self) -> list[str]:
        """The reachable routers, by id."""
        return [str(name) for name in self._graph.names]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of the reachable routers."""
        return {name: id for id, name in enumerate(self.names)}

    @cached_property
    def me(self) -> int:
        """The id of this router."""
        return self.ids[self._settings.name]

    @cached_property
    def interests(self) -> LiveInterests:
        """The interests of the reachable routers."""
        return LiveInterests(self.names, self._predicates)

    @cached_property
    def _scheme(self) -> Scheme:
        empty = dict.fromkeys(range(len(self)), Predicate())
        network = Network(self._graph, empty, interests=self.interests)
        if self._settings.scheme == "multitree":
            return MultiTree(network, self._roots())
        return scheme(self._settings.scheme)(network)

    def _roots(self) -> list[int]:
        """Return the configured roots, or the nodes with the most neighbours, ties by id.

        An unreachable root is replaced by the node with the most neighbours: the same at every router.
        """
        roots = self._settings.roots
        order = np.lexsort((-self._graph.degrees, self._leaving()))
        busiest: list[int] = order[: self._settings.trees].tolist()
        return [self.ids.get(root, busiest[0]) for root in roots] if roots else busiest

    def _leaving(self) -> NDArray[np.bool_]:
        """Return which nodes have only links of maximum length: no tree should be rooted there."""
        is_leaving = np.ones(len(self), bool)
        for (u, v), weight in self.edges.items():
            if weight < MAX_WEIGHT:
                is_leaving[[self.ids[u], self.ids[v]]] = False
        return is_leaving

    @cached_property
    def router(self) -> SchemeRouter:
        """The scheme's router at this node."""
        start = perf_counter()
        try:
            return self._create_router()
        finally:
            self.seconds += perf_counter() - start

    def _create_router(self) -> SchemeRouter:
        if self._initial is not None and isinstance(self._scheme, MultiTree):
            return InitialTableRouter(self._scheme, self.me, self._initial, self.interests, self._counters)
        return self._scheme.router(self.me)

    @cached_property
    def header_codec(self) -> HeaderCodec:
        """The codec of the scheme's headers."""
        return header_codec(self._scheme, self.names, self.ids)

    @cached_property
    def _tree(self) -> Tree:
        return shortest_path_tree(self._graph, self.me)

    @cached_property
    def _hops(self) -> dict[str, str]:
        """The next hop to each other node."""
        tree = self._tree
        return {
            self.names[node]: self.names[child]
            for child in tree.children(self.me).tolist()
            for node in tree.descendants(child).tolist()
        }

    def nodes_behind(self) -> dict[str, list[str]] | None:
        """Return the nodes behind each neighbour on the first tree; None if the scheme has no shared trees."""
        if not isinstance(self._scheme, MultiTree):
            return None
        sides = self._scheme.subscriptions.behind(self.me, 0)
        return {self.names[w]: [self.names[x] for x in nodes] for w, nodes in sides.items()}

    def neighbours(self) -> list[int]:
        """Return the neighbours of this router, by id."""
        neighbours: list[int] = self._graph.neighbours(self.me).tolist()
        return neighbours

    def nearest(self, nodes: Iterable[str]) -> str | None:
        """Return the nearest of some nodes, ties by name; None if none is reachable."""
        reached = (node for node in nodes if node in self.ids)
        return min(reached, key=lambda node: (int(self._tree.distances[self.ids[node]]), node), default=None)

    def next_hop(self, node: str) -> str | None:
        """Return the next hop to a node; None if it is unreachable."""
        return self._hops.get(node)


class _Earlier(NamedTuple):
    view: View
    until: float


class ViewHistory:
    """The present view of a router, computed on demand after a change of the topology, and the earlier ones."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        initial: InitialTable | None = None,
        counters: Counter[str] | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._initial = initial
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
            if self._view is None or self._view.edges != edges:  # else the change was out of reach
                if self._view is not None:
                    self._keep(self._view, self._database.changed + self._settings.overlap)
                self.changes += 1
                initial = (
                    self._initial if self._initial is not None and self._initial.predicates.edges == edges else None
                )
                self._view = View(self._settings, edges, self._database.predicates, initial, self._counters)
        return self._view

    def earlier(self, now: float) -> list[View]:
        """Return the earlier views that other routers may still use."""
        if self._earlier:
            self._earlier = [each for each in self._earlier if each.until > now]
        return [each.view for each in self._earlier]

    def _keep(self, view: View, until: float) -> None:
        """Keep the oldest view, which others may use longest, and the newest."""
        recent = [each for each in self._earlier if each.until > self._database.changed]
        self._earlier = [*recent[: _MAX_EARLIER - 1], _Earlier(view, until)]


def reachable_edges(start: str, neighbours: Callable[[str], Mapping[str, int]]) -> dict[tuple[str, str], int]:
    """Return the lengths of the two-way links that a node can reach, by the names of their ends."""
    edges: dict[tuple[str, str], int] = {}
    queue = [start]
    reached = {start}
    done: set[str] = set()
    for u in queue:  # grows meanwhile
        done.add(u)
        for v, weight in neighbours(u).items():
            if v in done:
                continue
            back = neighbours(v).get(u)
            if back is not None:
                edges[min(u, v), max(u, v)] = max(weight, back)
                if v not in reached:
                    reached.add(v)
                    queue.append(v)
    return edges
