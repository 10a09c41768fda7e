"""The memtable: the newest filters of a live table, not yet compiled and fast to change."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

from cbnet._kernels.pivot_memtable import MemtableIndex
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.storage.filter_encoding import EncodedFilter, decode_filter

MAX_FILTERS = 8192  # then they are compiled
MAX_CANDIDATES = 256  # filters of one name that a message may be tested against; with more they are compiled
MAX_EXAMINED = 1_000  # combinations of values that Python examines; takes as long as compiling a small memtable
READING = 10  # reading a message takes as long as examining this many filters
TEXT = 64  # characters of strings that take as long as another value

TargetFilter: TypeAlias = tuple[int, EncodedFilter]  # target, filter


class MemTable(MemtableIndex):
    """A set of filters with their targets, some of which Python matches: those with conditions, for nested messages."""

    def __init__(self) -> None:
        self._decoded: dict[TargetFilter, Filter] = {}
        self._examined = 0  # combinations of values

    def is_full(self) -> bool:
        """Return whether the filters are due for compilation."""
        size = len(self)
        return size >= MAX_FILTERS or self.longest >= MAX_CANDIDATES or (self._examined > MAX_EXAMINED and size > 0)

    def copy(self) -> MemTable:
        """Return an independent copy."""
        copy = MemTable()
        for item in self:
            copy.add(item)
        return copy

    def count(self, message: Message, *, conditional_only: bool) -> bool:
        """Count the combinations of values that `matches` may examine; return whether these are few."""
        counts = {name: len(leaves) for name, leaves in message.leaves.items()}
        texts = (leaf.value for leaves in message.leaves.values() for leaf in leaves if isinstance(leaf.value, str))
        weight = 1 + sum(map(len, texts)) // TEXT
        before = self._examined
        self._examined += READING
        for _, filter in self._candidates(message, conditional_only=conditional_only):
            self._examined += weight * prod(counts.get(name, 1) for name in filter.names)
            if self._examined - before > MAX_EXAMINED:
                return False
        return True

    def matches(self, message: Message, *, conditional_only: bool) -> Iterator[int]:
        """Yield the targets of a message, by the definition of the language.

        conditional_only: only those of filters with conditions; the kernel finds the others.
        """
        for target, filter in self._candidates(message, conditional_only=conditional_only):
            if filter.matches(message):  # decided, as `count` has shown
                yield target

    def _candidates(self, message: Message, *, conditional_only: bool) -> Iterator[tuple[int, Filter]]:
        if len(self._decoded) > 2 * len(self):  # most of them were removed
            self._decoded.clear()
        for item in self.candidates(dict(message.leaves), message.tags, conditional_only):
            filter = self._decoded.get(item)
            if filter is None:
                filter = self._decoded[item] = decode_filter(item[1])
            yield item[0], filter
