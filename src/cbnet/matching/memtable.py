"""The memtable: the newest filters of a live table, not yet compiled and fast to change."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from cbnet._kernels.pivot_memtable import MemtableIndex
from cbnet.matching.storage.filter_encoding import EncodedFilter, decode_filter

if TYPE_CHECKING:
    from cbnet._kernels.pivot_memtable import MemtableEntry
    from cbnet.language.message import Message

MAX_FILTERS = 8192  # then they are compiled
MAX_CANDIDATES = 256  # filters of one name that a message may be tested against; with more they are compiled
MAX_EXAMINED = 1_000  # combinations of values that Python examines; takes as long as compiling a small memtable
READING = 10  # reading a message takes as long as examining so many
TEXT = 64  # characters of strings that take as long as another value

TargetFilter: TypeAlias = tuple[int, EncodedFilter]  # target, filter


class MemTable:
    """A set of filters with their targets."""

    def __init__(self) -> None:
        self.index = MemtableIndex()
        self._entries: dict[TargetFilter, MemtableEntry] = {}
        self._examined = 0  # combinations of values

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[TargetFilter]:
        return iter(list(self._entries))

    def __contains__(self, item: TargetFilter) -> bool:
        return item in self._entries

    def is_full(self) -> bool:
        """Return whether the filters are due for compilation."""
        if self._examined > MAX_EXAMINED and self._entries:
            return True
        return len(self._entries) >= MAX_FILTERS or self.index.longest >= MAX_CANDIDATES

    def copy(self) -> MemTable:
        """Return an independent copy."""
        copy = MemTable()
        for item in self._entries:
            copy.add(item)
        return copy

    def count(self, message: Message, *, conditional_only: bool) -> bool:
        """Count the combinations of values that `matches` may examine; return whether these are few."""
        counts = {name: len(leaves) for name, leaves in message.leaves.items()}
        texts = (leaf.value for leaves in message.leaves.values() for leaf in leaves if isinstance(leaf.value, str))
        weight = 1 + sum(map(len, texts)) // TEXT
        before = self._examined
        self._examined += READING
        for entry in self._candidates(message, conditional_only=conditional_only):
            self._examined += weight * prod(counts.get(name, 1) for name in entry.filter.names)
            if self._examined - before > MAX_EXAMINED:
                return False
        return True

    def matches(self, message: Message, *, conditional_only: bool) -> Iterator[int]:
        """Yield the targets of a message, by the definition of the language.

        conditional_only: only those of filters with conditions; the kernel finds the others.
        """
        for entry in self._candidates(message, conditional_only=conditional_only):
            if entry.filter.matches(message):
                yield entry.target

    def _candidates(self, message: Message, *, conditional_only: bool) -> Iterator[MemtableEntry]:
        for entry in self.index.candidates(dict(message.leaves), message.tags):
            if entry.is_conditional or not conditional_only:
                if entry.filter is None:
                    entry.filter = decode_filter(entry.tests)
                yield entry

    def add(self, item: TargetFilter) -> None:
        """Add a filter."""
        if item not in self._entries:
            self._entries[item] = self.index.add(*item)

    def discard(self, item: TargetFilter) -> bool:
        """Remove a filter; return whether it was there."""
        entry = self._entries.pop(item, None)
        if entry is not None:
            self.index.remove(entry)
        return entry is not None
