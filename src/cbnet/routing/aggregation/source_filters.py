"""Filters of several sources, each stored once.

    row    filter      group           slot in the match table
    0      x > 5       {own, north}    slot of {north}
    1      x > 7       {north}         slot of {north}
    2      #a          {own}           none: own subscriptions are matched one by one

A group holds all filters that belong to exactly its sources. So adding a source with the content of another, or
removing one, changes groups and not filters. Rows are columns, not objects: a router may hold a million filters.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from cbnet._kernels.filter_rows import FilterRows
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.matching.storage.filter_encoding import EncodedFilter, tests_from_bytes
from cbnet.routing.aggregation.match_slots import NO_SLOT, MatchSlots


class Group:
    """Rows with the same sources."""

    __slots__ = ("bytes", "carriers", "rows", "sources")

    def __init__(self, sources: int, carriers: int) -> None:
        self.sources = sources  # bits
        self.carriers = carriers  # bits of the targets that use one of the sources
        self.rows = array("I")
        self.bytes = 0  # of the filters


class SourceFilters:
    """The filters of all sources, in rows; sources are bits of an int."""

    def __init__(self, slots: MatchSlots) -> None:
        self.filters = FilterRows()
        self.announced: list[int] = []  # bits of targets
        self.group_of: list[Group] = []
        self.groups: dict[int, Group] = {}
        self.reduced = 0  # sources whose filters do not cover each other
        self.non_empty = 0
        self.leaving: list[int] = []  # removed sources, some of whose filters are still stored
        self._bits: dict[Hashable, int] = {}
        self._counts: dict[int, int] = {}
        self._matched = 0
        self._slots = slots
        self._slot_of = array("i")
        self._positions = array("I")  # in the rows of the group
        self._nowhere = Group(0, 0)

    def __len__(self) -> int:
        return len(self.filters)

    # --- sources

    def add_source(self, source: Hashable, base: Hashable | None, *, is_matched: bool, is_reduced: bool) -> None:
        """Add a source: empty, or with the kind and the content of `base`."""
        if source in self._bits:
            raise ValueError(f"{source!r} is a source already")
        used = sum(self._bits.values()) + sum(self.leaving)
        bit = (used + 1) & ~used  # the lowest free bit
        like = self._bits[base] if base is not None else 0
        if (self._matched & like) if like else is_matched:
            self._matched |= bit
        if (self.reduced & like) if like else is_reduced:
            self.reduced |= bit
        self._bits[source], self._counts[bit] = bit, self._counts.get(like, 0)
        if self._counts[bit]:
            self.non_empty |= bit
            self._relabel([(group, group.sources | bit) for group in self._groups_of(like)])
            if self._matched & bit:
                self._slots.relabel(lambda sources: sources | bit if sources & like else sources)

    def remove_source(self, source: Hashable) -> None:
        """Remove a source; its filters stay, and match, until `remove_some` has removed them."""
        bit = self._bits.pop(source)
        del self._counts[bit]
        self.reduced &= ~bit
        self.non_empty &= ~bit
        self.leaving.append(bit)

    def remove_some(self, count: int) -> Iterator[int]:
        """Remove filters of the first leaving source; yield the rows that have no source any more.

        count: maximum number of steps; a step takes as long as the removal of one filter.
        """
        bit = self.leaving[0]
        matched = self._matched & ~bit
        for group in self._groups_of(bit):
            if count <= 0:
                return
            sources = group.sources & ~bit
            other = self.groups.get(sources)
            joining = min(len(group.rows), len(other.rows)) if other is not None else 1
            if sources and joining <= count and (sources & matched or not self._matched & bit):
                self._relabel([(group, sources)])
                count -= joining
            else:
                rows = group.rows[-count:]
                yield from self._take_from(group, rows, bit)
                count -= len(rows)
        if count > 0:
            self._matched = matched
            self._slots.relabel(lambda sources: sources & ~bit)
            self.leaving.remove(bit)

    def _take_from(self, group: Group, rows: Sequence[int], bit: int) -> Iterator[int]:
        """Remove the last rows of a group from a leaving source; yield those that have no source any more."""
        sources = group.sources & ~bit
        if not sources & self._matched:
            self._unmatch(rows)
        for row in reversed(rows):
            self._leave(row, group)
            if sources:
                self._join(row, self._group(sources, lambda _: group.carriers))  # no target uses a leaving source
            else:
                self.group_of[row] = self._nowhere
                yield row

    def _unmatch(self, rows: Iterable[int]) -> None:
        """Remove filters from the match table."""
        tests: dict[int, list[EncodedFilter]] = {}  # by slot
        for row in rows:
            tests.setdefault(self._slot_of[row], []).append(tests_from_bytes(self.filters[row]))
            self._slot_of[row] = NO_SLOT
        for slot, filters in tests.items():
            self._slots.remove(filters, slot)

    def bit(self, source: Hashable) -> int:
        """Return the bit of a source."""
        return self._bits[source]

    def count(self, source: Hashable) -> int:
        """Return the number of filters of a source."""
        return self._counts[self._bits[source]]

    def rows_of(self, source: Hashable) -> Iterator[int]:
        """Yield the rows of a source."""
        for group in self._groups_of(self._bits[source]):
            yield from group.rows

    def total(self, bits: int) -> tuple[int, int]:
        """Return the number of distinct filters of the sources, and their total size in bytes."""
        groups = self._groups_of(bits)
        return sum(len(each.rows) for each in groups), sum(each.bytes for each in groups)

    # --- rows

    def find(self, filter: bytes) -> int | None:
        """Return the row of a filter; None if it is absent."""
        row = self.filters.find(filter)
        return row if row >= 0 else None

    def has(self, row: int, bit: int) -> bool:
        """Return whether a source has a filter."""
        return bool(self.group_of[row].sources & bit)

    def is_matched(self, bit: int) -> bool:
        """Return whether the filters of a source are in the match table."""
        return bool(bit & self._matched)

    def insert(self, filter: bytes) -> int:
        """Return a new row for a filter, without sources."""
        row = self.filters.insert(filter)
        if row == len(self.announced):
            self.announced.append(0)
            self.group_of.append(self._nowhere)
            self._slot_of.append(NO_SLOT)
            self._positions.append(0)
        return row

    def delete(self, row: int) -> None:
        """Delete a row that has no sources."""
        self.filters.delete(row)
        self.group_of[row], self.announced[row] = self._nowhere, 0
        self._slot_of[row] = NO_SLOT

    def fill(self, contents: Mapping[bytes, int]) -> None:
        """Add filters to sources that are matched and empty, before any target is open.

        contents: the bits of the sources of each filter.
        """
        rows = [self._filled_row(filter, bits) for filter, bits in contents.items()]
        decoded = ((filter_from_bytes(filter), bits) for filter, bits in contents.items())
        for row, slot in zip(rows, self._slots.fill(decoded), strict=True):
            self._slot_of[row] = slot

    def _filled_row(self, filter: bytes, bits: int) -> int:
        found = self.filters.find(filter)
        row = self.insert(filter) if found < 0 else found
        old = self.group_of[row]
        sources = old.sources | bits
        group = self.groups.get(sources)
        if group is None:
            group = self.groups[sources] = Group(sources, 0)
        self._leave(row, old)
        self._join(row, group)
        while bits:
            bit = bits & -bits
            bits ^= bit
            self._count(bit, 1)
        return row

    def insert_all(
        self, filters: Sequence[bytes], tests: Sequence[EncodedFilter], bit: int, carriers: Callable[[int], int]
    ) -> list[int]:
        """Add new filters to a source; return their rows.

        tests: the encoded filters, if the source is matched. carriers: returns the targets of a new group.
        """
        rows = [self.insert(filter) for filter in filters]
        slot = self._slots.add(tests, bit & self._matched)
        group = self._group(bit, carriers)
        for row in rows:
            self._join(row, group)
            self._slot_of[row] = slot
        self._count(bit, len(rows))
        return rows

    def switch(self, row: int, bit: int, carriers: Callable[[int], int]) -> None:
        """Add a filter to a source, or remove it if present. carriers: returns the targets of a new group."""
        old = self.group_of[row]
        sources = old.sources ^ bit
        group = self._group(sources, carriers)
        self._leave(row, old)
        self._join(row, group)
        self._count(bit, 1 if sources & bit else -1)
        if bit & self._matched:
            tests = [tests_from_bytes(self.filters[row])]
            self._slots.remove(tests, self._slot_of[row])
            self._slot_of[row] = self._slots.add(tests, sources & self._matched)

    def _group(self, sources: int, carriers: Callable[[int], int]) -> Group:
        """Return the group of these sources, creating it if it is absent."""
        group = self.groups.get(sources, self._nowhere)
        if sources and not group.sources:
            group = self.groups[sources] = Group(sources, carriers(sources))
        return group

    def _count(self, bit: int, change: int) -> None:
        self._counts[bit] += change
        if self._counts[bit]:
            self.non_empty |= bit
        else:
            self.non_empty &= ~bit

    # --- groups

    def _groups_of(self, bit: int) -> list[Group]:
        return [group for sources, group in self.groups.items() if sources & bit]

    def _leave(self, row: int, group: Group) -> None:
        if not group.sources:
            return
        last = group.rows.pop()
        group.bytes -= len(self.filters[row])
        if last != row:
            place = self._positions[row]
            group.rows[place], self._positions[last] = last, place
        elif not group.rows:
            del self.groups[group.sources]

    def _join(self, row: int, group: Group) -> None:
        self.group_of[row] = group
        if group.sources:
            self._positions[row] = len(group.rows)
            group.rows.append(row)
            group.bytes += len(self.filters[row])

    def _relabel(self, changes: list[tuple[Group, int]]) -> None:
        """Change the sources of groups; if two become equal, merge the smaller into the larger."""
        for group, _ in changes:
            del self.groups[group.sources]
        for group, sources in changes:
            group.sources = sources
            other = self.groups.setdefault(sources, group)
            if other is not group:
                small, large = sorted((group, other), key=lambda each: len(each.rows))
                self.groups[sources] = large
                for row in small.rows:
                    self._join(row, large)
