"""View: how does the network look to one router, and what does its scheme make of that?

    records of links ─► links that both ends tell of ─► the part that this router can reach ─► one `routing.Network`

A link has the greater of the lengths that its ends say. All nodes send and receive. The predicates are not
in the view: the interests ask the database, so that a change of a predicate leaves every view as it is, and
a change of the topology makes a new one, with new trees, in the place of the old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from cbnet.language.predicate import Predicate
from cbnet.network.database import Database
from cbnet.network.headers import Headers, headers_of
from cbnet.network.interests import LiveInterests
from cbnet.network.settings import Settings
from cbnet.routing import Network, Router, Scheme, scheme
from cbnet.routing.multitree import MultiTree
from cbnet.topology import Graph, shortest_path_tree

Edges = Mapping[tuple[str, str], int]


class View:
    """The network around one router; it does not change."""

    def __init__(self, settings: Settings, edges: Edges, database: Database) -> None:
        self.edges = edges
        self._settings = settings
        self._graph = Graph.from_edges(((u, v, weight) for (u, v), weight in edges.items()), names=[settings.name])
        self.names = [str(name) for name in self._graph.names]
        self.ids = {name: id for id, name in enumerate(self.names)}
        self.me = self.ids[settings.name]
        self.interests = LiveInterests(self.names, database.predicates)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _scheme(self) -> Scheme:
        nobody = dict.fromkeys(range(len(self)), Predicate())
        network = Network(self._graph, nobody, interests=self.interests)
        if self._settings.scheme == "multitree":
            return MultiTree(network, self._roots())
        return scheme(self._settings.scheme)(network)

    def _roots(self) -> list[int]:
        """Return the nodes with the most neighbours, of several the smallest first: the same at every router."""
        busiest: list[int] = np.argsort(-self._graph.degrees, kind="stable")[: self._settings.trees].tolist()
        return busiest

    @cached_property
    def router(self) -> Router:
        """What the scheme says for this router."""
        return self._scheme.router(self.me)

    @cached_property
    def headers(self) -> Headers:
        """How the headers of the scheme travel."""
        return headers_of(self._scheme, self.names, self.ids)

    @cached_property
    def _hops(self) -> dict[str, str]:
        """The neighbour on the way to each other node."""
        tree = shortest_path_tree(self._graph, self.me)
        return {
            self.names[node]: self.names[child]
            for child in tree.children(self.me).tolist()
            for node in tree.descendants(child).tolist()
        }

    def neighbours(self) -> list[int]:
        """Return the neighbours of this router, by id."""
        found: list[int] = self._graph.neighbours(self.me).tolist()
        return found

    def next_hop(self, node: str) -> str | None:
        """Return the neighbour on the way to another node; None if there is no way."""
        return self._hops.get(node)


class Views:
    """The view of a router, made anew when the topology has changed and somebody asks."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._topology = -1
        self._view: View | None = None

    def __call__(self) -> View:
        """Return the present view."""
        if self._view is None or self._topology != self._database.topology:
            edges = reachable_edges(self._settings.name, self._database.neighbours)
            self._topology = self._database.topology
            if self._view is None or self._view.edges != edges:  # else the change was somewhere out of reach
                self._view = View(self._settings, edges, self._database)
        return self._view


def reachable_edges(start: str, neighbours: Callable[[str], Mapping[str, int]]) -> dict[tuple[str, str], int]:
    """Return the two-way links of the part of the network around a node, by the names of their ends."""
    edges: dict[tuple[str, str], int] = {}
    waiting = [start]
    reached = {start}
    for u in waiting:  # grows meanwhile
        for v, weight in neighbours(u).items():
            back = neighbours(v).get(u)
            if back is not None and v != u:
                edges[min(u, v), max(u, v)] = max(weight, back)
                if v not in reached:
                    reached.add(v)
                    waiting.append(v)
    return edges
