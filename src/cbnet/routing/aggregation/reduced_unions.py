"""Reduced unions of sources, kept up to date: which filters are announced to which target.

A filter is announced to a target if a source of the target has it and no other filter of these sources dominates it
(`dominance`). Domination is transitive, so

    a new filter      is compared once for all targets; where it is announced, filters that it dominates are withdrawn
    a removed filter  frees filters that it dominated only where it was announced itself

A target needs no comparisons if at most one of its sources has filters and that source is already reduced: all filters
are announced. Only the filters of other targets are in the index.

The filters of a stream are reduced. Those that no other source of a target has are therefore *trusted*: they are not
compared with each other there. They may be unreduced for a moment, because a stream announces a wide filter before it
withdraws the filters that it covers, and vice versa. A filter that another source has as well would outlive the
withdrawal, so it is compared.

Work on very many filters is done in slices: a `Fill` opens a target, and `union_rows` announces and withdraws the
filters that another one dominates. When no work is left, no announced filter is dominated, and each has a source.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cbnet.matching.storage.filter_encoding import EncodedFilter
from cbnet.routing.aggregation.source_filters import Group, SourceFilters
from cbnet.routing.aggregation.union_rows import SCANNED, UnionRows
from cbnet.routing.aggregation.union_target import UnionTarget


class RowQueue:
    """Rows to visit, in the order in which they were added."""

    def __init__(self, parts: Iterable[array[int]] = ()) -> None:
        self._parts = [part[:] for part in parts if part]
        self._next = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts)) - self._next

    def take(self, count: int) -> Iterator[int]:
        """Yield the next rows, at most `count`."""
        while self._parts and count > 0:
            first = self._parts[0]
            rows = first[self._next : self._next + count]
            self._next += len(rows)
            count -= len(rows)
            if self._next >= len(first):
                del self._parts[0]
                self._next = 0
            yield from rows


@dataclass
class Fill:
    """The work that remains before the content of a target is exact."""

    bit: int
    is_opening: bool  # whether the target is new: nothing has been sent yet
    is_indexed: bool = False
    indexed: RowQueue = field(default_factory=RowQueue)  # rows to add to the index
    whole: int = 0  # bit of a reduced source; all its filters are announced until they are compared with others
    plain: RowQueue = field(default_factory=RowQueue)  # rows to announce without comparison
    compared: RowQueue = field(default_factory=RowQueue)  # rows to compare
    former: RowQueue = field(default_factory=RowQueue)  # rows of the copied target that may not belong to this one
    is_first: bool = False  # whether nothing but the compared rows is announced


class ReducedUnions:
    """The reduced union of the sources of each target; targets are bits of an int."""

    def __init__(self, store: SourceFilters, slice: int) -> None:
        """Initialise; slice: filters to announce or withdraw at a time."""
        self.rows = UnionRows(store, slice)
        self.targets: dict[Hashable, UnionTarget] = {}
        self._store = store
        self._fills: dict[int, Fill] = {}  # by the bit of the target
        self._indexing = 0  # bits of the targets whose rows are being indexed, before they are compared
        self._closed = 0  # bits of closed targets that rows may still have: meaningless, but not free yet
        self._tidying = self._tidied = 0  # closed bits that are being erased, and the number of leading rows done

    # --- targets

    def open(self, name: Hashable, sources: int) -> None:
        """Open a target; once it `is_ready`, its content is complete and nothing is pending."""
        used = self.rows.open | self._closed
        target = UnionTarget((used + 1) & ~used, sources)  # the lowest free bit
        self.targets[name] = target
        self.rows.add(target)
        for group in self._store.groups.values():
            if group.sources & sources:
                group.carriers |= target.bit
        if self._needs_comparison(target, self._store.non_empty):
            self._begin_index(target, is_opening=True)
        else:
            plain = RowQueue(group.rows for group in self._carried(target.bit))
            self._begin(Fill(target.bit, is_opening=True, is_indexed=True, plain=plain))

    def is_ready(self, name: Hashable) -> bool:
        """Return whether the content of a target is complete."""
        bit = self.targets[name].bit
        return bit not in self._fills and not self.rows.waits(bit)

    def close(self, name: Hashable) -> None:
        """Close a target; `tidy` removes its traces."""
        bit = self.targets.pop(name).bit
        for group in self._carried(bit):
            group.carriers ^= bit
        self.rows.close(bit)
        self._fills.pop(bit, None)
        self._indexing &= ~bit
        self._closed |= bit

    @property
    def is_untidy(self) -> bool:
        """Whether rows still have bits of closed targets, or are indexed although no target needs the index."""
        return self._closed != 0 or self._has_unused_index

    @property
    def _has_unused_index(self) -> bool:
        is_used = self.rows.compared or self._indexing or self.rows.has_sweeps
        return not is_used and len(self.rows.index) > 0

    def tidy(self) -> None:
        """Remove bits of closed targets and unused index entries from the next rows."""
        if not self._tidied:
            self._tidying = self._closed
        is_unused, size = self._has_unused_index, len(self._store.announced)
        end = min(self._tidied + self.rows.slice * (1 if is_unused else SCANNED), size)
        for row in range(self._tidied, end):
            self.rows.erase(row, self._tidying)
            if is_unused:
                self.rows.index.discard(row)
        self._tidied = end
        if end == size:
            self._closed &= ~self._tidying
            self._tidied = 0
            self.rows.forget_unused()

    def carriers(self, sources: int) -> int:
        """Return the targets that use any of these sources."""
        return sum(bit for bit, target in self.rows.targets.items() if target.sources & sources)

    def announced_rows(self, bit: int) -> Iterator[int]:
        """Yield the rows announced to a target."""
        announced = self._store.announced
        return (row for row in range(len(announced)) if announced[row] & bit)

    def carried(self, bit: int) -> int:
        """Return the number of filters of a target's sources."""
        return sum(len(group.rows) for group in self._carried(bit))

    def announced(self, bit: int, filter: bytes) -> bytes | None:
        """Return a filter announced to a target that equals or covers the given one; None if there is none.

        For a target that needs no comparisons, only the filter itself is found.
        """
        row, announced = self._store.find(filter), self._store.announced
        if row is not None and announced[row] & bit:
            return filter
        if not bit & self.rows.compared:
            return None
        sought = row if row is not None else self._store.insert(filter)
        self.rows.index_row(sought)
        covering = self.rows.index.covering(sought) if sought in self.rows.index else iter(())
        found = next((self._store.filters[wide] for wide in covering if announced[wide] & bit), None)
        if row is None:
            self.rows.release(sought)
        return found

    # --- changes of rows: first all `gain` and `lose`, then `UnionRows.settle`

    def prepare(self, non_empty: int) -> None:
        """Start comparing the filters of targets that need it, and stop for targets that do not."""
        for bit, target in self.rows.targets.items():
            if self._needs_comparison(target, non_empty):
                if not bit & (self.rows.compared | self._indexing):
                    self._begin_index(target, is_opening=bit in self._fills)
            elif not self.has_work and target.size == self.carried(bit):
                self.rows.compared &= ~bit  # exactly its own filters are announced

    def gain(self, row: int, bit: int) -> int:
        """Add a filter to a source; return the targets for which it must be compared."""
        store, compared = self._store, self.rows.compared
        group = store.group_of[row]
        before, trusted = group.carriers, self._trusting(group.sources, group.carriers & compared & self.carriers(bit))
        store.switch(row, bit, self.carriers)
        after = store.group_of[row].carriers
        self.rows.toggle(row, after & ~compared & ~store.announced[row])
        if after & (compared | self._indexing):
            self.rows.index_row(row)
        return after & ~before & compared | trusted

    def gain_new(self, filters: Sequence[bytes], tests: Sequence[EncodedFilter], bit: int) -> dict[int, int]:
        """Add new filters to a source; return the rows to compare, each with the targets to compare it for.

        tests: the encoded filters, if the source is matched.
        """
        rows, compared = self._store.insert_all(filters, tests, bit, self.carriers), self.rows.compared
        carriers = self._store.group_of[rows[0]].carriers
        for row in rows if carriers & ~compared else ():
            self.rows.toggle(row, carriers & ~compared)
        for row in rows if carriers & (compared | self._indexing) else ():
            self.rows.index.add(row)
        return dict.fromkeys(rows, carriers & compared) if carriers & compared else {}

    def lose(self, row: int, bit: int) -> int:
        """Remove a filter from a source; return the targets where this may free other filters."""
        store, compared = self._store, self.rows.compared
        before = store.group_of[row].carriers
        store.switch(row, bit, self.carriers)
        gone = before & ~store.group_of[row].carriers
        self.rows.toggle(row, store.announced[row] & gone & ~compared)
        return gone & compared & (store.announced[row] | self.rows.unvisited(row))

    # --- work in slices

    @property
    def has_work(self) -> bool:
        """Whether filters remain to be announced or withdrawn."""
        return self.rows.has_sweeps or bool(self._fills)

    def work(self) -> None:
        """Announce and withdraw the next filters."""
        if self.rows.has_sweeps:
            self.rows.sweep()
        elif self._fills:
            self._advance(next(iter(self._fills.values())))
        if not self.has_work:
            self.prepare(self._store.non_empty)

    def _begin_index(self, target: UnionTarget, *, is_opening: bool) -> None:
        """Index the rows of a target, and compare them afterwards; until then all of them are announced."""
        self._indexing |= target.bit
        groups = [group for group in self._carried(target.bit) if not group.carriers & self.rows.compared]
        self._begin(Fill(target.bit, is_opening, indexed=RowQueue(group.rows for group in groups)))

    def _begin(self, fill: Fill) -> None:
        """Start to fill a target; if it has few rows, finish at once."""
        self._fills[fill.bit] = fill
        self.rows.filling |= fill.bit
        if self.carried(fill.bit) <= self.rows.slice:
            while self._fills.get(fill.bit) is fill:
                self._advance(fill)

    def _advance(self, fill: Fill) -> None:
        """Visit the next rows of a target."""
        bit, count = fill.bit, self.rows.slice
        announced, group_of = self._store.announced, self._store.group_of
        self.rows.begin_slice()
        if fill.indexed:
            for row in fill.indexed.take(count):
                if group_of[row].carriers & bit:
                    self.rows.index_row(row)
        elif not fill.is_indexed:
            fill.is_indexed = True
            self._begin_content(fill)
        elif fill.plain:
            for row in fill.plain.take(count):
                self.rows.toggle(row, group_of[row].carriers & ~announced[row] & bit)
        elif self._indexing & bit:
            self._begin_comparison(fill)
        elif fill.compared:
            for row in fill.compared.take(count):
                if group_of[row].carriers & bit:
                    self.rows.place(row, bit, is_first=fill.is_first)
        elif fill.former:
            rows = fill.former.take(count)
            freed = {row: bit for row in rows if announced[row] & ~group_of[row].carriers & bit}
            self.rows.settle({}, freed)
            for row in freed:
                self.rows.release(row)
        else:
            del self._fills[bit]
            self.rows.filling &= ~bit
            if fill.is_opening:
                self.rows.targets[bit].complete()

    def _begin_content(self, fill: Fill) -> None:
        """Start with the content of a similar target, or with all filters of a reduced source."""
        target = self.rows.targets[fill.bit]
        similar = self._most_similar(target) if fill.is_opening else 0
        if similar:
            self.rows.copy(similar, target.bit)
            self._begin_comparison(fill)
            groups = self._store.groups.values()
            own = [each for each in groups if each.carriers & target.bit and self._differs(each, target, similar)]
            former = [each for each in groups if each.carriers & similar and not each.carriers & target.bit]
            fill.compared, fill.former = (RowQueue(each.rows for each in all) for all in (own, former))
            fill.is_first = False
        else:
            fill.whole = self._largest_reduced(target)
            if fill.is_opening:
                fill.plain = RowQueue(group.rows for group in self._carried(target.bit) if group.sources & fill.whole)

    def _begin_comparison(self, fill: Fill) -> None:
        """Compare all rows except those that only the source `whole` has: they are all announced."""
        self._indexing &= ~fill.bit
        self.rows.compared |= fill.bit
        sources = self.rows.targets[fill.bit].sources
        groups = [group for group in self._carried(fill.bit) if group.sources & sources != fill.whole]
        fill.compared = RowQueue(group.rows for group in groups)
        fill.is_first = fill.is_opening and not fill.whole

    def _largest_reduced(self, target: UnionTarget) -> int:
        """Return the reduced source of a target that has the most filters; 0 if there is none."""
        sizes: dict[int, int] = {}
        for group in self._carried(target.bit):
            reduced = group.sources & target.sources & self._store.reduced
            while reduced:
                bit = reduced & -reduced
                reduced ^= bit
                sizes[bit] = sizes.get(bit, 0) + len(group.rows)
        return max(sizes, key=lambda bit: sizes[bit], default=0)

    def _most_similar(self, target: UnionTarget) -> int:
        """Return the other target with the most similar filters; 0 if none is more similar than the empty set."""
        groups = [(group.carriers, len(group.rows)) for group in self._store.groups.values()]
        best, least = 0, self.carried(target.bit)
        for bit in self.rows.targets:
            if bit != target.bit and bit not in self._fills:
                other = sum(size for carriers, size in groups if (not carriers & target.bit) != (not carriers & bit))
                if other < least:
                    best, least = bit, other
        return best

    def _differs(self, group: Group, target: UnionTarget, similar: int) -> bool:
        """Return whether rows must be compared for a target although a similar one has been copied."""
        if not group.carriers & similar:
            return True
        there = group.sources & self.rows.targets[similar].sources
        return self._is_trusted(there) and group.sources & target.sources != there

    def _trusting(self, sources: int, bits: int) -> int:
        """Return the targets among `bits` that do not compare the rows of these sources with each other."""
        targets = self.rows.targets
        return sum(bit for bit in targets if bit & bits and self._is_trusted(sources & targets[bit].sources))

    def _is_trusted(self, sources: int) -> bool:
        return not sources & (sources - 1) and bool(sources & self._store.reduced)

    def _carried(self, bit: int) -> list[Group]:
        return [group for group in self._store.groups.values() if group.carriers & bit]

    def _needs_comparison(self, target: UnionTarget, non_empty: int) -> bool:
        present = target.sources & non_empty
        return present & (present - 1) != 0 or present & ~self._store.reduced != 0
