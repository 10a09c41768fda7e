"""The versions of the topology that a router keeps, newest first.

A new version is adopted after a change of the topology, at most once in a while: while a network starts there are very
many. Earlier versions are kept until the newest one is complete and some time has passed, as packets and other routers
may still use them.
"""

from __future__ import annotations

from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.network.linkstate.version import Edges, Version, reachable_edges, version_id

_MAX_KEPT = 6


class Versions:
    """The newest version, and those before it that may still be used."""

    def __init__(self, context: RouterContext, database: Database) -> None:
        self._context = context
        self._database = database
        self._topology = database.topology
        self._adopted = float("-inf")  # time
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
        """Whether a new version is to be adopted now."""
        return self.is_outdated and self._context.now - self._adopted >= self._context.settings.settle

    @property
    def network_age(self) -> float:
        """For how long other routers have been running, at least, in seconds."""
        others = (name for name in self._database.routers() if name != self._context.name)
        return max((self._database.age(name, self._context.now) / 1000 for name in others), default=0.0)

    def adopt(self) -> bool:
        """Adopt the present topology; return whether it has other links than the newest version."""
        self._topology, self._adopted = self._database.topology, self._context.now
        edges = reachable_edges(self._context.name, self._database.neighbours)
        id = self._id(edges)
        if edges == self.newest.edges:
            self.newest.id = id
            return False
        self.changes += 1
        self.kept.insert(0, Version(self._context.settings, id, edges))
        last = next(index for index, version in enumerate(self.kept) if version.complete is not None)
        self.kept = [version for index, version in enumerate(self.kept) if index < _MAX_KEPT or index == last]
        return True

    def _id(self, edges: Edges) -> int:
        names = {self._context.name}.union(*edges)
        lives = ((name, self._database.life(name)) for name in names)
        return version_id((name, life, self._database.changes(name)) for name, life in lives if life is not None)

    def forget_earlier(self) -> None:
        """Keep only the newest version."""
        del self.kept[1:]

    def tree_for(self, neighbour: str, nodes: int, number: int) -> TreeView | None:
        """Return the tree of a packet from a neighbour, in the newest version that has it."""
        for version in self.kept:
            tree = version.tree_for(neighbour, nodes, number)
            if tree is not None:
                return tree
        return None
