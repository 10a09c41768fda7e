"""Reduced unions of sources, kept up to date: which filters are announced to which target.

A filter is announced to a target if a source of the target has it and no other filter of these sources dominates it
(`cover_index`). Domination is transitive, so

    a new filter      is compared once for all targets; where it is announced, filters that it dominates are withdrawn
    a removed filter  frees filters that it dominated only where it was announced itself

A target with at most one source that has filters, and that is reduced already, needs no comparisons: all filters of
it are announced. Only the filters of other targets are in the index.

Invariant: a filter that is not announced to a target of its sources is dominated by one that is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from cbnet.matching.storage.filter_encoding import EncodedFilter
from cbnet.routing.aggregation.cover_index import CoverIndex
from cbnet.routing.aggregation.source_filters import Group, SourceFilters

_TRACES = 10  # rows that lose traces of closed targets in the time in which one leaves the index


class UnionTarget:
    """A set of sources, and the filters announced or withdrawn since the last time."""

    __slots__ = ("bit", "pending", "size", "sources")

    def __init__(self, bit: int, sources: int) -> None:
        self.bit = bit
        self.sources = sources  # bits
        self.size = 0
        self.pending: dict[bytes, bool] = {}  # whether it was announced


class ReducedUnions:
    """The targets of the filters of some sources; targets are bits of an int."""

    def __init__(self, store: SourceFilters) -> None:
        self.index = CoverIndex(store.filters)
        self.targets: dict[Hashable, UnionTarget] = {}
        self._closed = 0  # bits of closed targets that rows may still have: they mean nothing, and are not free yet
        self._tidying = self._tidied = 0  # some of these bits, and the number of the first rows that do not have them
        self._store = store
        self._by_bit: dict[int, UnionTarget] = {}
        self._last_dominator = 0  # the row that was found last: of many rows in turn, it often dominates the next, too
        self._compared = 0  # bits of the targets whose filters are compared
        self._masks: dict[int, int] = {}  # so that rows share the ints

    # --- targets

    def open(self, name: Hashable, sources: int) -> None:
        """Open a target; its content is complete, and nothing is pending."""
        used = sum(self._by_bit) | self._closed
        target = UnionTarget((used + 1) & ~used, sources)  # the lowest bit that is free
        similar = self._most_similar(target)
        self.targets[name] = self._by_bit[target.bit] = target
        for group in self._store.groups.values():
            if group.sources & sources:
                group.carriers |= target.bit
        if self._needs_comparison(target, self._store.non_empty):
            self._compared |= target.bit
            self._index_rows(target.bit)
            self._fill(target, similar)
        else:
            self._announce_all(target)
        target.pending.clear()

    def close(self, name: Hashable) -> None:
        """Close a target; `tidy` removes what is left of it."""
        target = self.targets.pop(name)
        del self._by_bit[target.bit]
        for group in self._carried(target.bit):
            group.carriers ^= target.bit
        self._compared &= ~target.bit
        self._closed |= target.bit

    @property
    def is_untidy(self) -> bool:
        """Whether rows have traces of closed targets, or are in the index although no target needs it."""
        return self._closed != 0 or self._has_unused_index

    @property
    def _has_unused_index(self) -> bool:
        return not self._compared and len(self.index) > 0

    def tidy(self, count: int) -> None:
        """Remove from some rows what is not needed any more, in the time in which `count` of them leave the index."""
        if not self._tidied:
            self._tidying = self._closed
        announced, bits, is_unused = self._store.announced, self._tidying, self._has_unused_index
        end = min(self._tidied + (count if is_unused else _TRACES * count), len(announced))
        for row in range(self._tidied, end):
            if announced[row] & bits:
                announced[row] = self._shared(announced[row] & ~bits)
            if is_unused:
                self.index.discard(row)
        self._tidied = end
        if end == len(announced):
            self._closed &= ~bits
            self._tidied = 0
            self._masks.clear()
            if not len(self.index):
                self.index = CoverIndex(self._store.filters)

    def carriers(self, sources: int) -> int:
        """Return the targets that use one of some sources."""
        return sum(bit for bit, target in self._by_bit.items() if target.sources & sources)

    def rows(self, bit: int) -> Iterator[int]:
        """Yield the rows that are announced to a target."""
        announced = self._store.announced
        for group in self._carried(bit):
            for row in group.rows:
                if announced[row] & bit:
                    yield row

    def carried(self, bit: int) -> int:
        """Return the number of filters of a target's sources."""
        return sum(len(group.rows) for group in self._carried(bit))

    def has(self, bit: int, filter: bytes) -> bool:
        """Return whether a filter is announced to a target."""
        row = self._store.find(filter)
        return row is not None and bool(self._store.announced[row] & bit)

    def announced(self, bit: int, filter: bytes) -> bytes | None:
        """Return the filter that is announced to a target and is, or covers, another one.

        Of a target that needs no comparisons, only the filter itself is found.
        """
        if self.has(bit, filter):
            return filter
        if not bit & self._compared:
            return None
        row = self._store.find(filter)
        sought = row if row is not None else self._store.insert(filter)
        self._index_row(sought)
        covering = self.index.covering(sought) if sought in self.index else iter(())
        found = next((self._store.filters[wide] for wide in covering if self._store.announced[wide] & bit), None)
        if row is None:
            self.delete(sought)
        return found

    # --- changes of rows: first all `gain` and `lose`, then `settle`

    def prepare(self, non_empty: int) -> None:
        """Begin to compare the filters of targets where it is needed, and stop where it is not."""
        for target in self._by_bit.values():
            is_compared = bool(self._compared & target.bit)
            if is_compared != self._needs_comparison(target, non_empty):
                self._compared ^= target.bit
                if is_compared:
                    self._announce_all(target)
                else:
                    self._index_rows(target.bit)

    def gain(self, row: int, bit: int) -> int:
        """Give a filter to a source; return the targets for which it must be compared."""
        store = self._store
        before = store.group_of[row].carriers
        store.switch(row, bit, self.carriers)
        after = store.group_of[row].carriers
        self._toggle(row, after & ~before & ~self._compared)
        if after & self._compared:
            self._index_row(row)
        return after & ~before & self._compared

    def gain_new(self, filters: Sequence[bytes], tests: Sequence[EncodedFilter], bit: int) -> dict[int, int]:
        """Give new filters to a source; return the rows that must be compared, and for which targets.

        tests: of the filters, if the source is matched.
        """
        rows = self._store.insert_all(filters, tests, bit, self.carriers)
        carriers = self._store.group_of[rows[0]].carriers
        for row in rows if carriers & ~self._compared else ():
            self._toggle(row, carriers & ~self._compared)
        if not carriers & self._compared:
            return {}
        for row in rows:
            self.index.add(row)
        return dict.fromkeys(rows, carriers & self._compared)

    def lose(self, row: int, bit: int) -> int:
        """Remove a filter from a source; return the targets for which it may free others."""
        store = self._store
        before = store.group_of[row].carriers
        store.switch(row, bit, self.carriers)
        gone = store.announced[row] & before & ~store.group_of[row].carriers
        self._toggle(row, gone)
        return gone & self._compared

    def settle(self, gained: Mapping[int, int], freed: Mapping[int, int], *, is_first: bool = False) -> None:
        """Announce the gained filters that nothing dominates, and those that only lost filters dominated.

        is_first: nothing else is announced yet.
        """
        announced, group_of = self._store.announced, self._store.group_of
        for row, bits in gained.items():
            free = self._undominated(row, bits)
            self._toggle(row, free)
            if free and not is_first:
                for narrow in self.index.dominated(row):
                    self._toggle(narrow, announced[narrow] & free)
        uncovered: dict[int, int] = {}
        for row, bits in freed.items():
            for narrow in self.index.dominated(row, is_generous=True) if row in self.index else ():
                hidden = group_of[narrow].carriers & bits & ~announced[narrow] & ~gained.get(narrow, 0)
                if hidden:
                    uncovered[narrow] = uncovered.get(narrow, 0) | hidden
        for row, bits in uncovered.items():
            self._toggle(row, self._undominated(row, bits))

    def delete(self, row: int) -> None:
        """Delete a row without sources."""
        self.index.discard(row)
        self._store.delete(row)

    # --- internal

    def _undominated(self, row: int, bits: int) -> int:
        """Return those of some targets in which no filter dominates a row."""
        if row not in self.index:  # no message can match it
            return 0
        group_of = self._store.group_of
        if self.index.dominates(self._last_dominator, row):
            bits &= ~group_of[self._last_dominator].carriers
        for wide in self.index.dominators(row) if bits else ():
            bits &= ~group_of[wide].carriers
            if not bits:
                self._last_dominator = wide
                break
        return bits

    def _toggle(self, row: int, bits: int) -> None:
        """Announce a row to targets, or withdraw it."""
        if not bits:
            return
        announced, filter = self._store.announced, self._store.filters[row]
        mask = announced[row] = self._shared(announced[row] ^ bits)
        while bits:
            bit = bits & -bits
            bits ^= bit
            target = self._by_bit[bit]
            is_announced = bool(mask & bit)
            target.size += 1 if is_announced else -1
            if target.pending.pop(filter, None) is None:
                target.pending[filter] = is_announced

    def _shared(self, mask: int) -> int:
        return self._masks.setdefault(mask, mask)

    def _carried(self, bit: int) -> list[Group]:
        return [group for group in self._store.groups.values() if group.carriers & bit]

    def _needs_comparison(self, target: UnionTarget, non_empty: int) -> bool:
        present = target.sources & non_empty
        return present & (present - 1) != 0 or present & ~self._store.reduced != 0

    def _announce_all(self, target: UnionTarget) -> None:
        announced = self._store.announced
        for group in self._carried(target.bit):
            for row in group.rows:
                self._toggle(row, ~announced[row] & target.bit)

    def _index_rows(self, bit: int) -> None:
        for group in self._carried(bit):
            for row in group.rows:
                self._index_row(row)

    def _index_row(self, row: int) -> None:
        if row not in self.index:
            self.index.add(row)

    def _most_similar(self, target: UnionTarget) -> int:
        """Return the other target that has the most similar filters; 0 if the empty set is as similar."""
        groups = [(group.sources, group.carriers, len(group.rows)) for group in self._store.groups.values()]
        best, least = 0, sum(size for sources, _, size in groups if sources & target.sources)
        for bit in self._by_bit:
            other = sum(
                size for sources, carriers, size in groups if (not sources & target.sources) != (not carriers & bit)
            )
            if other < least:
                best, least = bit, other
        return best

    def _fill(self, target: UnionTarget, similar: int) -> None:
        """Announce the filters of a new target, beginning with those of a similar one."""
        announced = self._store.announced
        gained: dict[int, int] = {}
        freed: dict[int, int] = {}
        for group in self._carried(target.bit):
            for row in group.rows:
                if not group.carriers & similar:
                    gained[row] = target.bit
                elif announced[row] & similar:
                    self._toggle(row, target.bit)
        for group in self._carried(similar):
            if not group.carriers & target.bit:
                for row in group.rows:
                    if announced[row] & similar:
                        self._index_row(row)
                        freed[row] = target.bit
        self.settle(gained, freed, is_first=not similar)
