"""Predicates: what does every node want, as far as this router knows? One live table, changed filter by filter.

An interface of the table is a node, by its number among `slots`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.slots import Slots, timed_table
from cbnet.network.announce.timed_table import TimedTable
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.filter_codec import filter_from_bytes

EncodedFilters: TypeAlias = Mapping[bytes, Filter]  # filters by their bytes


def read_filters(written: Iterable[bytes]) -> dict[bytes, Filter]:
    """Return the filters of a record by their bytes; a `WireError` if one is none."""
    return {each: filter_from_bytes(each) for each in written}


class NodePredicates:
    """The predicate of every node that has a record of one."""

    def __init__(self, loaded: InitialPredicates | None = None) -> None:
        """Take what a network that was made from data begins with."""
        self.table = timed_table() if loaded is None else TimedTable(loaded.table)
        self.slots: Slots[str] = Slots()
        self._written: dict[str, dict[bytes, None]] = {}
        self.count = 0  # filters of all nodes
        self.changes = 0  # filters added or removed since the start
        if loaded is not None:
            self._load(loaded)

    def _load(self, loaded: InitialPredicates) -> None:
        for node, written in loaded.written.items():
            self.slots.take(node)  # its place, as in the table
            self._written[node] = dict(written)
        self.count = loaded.count

    # --- lookup

    def written(self, node: str) -> list[bytes]:
        """Return the filters of a node as they are written in its record."""
        return list(self._written.get(node, ()))

    def predicate(self, node: str) -> Predicate:
        """Return the predicate of a node; one without a record wants nothing."""
        return Predicate(map(filter_from_bytes, self._written.get(node, ())))

    def matched(self, content: Content) -> list[int]:
        """Return the numbers of the nodes whose predicate a message matches."""
        return self.table.match(content.members)

    # --- changes

    def has(self, node: str, written: Iterable[bytes]) -> bool:
        """Return whether all these are filters of a node."""
        return self._written.get(node, {}).keys() >= set(written)

    def change(self, node: str, added: EncodedFilters, removed: EncodedFilters) -> None:
        """Add filters to the predicate of a node, and remove others."""
        own = self._written.setdefault(node, {})
        slot = self.slots.take(node)
        self.changes += len(added) + len(removed)
        self.count -= len(own)
        for written, filter in added.items():
            own[written] = None
            self.table.add(slot, filter)
        for written, filter in removed.items():
            own.pop(written, None)
            self.table.remove(slot, filter)
        self.count += len(own)

    def replace(self, node: str, filters: EncodedFilters) -> None:
        """Give a node another predicate."""
        before = self._written.get(node, {})
        gone = read_filters(written for written in before if written not in filters)
        new = {written: filter for written, filter in filters.items() if written not in before}
        self.change(node, new, gone)

    def forget(self, node: str) -> None:
        """Forget the predicate of a node."""
        if node in self._written:
            self.replace(node, {})
            del self._written[node]
            self.slots.give_back(node)
