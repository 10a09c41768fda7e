"""Shared tables: which tables of a router are the same, and need be kept once? Tree grouping [2014 §3.2.2].

`tree_classes` finds the trees that look alike for all routers of one network at once. Here a router compares its own
tables, by the receivers behind each neighbour; of those that it knows as a sum only, by the sum.
"""

from __future__ import annotations

from collections.abc import Mapping

from cbnet.routing.forwarding_table import ForwardingTable
from cbnet.routing.interests import Interests
from cbnet.routing.router_state import RouterState, total


class SharedTables:
    """Tables by tree, of which equal ones are one."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._tables: dict[object, ForwardingTable] = {}
        self._distinct: dict[object, ForwardingTable] = {}

    def add(self, tree: object, behind: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        """Add the table of a tree, from the receivers behind each neighbour: told apart, and summed up."""
        sums = {w: self._interests.disjunction(map(self._interests.of, summed)) for w, (_, summed) in behind.items()}
        key = tuple((w, told, sums[w]) for w, (told, _) in behind.items())
        if key not in self._distinct:
            receivers = {w: told + summed for w, (told, summed) in behind.items()}
            self._distinct[key] = ForwardingTable(self._interests, receivers)
        self._tables[tree] = self._distinct[key]

    def __contains__(self, tree: object) -> bool:
        return tree in self._tables

    def __getitem__(self, tree: object) -> ForwardingTable:
        return self._tables[tree]

    def state(self) -> RouterState:
        """Return the size of the tables, and of the bits that say which is that of each tree."""
        bits = len(self._tables) * (len(self._distinct) - 1).bit_length()
        return RouterState(flags=bits) + total(table.state() for table in self._distinct.values())
