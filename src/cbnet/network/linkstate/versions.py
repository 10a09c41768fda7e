"""Versions of the topology: the links that one router can reach, and its trees on them.

    link records ─► links that both ends have in common ─► the part that this router can reach ─► k trees

The id of a version is a hash of the link records of all reachable routers. Routers with the same records thus have the
same version, with the same trees, and no version occurs twice.

A new version is adopted after a change of the topology, but not more often than a minimum interval allows: there are
very many changes while a network starts. Earlier versions are kept until the newest one is complete and some time has
passed, as packets and other routers may still use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.tree_view import TreeLink, TreeView, view_tree
from cbnet.network.protocol.fields import MAX_WEIGHT
from cbnet.network.protocol.frames import LinkField
from cbnet.topology import Graph, shortest_path_tree, shortest_path_trees

_MAX_KEPT = 6


class SessionEdge(NamedTuple):
    """A link of the topology: the session in use, and its length."""

    session: int
    weight: int


Edges: TypeAlias = Mapping[tuple[str, str], SessionEdge]  # by the names of both ends, the smaller first


class Version:
    """The topology around one router; computed on demand, as very many are superseded before they are used."""

    def __init__(self, settings: Settings, id: int, edges: Edges) -> None:
        self.id = id
        self.edges = edges
        self.complete: float | None = None  # time when all its streams had arrived at this router
        self._settings = settings

    @cached_property
    def names(self) -> frozenset[str]:
        """The reachable routers, including this one."""
        return frozenset((self._settings.name, *chain.from_iterable(self.edges)))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def trees(self) -> list[TreeView]:
        """The trees; none if no other router is reachable."""
        if not self.edges:
            return []
        graph, settings = self._graph, self._settings
        is_shared = settings.scheme == "multitree"
        roots = tree_roots(graph, settings.trees, settings.roots) if is_shared else range(len(graph))
        sessions = {ends: edge.session for ends, edge in self.edges.items()}
        trees = [
            view_tree(number, tree, self._node_names, self._me, sessions, is_shared=is_shared)
            for number, tree in enumerate(shortest_path_trees(graph, roots))
        ]
        return trees if is_shared else [_matched_as(tree, trees[self._me]) for tree in trees]

    def links(self) -> Iterable[TreeLink]:
        """Yield the links of this router on all trees."""
        return chain.from_iterable(tree.links.values() for tree in self.trees)

    @cached_property
    def neighbours(self) -> frozenset[str]:
        """The neighbours of this router on the trees."""
        return frozenset(link.neighbour for link in self.links())

    @cached_property
    def own_sessions(self) -> frozenset[int]:
        """The sessions of this router's links."""
        return frozenset(edge.session for ends, edge in self.edges.items() if self._settings.name in ends)

    def tree(self, number: int, source: str) -> TreeView | None:
        """Return the tree `number`, or the tree of `source` if each source has its own; None if there are no trees."""
        if not self.trees:
            return None
        if self._settings.scheme == "multitree":
            return self.trees[number % len(self.trees)]
        return self.trees[self._node_names.index(source if source in self.names else self._settings.name)]

    def tree_for(self, neighbour: str, nodes: int, number: int) -> TreeView | None:
        """Return the tree of a packet for `nodes` on this router's side; if there are several, preferably `number`."""
        found = self._trees_by_side.get((neighbour, nodes))
        if found is None:
            return None
        number %= len(self.trees)
        return self.trees[number if number in found else found[0]]  # the part beyond is the same on each

    @cached_property
    def _trees_by_side(self) -> dict[tuple[str, int], list[int]]:
        found: dict[tuple[str, int], list[int]] = {}
        for index, tree in enumerate(self.trees):
            for link in tree.links.values():
                if link.announces:  # packets arrive from neighbours to which this router's side is announced
                    found.setdefault((link.neighbour, link.near), []).append(index)
        return found

    @cached_property
    def _graph(self) -> Graph:
        links = ((u, v, edge.weight) for (u, v), edge in self.edges.items())
        return Graph.from_edges(links, names=[self._settings.name])

    @cached_property
    def _node_names(self) -> list[str]:
        """The reachable routers, by id."""
        return [str(name) for name in self._graph.names]

    @property
    def _me(self) -> int:
        return self._node_names.index(self._settings.name)

    @cached_property
    def _hops(self) -> dict[str, str]:
        """The next hop to each other node, on a shortest path."""
        tree, names = shortest_path_tree(self._graph, self._me), self._node_names
        return {
            names[node]: names[child]
            for child in tree.children(tree.root).tolist()
            for node in tree.descendants(child).tolist()
        }

    def next_hop(self, node: str) -> str | None:
        """Return the next hop to a node; None if it is unreachable."""
        return self._hops.get(node)


