"""Slots of a match table for sets of sources: every filter is in the table once [2014 §3.2.3].

    slot 4    {north, south}     filters that exactly these sources have
    slot 7    {north}
    slot 9    {north}            of a source that was removed, {north, east}

When a source is removed, or begins with the content of another, only the sets change and no filter moves; so several
slots may have one set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.matching import LiveTable
from cbnet.network.announce.slots import Slots

NO_SLOT = -1


class MatchSlots:
    """The slots of one table that hold filters of sources; sets of sources are bits of an int."""

    def __init__(self, table: LiveTable[int], slots: Slots[Any]) -> None:
        self._table = table
        self._slots = slots  # shared with other holders
        self._holders: dict[int, object] = {}
        self._sources: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._by_sources: dict[int, int] = {}  # a slot for each set

    def add(self, filter: Filter, sources: int) -> int:
        """Add a filter; return its slot, none if there are no sources."""
        if not sources:
            return NO_SLOT
        slot = self._by_sources.get(sources)
        if slot is None:
            slot = self._take(sources)
        self._table.add(slot, filter)
        self._sizes[slot] += 1
        return slot

    def fill(self, filters: Iterable[tuple[Filter, int]]) -> list[int]:
        """Add very many filters with their sources, which no slot has yet; return the slot of each."""
        slots: list[int] = []

        def with_slots() -> Iterator[tuple[int, Filter]]:
            for filter, sources in filters:
                slot = self._by_sources.get(sources)
                if slot is None:
                    slot = self._take(sources)
                self._sizes[slot] += 1
                slots.append(slot)
                yield slot, filter

        self._table.fill(with_slots())
        return slots

    def remove(self, filter: Filter, slot: int) -> None:
        """Remove a filter from its slot, if it has one."""
        if slot != NO_SLOT:
            self._table.remove(slot, filter)
            self._sizes[slot] -= 1
            if not self._sizes[slot]:
                self._release(slot)

    def matched(self, slots: Iterable[int]) -> int:
        """Return the sources that have filters in some slots; those of other holders are ignored."""
        found, get = 0, self._sources.get
        for slot in slots:
            found |= get(slot, 0)
        return found

    def relabel(self, change: Callable[[int], int]) -> None:
        """Change the sets of sources; a slot without sources is cleared."""
        for slot, sources in list(self._sources.items()):
            changed = change(sources)
            if changed == sources:
                continue
            self._forget(slot)
            self._sources[slot] = changed
            if not changed:
                self._table.replace(slot, Predicate())
                self._release(slot)
            else:
                self._by_sources.setdefault(changed, slot)

    def __len__(self) -> int:
        return len(self._sources)

    def _take(self, sources: int) -> int:
        holder = object()
        slot = self._slots.take(holder)
        self._holders[slot], self._sources[slot], self._sizes[slot] = holder, sources, 0
        self._by_sources[sources] = slot
        return slot

    def _release(self, slot: int) -> None:
        self._forget(slot)
        self._slots.release(self._holders.pop(slot))
        del self._sources[slot], self._sizes[slot]

    def _forget(self, slot: int) -> None:
        """Add no more filters to a slot."""
        sources = self._sources[slot]
        if self._by_sources.get(sources) == slot:
            del self._by_sources[sources]
