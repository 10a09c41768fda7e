"""Recent: the newest filters of a live table, before they are compiled. Quick to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from cbnet._kernels.pivot_memtable import RecentIndex
from cbnet.matching.storage.filter_code import Tests

if TYPE_CHECKING:
    from cbnet._kernels.pivot_memtable import Entry

MOST = 8192  # filters before they should be compiled
LONGEST = 256  # so many of them may a message be set against, because it has one of their names

Item: TypeAlias = tuple[int, Tests]  # target, filter


class Recent:
    """A set of filters with their targets."""

    def __init__(self) -> None:
        self.index = RecentIndex()
        self._entries: dict[Item, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._entries))

    def __contains__(self, item: Item) -> bool:
        return item in self._entries

    def is_full(self) -> bool:
        """Return whether the filters should be compiled."""
        return len(self._entries) >= MOST or self.index.longest >= LONGEST

    def copy(self) -> Recent:
        """Return a copy that changes apart."""
        copy = Recent()
        for item in self._entries:
            copy.add(item)
        return copy

    def add(self, item: Item) -> None:
        """Add a filter; it matches from now on."""
        if item not in self._entries:
            self._entries[item] = self.index.add(*item)

    def discard(self, item: Item) -> bool:
        """Remove a filter; return whether it was there."""
        entry = self._entries.pop(item, None)
        if entry is not None:
            self.index.remove(entry)
        return entry is not None
