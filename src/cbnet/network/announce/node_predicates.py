"""Predicates of all nodes as one router knows them, in one live table.

An interface of the table is the slot of a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.slots import Slots
from cbnet.network.announce.timed_table import TimedTable, empty_table
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.filter_codec import filter_from_bytes

EncodedFilters: TypeAlias = Mapping[bytes, Filter]  # filters by their encoding


def read_filters(encoded: Iterable[bytes]) -> dict[bytes, Filter]:
    """Decode the filters of a record; raise a `WireError` if one is invalid."""
    return {each: filter_from_bytes(each) for each in encoded}


class NodePredicates:
    """The predicate, or offers, of every node that has such a record."""

    def __init__(self, initial: InitialPredicates | None = None) -> None:
        self.table = TimedTable(empty_table() if initial is None else initial.table)
        self.slots: Slots[str] = Slots()
        self._encoded: dict[str, dict[bytes, None]] = {}
        self.count = 0  # filters of all nodes
        self.changes = 0  # filters added or removed since the start
        if initial is not None:
            self._load(initial)

    def _load(self, initial: InitialPredicates) -> None:
        for node, encoded in initial.filters.items():
            self.slots.take(node)  # equals its interface in the table
            self._encoded[node] = dict(encoded)
        self.count = initial.count

    # --- lookup

    def encoded(self, node: str) -> list[bytes]:
        """Return the encoded filters of a node, as in its record."""
        return list(self._encoded.get(node, ()))

    def predicate(self, node: str) -> Predicate:
        """Return the predicate of a node; empty without a record."""
        return Predicate(map(filter_from_bytes, self._encoded.get(node, ())))

    def matched(self, content: Content) -> list[int]:
        """Return the slots of the nodes whose predicate a message matches."""
        return self.table.match(content.members)

    # --- changes

    def has(self, node: str, encoded: Iterable[bytes]) -> bool:
        """Return whether a node has all these filters."""
        return self._encoded.get(node, {}).keys() >= set(encoded)

    def change(self, node: str, added: EncodedFilters, removed: EncodedFilters) -> None:
        """Add filters to the predicate of a node, and remove others."""
        own = self._encoded.setdefault(node, {})
        slot = self.slots.take(node)
        self.changes += len(added) + len(removed)
        self.count -= len(own)
        for encoded, filter in added.items():
            own[encoded] = None
            self.table.add(slot, filter)
        for encoded, filter in removed.items():
            own.pop(encoded, None)
            self.table.remove(slot, filter)
        self.count += len(own)

    def replace(self, node: str, filters: EncodedFilters) -> None:
        """Replace the predicate of a node."""
        before = self._encoded.get(node, {})
        removed = read_filters(encoded for encoded in before if encoded not in filters)
        added = {encoded: filter for encoded, filter in filters.items() if encoded not in before}
        self.change(node, added, removed)

    def forget(self, node: str) -> None:
        """Remove the predicate of a node."""
        if node in self._encoded:
            self.replace(node, {})
            del self._encoded[node]
            self.slots.release(node)
