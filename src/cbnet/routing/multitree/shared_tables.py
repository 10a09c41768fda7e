"""Equal tables of a router, stored once: tree grouping [2014 §3.2.2].

`grouping` finds indistinguishable trees for all routers of a network at once. Here a router compares its own tables by
the receivers behind each neighbour, or by the disjunction of the receivers that it knows only as a summary.
"""

from __future__ import annotations

from collections.abc import Mapping

from cbnet.routing.forwarding_table import ForwardingTable
from cbnet.routing.interests import Interests
from cbnet.routing.router_state import RouterState, total


class SharedTables:
    """Tables by tree; equal tables are stored once."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._tables: dict[object, ForwardingTable] = {}
        self._distinct: dict[object, ForwardingTable] = {}

    def add(self, tree: object, behind: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        """Add the table of a tree; behind: for each neighbour, the individual and the summarised receivers."""
        sums = {w: self._interests.disjunction(map(self._interests.of, summed)) for w, (_, summed) in behind.items()}
        key = tuple((w, known, sums[w]) for w, (known, _) in behind.items())
        if key not in self._distinct:
            receivers = {w: known + summed for w, (known, summed) in behind.items()}
            self._distinct[key] = ForwardingTable(self._interests, receivers)
        self._tables[tree] = self._distinct[key]

    def __contains__(self, tree: object) -> bool:
        return tree in self._tables

    def __getitem__(self, tree: object) -> ForwardingTable:
        return self._tables[tree]

    def state(self) -> RouterState:
        """Return the size of the tables, and of the bits that select the table of each tree."""
        bits = len(self._tables) * (len(self._distinct) - 1).bit_length()
        return RouterState(flags=bits) + total(table.state() for table in self._distinct.values())
