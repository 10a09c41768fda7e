"""Slots of a match table for sets of sources: every filter is in the table once [2014 §3.2.3].

    slot 4    {north, south}     filters that exactly these sources have
    slot 7    {north}
    slot 9    {north}            was {north, east} until east was removed

When a source is removed, or is added with the content of another, only the sets change and no filter moves; so several
slots may have the same set. A live table never frees an interface. Its interfaces are therefore numbers, the slots, and
a released slot is assigned to the next holder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, TypeVar

from cbnet.language.filter import Filter
from cbnet.matching import LiveTable
from cbnet.matching.storage.filter_encoding import EncodedFilter

NO_SLOT = -1
Holder = TypeVar("Holder")


class Slots(Generic[Holder]):
    """Numbers from 0 on, each assigned to one holder at a time."""

    def __init__(self) -> None:
        self._numbers: dict[Holder, int] = {}
        self._holders: list[Holder | None] = []
        self._free: list[int] = []
        self.changed: set[int] = set()  # numbers whose meaning has changed; the reader that caches meanings empties it

    def holder(self, slot: int) -> Holder:
        """Return the holder of a number that is in use."""
        holder = self._holders[slot]
        assert holder is not None
        return holder

    def take(self, holder: Holder) -> int:
        """Return the number of a holder, assigning a free one if it has none."""
        slot = self._numbers.get(holder)
        if slot is None:
            if self._free:
                slot = self._free.pop()
            else:
                slot = len(self._holders)
                self._holders.append(None)
            self._numbers[holder], self._holders[slot] = slot, holder
        return slot

    def release(self, holder: Holder) -> int:
        """Release the number of a holder and return it."""
        slot = self._numbers.pop(holder)
        self._holders[slot] = None
        self._free.append(slot)
        self.changed.add(slot)
        return slot

    def __len__(self) -> int:
        return len(self._numbers)


class MatchSlots:
    """The slots of one table that hold filters of sources; sets of sources are bits of an int."""

    def __init__(self, table: LiveTable[int], slots: Slots[Any]) -> None:
        self._table = table
        self._slots = slots  # shared with other holders
        self._holders: dict[int, object] = {}
        self._sources: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._by_sources: dict[int, int] = {}  # a slot for each set

    def add(self, filters: Collection[EncodedFilter], sources: int) -> int:
        """Add filters of these sources; return their slot, or NO_SLOT if there are no sources."""
        if not sources:
            return NO_SLOT
        slot = self._slot_of(sources)
        self._table.add_tests(slot, filters)
        self._sizes[slot] += len(filters)
        return slot

    def fill(self, filters: Iterable[tuple[Filter, int]]) -> list[int]:
        """Add very many filters that are in no slot yet, each with its sources; return the slot of each."""
        slots: list[int] = []

        def with_slots() -> Iterator[tuple[int, Filter]]:
            for filter, sources in filters:
                slot = self._slot_of(sources)
                self._sizes[slot] += 1
                slots.append(slot)
                yield slot, filter

        self._table.fill(with_slots())
        return slots

    def remove(self, filters: Collection[EncodedFilter], slot: int) -> None:
        """Remove filters from their slot, if they have one."""
        if slot != NO_SLOT:
            self._table.remove_tests(slot, filters)
            self._sizes[slot] -= len(filters)
            if not self._sizes[slot]:
                self._forget(slot)
                self._slots.release(self._holders.pop(slot))
                del self._sources[slot], self._sizes[slot]

    def sources(self, slot: int) -> int:
        """Return the sources that have the filters in a slot of this holder."""
        return self._sources[slot]

    def matched(self, slots: Iterable[int]) -> int:
        """Return the sources that have filters in any of these slots; slots of other holders are ignored."""
        found, get = 0, self._sources.get
        for slot in slots:
            found |= get(slot, 0)
        return found

    def relabel(self, change: Callable[[int], int]) -> None:
        """Apply a change to the set of sources of every slot; no set becomes empty."""
        for slot, sources in list(self._sources.items()):
            changed = change(sources)
            if changed == sources:
                continue
            self._forget(slot)
            self._sources[slot] = changed
            self._slots.changed.add(slot)
            self._by_sources.setdefault(changed, slot)

    def __len__(self) -> int:
        return len(self._sources)

    def _slot_of(self, sources: int) -> int:
        """Return the slot of a set that receives filters, taking one if it has none."""
        slot = self._by_sources.get(sources)
        if slot is None:
            holder = object()
            slot = self._by_sources[sources] = self._slots.take(holder)
            self._holders[slot], self._sources[slot], self._sizes[slot] = holder, sources, 0
        return slot

    def _forget(self, slot: int) -> None:
        """Stop adding filters to a slot."""
        sources = self._sources[slot]
        if self._by_sources.get(sources) == slot:
            del self._by_sources[sources]
