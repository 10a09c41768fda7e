"""The memtable: the newest filters of a live table, not yet compiled and fast to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import TypeAlias

from cbnet._kernels.condition_eval import mentions
from cbnet._kernels.pivot_memtable import MemtableIndex
from cbnet.errors import UndecidedError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.storage.codes import Test
from cbnet.matching.storage.filter_encoding import EncodedFilter, decode_filter
from cbnet.matching.storage.used_leaves import UsedArrays, computed_leaves

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
        self._computed: dict[str, Counter[int]] = {}  # targets by the names of computed attributes that they use
        self._arrays: UsedArrays | None = None  # what these depend on

    def add(self, item: TargetFilter) -> bool:
        """Add a filter; return whether it was absent."""
        is_new = super().add(item)
        if is_new:
            for name in _computed_names(item):
                self._arrays = self._arrays if name in self._computed else None
                self._computed.setdefault(name, Counter())[item[0]] += 1
        return is_new

    def discard(self, item: TargetFilter) -> bool:
        """Remove a filter; return whether it was there."""
        was_there = super().discard(item)
        if was_there:
            for name in _computed_names(item):
                targets = self._computed[name]
                targets[item[0]] -= 1
                if not targets[item[0]]:
                    del targets[item[0]]
                if not targets:
                    del self._computed[name]
                    self._arrays = None
        return was_there

    @property
    def arrays(self) -> UsedArrays:
        """What the computed attributes of the filters depend on."""
        if self._arrays is None:
            self._arrays = UsedArrays.of_names(self._computed)
        return self._arrays

    def targets_using(self, name: str) -> Iterable[int]:
        """Return the targets of the filters that use a computed attribute."""
        return self._computed.get(name, ())

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
        texts = (leaf.value for leaves in message.leaves.values() for leaf in leaves if isinstance(leaf.value, str))
        weight = 1 + sum(map(len, texts)) // TEXT
        before = self._examined
        self._examined += READING + len(self._computed) * len(message.leaves)
        for _, filter in self._candidates(message, conditional_only=conditional_only):
            combinations = prod(len(message.leaves.get(name, "1")) for name in filter.names)
            self._examined += weight * combinations * filter.effort(message)
            if self._examined - before > MAX_EXAMINED:
                return False
        return True

    def matches(self, message: Message, *, conditional_only: bool) -> tuple[set[int], set[int]]:
        """Return the targets of a message, by the definition of the language, and those that are undecided.

        conditional_only: only those of filters with conditions or computed attributes; the kernel finds the others.
        """
        found, undecided = set(), set()
        for target, filter in self._candidates(message, conditional_only=conditional_only):
            try:
                if filter.matches(message):
                    found.add(target)
            except UndecidedError:  # of a computed attribute: `count` has shown that the rest is decided
                undecided.add(target)
        return found, undecided

    def _candidates(self, message: Message, *, conditional_only: bool) -> Iterator[tuple[int, Filter]]:
        if len(self._decoded) > 2 * len(self):  # most of them were removed
            self._decoded.clear()
        leaves = dict(message.leaves)
        if self._computed:
            found, undecided = computed_leaves(message, self.arrays)
            leaves |= found | dict.fromkeys(undecided, ())
        for item in self.candidates(leaves, message.tags, conditional_only):
            filter = self._decoded.get(item)
            if filter is None:
                filter = self._decoded[item] = decode_filter(item[1])
            yield item[0], filter


def _computed_names(item: TargetFilter) -> list[str]:
    """Return the names in a filter that may be those of computed attributes."""
    names = [name for name, _, _ in item[1]]
    conditions = [code for _, test, code in item[1] if test == Test.CONDITION and isinstance(code, bytes)]
    names += [name for code in conditions for name, is_tag in mentions(code) if not is_tag]
    return [name for name in names if name.endswith(")") or "[" in name]