class Versions:
    """The newest version, and earlier versions that may still be in use."""

    def __init__(self, context: RouterContext, database: Database) -> None:
        self._context = context
        self._database = database
        self._topology = database.topology
        self._adopted = float("-inf")  # time
        self.on_adopted: list[Callable[[], None]] = []  # called in order after each adoption
        self.kept = [Version(context.settings, version_id(()), {})]
        self.kept[0].complete = context.now
        self.changes = 0

    @property
    def newest(self) -> Version:
        """The newest version."""
        return self.kept[0]

    @property
    def is_outdated(self) -> bool:
        """Whether records have changed since the newest version was adopted."""
        return self._topology != self._database.topology

    @property
    def is_due(self) -> bool:
        """Whether a new version is due to be adopted."""
        return self.is_outdated and self._context.now - self._adopted >= self._context.settings.settle

    @property
    def quiet(self) -> float:
        """Seconds since a link of the network last changed, as far as this router knows."""
        return self._context.now - max(0.0, self._database.changed)

    def is_known(self, router: str) -> bool:
        """Return whether a router has a record: it is running, or was."""
        return self._database.incarnation(router) is not None

    @property
    def age_at_start(self) -> float:
        """Lower bound on the seconds for which other routers had been running when this one started."""
        now = self._context.now
        others = (name for name in self._database.routers() if name != self._context.name)
        return max((self._database.age(name, now) / 1000 - now for name in others), default=0.0)

    def adopt(self) -> None:
        """Adopt the current topology."""
        self._topology, self._adopted = self._database.topology, self._context.now
        edges = reachable_edges(self._context.name, self._database.neighbours)
        id = self._id(edges)
        if edges == self.newest.edges:
            self.newest.id = id
        else:
            self.changes += 1
            self.kept.insert(0, Version(self._context.settings, id, edges))
            last = next(index for index, version in enumerate(self.kept) if version.complete is not None)
            self.kept = [version for index, version in enumerate(self.kept) if index < _MAX_KEPT or index == last]
        for adopted in self.on_adopted:
            adopted()

    def _id(self, edges: Edges) -> int:
        names = {self._context.name}.union(*edges)
        incarnations = ((name, self._database.incarnation(name)) for name in names)
        return version_id(
            (name, incarnation, self._database.changes(name))
            for name, incarnation in incarnations
            if incarnation is not None
        )

    def forget_earlier(self) -> None:
        """Keep only the newest version."""
        del self.kept[1:]

    def sides(self) -> dict[int, frozenset[str]]:
        """Return the nodes behind the links of this router on all trees, by their hash."""
        return {link.side: link.behind for version in self.kept for link in version.links()}

    def tree_for(self, neighbour: str, nodes: int, number: int) -> TreeView | None:
        """Return the tree of a packet from a neighbour, in the newest version that has it."""
        for version in self.kept:
            tree = version.tree_for(neighbour, nodes, number)
            if tree is not None:
                return tree
        return None


def _matched_as(tree: TreeView, own: TreeView) -> TreeView:
    """Return the tree of another source, on which a neighbour gets packets that match its side of the own tree.

    With consistent shortest paths that side has all nodes behind the neighbour on any tree: F* of [2006 §3.3].
    """
    links = {
        w: link._replace(matched=own.links[w].far_key) if link.receives else link for w, link in tree.links.items()
    }
    return TreeView(tree.number, tree.root, links)


def tree_roots(graph: Graph, trees: int, roots: Iterable[str] = ()) -> list[int]:
    """Return the roots of the trees: those configured, or the nodes with the most neighbours, ties by id.

    An unreachable root is replaced by the node with the most neighbours. No tree is rooted at a leaving node, whose
    links all have the maximum length, if others exist.
    """
    heads = np.repeat(np.arange(len(graph)), np.diff(graph.offsets))
    is_staying = np.zeros(len(graph), bool)
    is_staying[heads[graph.weights < MAX_WEIGHT]] = True
    busiest: list[int] = np.lexsort((-graph.degrees, ~is_staying))[:trees].tolist()
    ids = {str(name): id for id, name in enumerate(graph.names)}
    return [ids.get(root, busiest[0]) for root in roots] or busiest


def reachable_edges(start: str, links: Callable[[str], Mapping[str, LinkField]]) -> dict[tuple[str, str], SessionEdge]:
    """Return the links that a node can reach and that both ends announce, by the names of their ends."""
    edges: dict[tuple[str, str], SessionEdge] = {}
    queue = [start]
    reached = {start}
    done: set[str] = set()
    for u in queue:  # grows during the loop
        done.add(u)
        for v, link in links(u).items():
            back = links(v).get(u) if v not in done else None
            session = max(set(link.sessions).intersection(back.sessions), default=None) if back is not None else None
            if back is not None and session is not None:
                edges[min(u, v), max(u, v)] = SessionEdge(session, max(link.weight, back.weight))
                if v not in reached:
                    reached.add(v)
                    queue.append(v)
    return dict(sorted(edges.items()))


def version_id(records: Iterable[tuple[str, int, int]]) -> int:
    """Return the id of a version: a hash of owner, incarnation and number of changes of each link record."""
    text = "\n".join(f"{owner}\0{incarnation}\0{changes}" for owner, incarnation, changes in sorted(records))
    return max(1, int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 1)
