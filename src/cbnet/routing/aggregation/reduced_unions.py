"""Reduced unions of sources, kept up to date: which filters are announced to which target.

A filter is announced to a target if a source of the target has it and no other filter of these sources dominates it
(`cover_index`). Domination is transitive, so

    a new filter      is compared once for all targets; where it is announced, filters that it dominates are withdrawn
    a removed filter  frees filters that it dominated only where it was announced itself

If these are very many, the rest is done in slices (`union_work`). A new filter is announced first and the others are
withdrawn after it; a removed one stays announced, without a source, until all others are announced.

A target with at most one source that has filters, and that is reduced already, needs no comparisons: all filters of
it are announced. Only the filters of other targets are in the index.

Invariant: a filter of a target's sources is announced to it, or dominated by one that is; unless it is being opened.
When no work is left, no announced filter is dominated, and each has a source.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from cbnet.matching.storage.filter_encoding import EncodedFilter
from cbnet.routing.aggregation.cover_index import CoverIndex
from cbnet.routing.aggregation.source_filters import Group, SourceFilters
from cbnet.routing.aggregation.union_target import UnionTarget
from cbnet.routing.aggregation.union_work import Fill, RowQueue, Sweep

_FEW = 32  # rows that may always be visited at once
_LEAST = 8  # a sweep takes as long as to announce so many rows, or longer
SCANNED = 20  # rows that are compared with one filter in the time in which one of them is announced


class _CopiedMasks(dict[int, int]):
    """The bits of rows, by those before: one bit is that of another now."""

    def __init__(self, source: int, copy: int) -> None:
        self._source, self._copy = source, copy

    def __missing__(self, mask: int) -> int:
        copied = self[mask] = (mask | self._copy) if mask & self._source else mask & ~self._copy
        return copied


class ReducedUnions:
    """The targets of the filters of some sources; targets are bits of an int."""

    def __init__(self, store: SourceFilters, slice: int) -> None:
        """Initialise; slice: filters that are announced, or withdrawn, at a time."""
        self.index = CoverIndex(store.filters)
        self.targets: dict[Hashable, UnionTarget] = {}
        self._slice = slice
        self._closed = 0  # bits of closed targets that rows may still have: they mean nothing, and are not free yet
        self._tidying = self._tidied = 0  # some of these bits, and the number of the first rows that do not have them
        self._store = store
        self._by_bit: dict[int, UnionTarget] = {}
        self._open = 0  # bits of all targets
        self._compared = 0  # of those whose filters are compared
        self._indexing = 0  # of those whose filters are being added to the index, to be compared then
        self._sweeps: dict[int, Sweep] = {}  # by row, in the order in which they are done
        self._fills: dict[int, Fill] = {}  # by bit
        self._left = 0  # dominated rows that may still be visited at once
        self._last_dominator = 0  # the row that was found last: of many rows in turn, it often dominates the next, too
        self._masks: dict[int, int] = {}  # so that rows share the ints

    # --- targets

    def open(self, name: Hashable, sources: int) -> None:
        """Open a target; its content is complete when it `is_ready`, and then nothing is pending."""
        used = self._open | self._closed
        target = UnionTarget((used + 1) & ~used, sources)  # the lowest bit that is free
        self.targets[name] = self._by_bit[target.bit] = target
        self._open |= target.bit
        for group in self._store.groups.values():
            if group.sources & sources:
                group.carriers |= target.bit
        if self._needs_comparison(target, self._store.non_empty):
            self._begin_index(target, is_opening=True)
        else:
            fill = self._fills[target.bit] = Fill(target.bit, True, RowQueue(), is_indexed=True)
            fill.plain = RowQueue(group.rows for group in self._carried(target.bit))
            self._fill_at_once(fill)

    def is_ready(self, name: Hashable) -> bool:
        """Return whether the content of a target is complete."""
        bit, announced = self.targets[name].bit, self._store.announced
        return bit not in self._fills and not any(
            sweep.reviving & bit and not announced[sweep.row] & bit for sweep in self._sweeps.values()
        )

    def close(self, name: Hashable) -> None:
        """Close a target; `tidy` removes what is left of it."""
        target = self.targets.pop(name)
        del self._by_bit[target.bit]
        for group in self._carried(target.bit):
            group.carriers ^= target.bit
        self._open &= ~target.bit
        self._compared &= ~target.bit
        self._indexing &= ~target.bit
        self._closed |= target.bit
        self._fills.pop(target.bit, None)
        for sweep in self._sweeps.values():
            sweep.hiding &= ~target.bit
            sweep.reviving &= ~target.bit

    @property
    def is_untidy(self) -> bool:
        """Whether rows have traces of closed targets, or are in the index although no target needs it."""
        return self._closed != 0 or self._has_unused_index

    @property
    def _has_unused_index(self) -> bool:
        return not self._compared | self._indexing and len(self.index) > 0 and not self._sweeps

    def tidy(self) -> None:
        """Remove from some rows what is not needed any more."""
        if not self._tidied:
            self._tidying = self._closed
        announced, bits, is_unused = self._store.announced, self._tidying, self._has_unused_index
        end = min(self._tidied + (self._slice if is_unused else SCANNED * self._slice), len(announced))
        for row in range(self._tidied, end):
            if announced[row] & bits:
                announced[row] = self._shared(announced[row] & ~bits)
                self.release(row)
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
        return (row for row in range(len(announced)) if announced[row] & bit)

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
            self.release(sought)
        return found

    # --- changes of rows: first all `gain` and `lose`, then `settle`

    def prepare(self, non_empty: int) -> None:
        """Begin to compare the filters of targets where it is needed, and stop where it is not."""
        for target in self._by_bit.values():
            bit = target.bit
            if self._needs_comparison(target, non_empty):
                if not bit & (self._compared | self._indexing):
                    self._begin_index(target, is_opening=bit in self._fills)
            elif not self._sweeps and bit not in self._fills and target.size == self.carried(bit):
                self._compared &= ~bit  # all that it has is announced, and nothing else

    def gain(self, row: int, bit: int) -> int:
        """Give a filter to a source; return the targets for which it must be compared."""
        store = self._store
        before = store.group_of[row].carriers
        store.switch(row, bit, self.carriers)
        after = store.group_of[row].carriers
        self._toggle(row, after & ~self._compared & ~store.announced[row])
        if after & (self._compared | self._indexing):
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
        for row in rows if carriers & (self._compared | self._indexing) else ():
            self.index.add(row)
        return dict.fromkeys(rows, carriers & self._compared) if carriers & self._compared else {}

    def lose(self, row: int, bit: int) -> int:
        """Remove a filter from a source; return the targets for which it may free others."""
        store = self._store
        before = store.group_of[row].carriers
        store.switch(row, bit, self.carriers)
        gone = before & ~store.group_of[row].carriers
        self._toggle(row, store.announced[row] & gone & ~self._compared)
        return gone & self._compared & (store.announced[row] | self._unvisited(row))

    def settle(self, gained: Mapping[int, int], freed: Mapping[int, int]) -> None:
        """Announce the gained filters that nothing dominates, and those that only lost filters dominated."""
        self._left = self._slice
        for row, bits in gained.items():
            self._place(row, bits)
        uncovered: dict[int, int] = {}
        for row, bits in freed.items():
            self._free(row, bits, uncovered)
        for row, bits in uncovered.items():
            self._revive(row, bits)
        for row, bits in freed.items():
            sweep = self._sweeps.get(row)
            self._toggle(row, self._store.announced[row] & bits & ~(0 if sweep is None else sweep.reviving))

    def release(self, row: int) -> None:
        """Delete a row, unless it has a source or is still needed."""
        announced = self._store.announced[row] & self._open
        if self._store.group_of[row].sources or announced or row in self._sweeps:
            return
        for target in self._by_bit.values():
            target.forget_row(row, self._store.filters[row])
        self.index.discard(row)
        self._store.delete(row)

    # --- work in slices

    @property
    def has_work(self) -> bool:
        """Whether filters are to be announced or withdrawn."""
        return bool(self._sweeps or self._fills)

    def work(self) -> None:
        """Announce and withdraw some filters."""
        self._left = self._slice
        if self._sweeps:
            while self._sweeps and self._left:
                self._advance(next(iter(self._sweeps.values())))
        elif self._fills:
            self._fill(next(iter(self._fills.values())))
        if not self.has_work:
            self.prepare(self._store.non_empty)

    def _unvisited(self, row: int) -> int:
        """Return the targets for which a row that is not announced may have kept visited ones from being announced."""
        bits = sum(self._fills)
        for sweep in self._sweeps.values():
            return bits | (sweep.reviving if sweep.cursor and row >= sweep.cursor else 0)
        return bits

    def _begin_sweep(self, row: int, hiding: int, reviving: int) -> None:
        """Visit all rows that a row dominates, after what is being done."""
        sweep = self._sweeps.pop(row, None) or Sweep(row)
        sweep.is_partial |= bool(sweep.hiding & reviving)
        sweep.hiding, sweep.reviving, sweep.cursor = sweep.hiding | hiding, sweep.reviving | reviving, 0
        self._sweeps[row] = sweep

    def _restart(self, bits: int) -> None:
        """Visit all rows again, if the first sweep has visited some."""
        first = next(iter(self._sweeps.values()), None)
        if first is not None and first.cursor and first.reviving & bits:
            self._begin_sweep(first.row, 0, 0)

    def _advance(self, sweep: Sweep) -> None:
        """Visit some of the rows that a row dominates."""
        self._left = max(0, self._left - _LEAST)
        row, announced, group_of = sweep.row, self._store.announced, self._store.group_of
        carriers = group_of[row].carriers
        hiding, reviving = sweep.hiding & announced[row] & carriers, sweep.reviving & ~carriers
        stop = len(announced)
        if (hiding or reviving) and row in self.index:
            found = self._found(row) if not sweep.cursor else None
            if found is None:
                end = sweep.cursor + SCANNED * self._slice
                found, stop = self.index.dominated_among(row, sweep.cursor, end, self._slice)
                self._left = 0
            for narrow in found:
                self._toggle(narrow, announced[narrow] & hiding)
                hidden = group_of[narrow].carriers & reviving & ~announced[narrow]
                if hidden:
                    self._revive(narrow, hidden, is_partial=sweep.is_partial)
        if self._sweeps.get(row) is not sweep:
            return
        sweep.cursor = stop
        if stop >= len(announced):
            del self._sweeps[row]
            self._toggle(row, announced[row] & reviving)
            self.release(row)

    def _place(self, row: int, bits: int, *, is_first: bool = False) -> None:
        """Announce a row where nothing dominates it, and withdraw what it dominates there."""
        free = self._undominated(row, bits)
        self._toggle(row, (free ^ self._store.announced[row]) & bits)
        if free and not is_first:
            self._hide(row, free)

    def _hide(self, row: int, bits: int) -> None:
        """Withdraw what a row dominates."""
        announced = self._store.announced
        found = self._found(row)
        if found is None:
            self._begin_sweep(row, bits, 0)
            return
        for narrow in found:
            self._toggle(narrow, announced[narrow] & bits)

    def _free(self, row: int, bits: int, uncovered: dict[int, int]) -> None:
        """Note the rows that are not announced, and that a lost one dominated; if very many, announce them later."""
        if row not in self.index:
            return
        announced, group_of = self._store.announced, self._store.group_of
        found = self._found(row)
        if found is None or (row in self._sweeps and self._sweeps[row].hiding & bits):
            self._restart(bits & ~announced[row])
            self._begin_sweep(row, 0, bits)
            return
        for narrow in found:
            hidden = group_of[narrow].carriers & bits & ~announced[narrow]
            if hidden:
                uncovered[narrow] = uncovered.get(narrow, 0) | hidden

    def _found(self, row: int) -> Iterable[int] | None:
        """Return the rows that a row dominates; None if they are too many for now."""
        found = self.index.dominated(row, max(self._left, min(_FEW, self._slice)))
        self._left = max(0, self._left - self.index.candidates)
        return found

    def _revive(self, row: int, bits: int, *, is_partial: bool = False) -> None:
        free = self._undominated(row, bits)
        self._toggle(row, free)
        if free and is_partial:
            self._hide(row, free)

    # --- opening in slices

    def _begin_index(self, target: UnionTarget, *, is_opening: bool) -> None:
        """Add the rows of a target to the index, and compare them then; until then all of them are announced."""
        self._indexing |= target.bit
        unindexed = (group.rows for group in self._carried(target.bit) if not group.carriers & self._compared)
        fill = self._fills[target.bit] = Fill(target.bit, is_opening, RowQueue(unindexed))
        self._fill_at_once(fill)

    def _fill_at_once(self, fill: Fill) -> None:
        """Do all of the work if it is not much."""
        if self.carried(fill.bit) <= self._slice:
            while self._fills.get(fill.bit) is fill:
                self._left = self._slice
                self._fill(fill)

    def _fill(self, fill: Fill) -> None:
        """Visit some rows of a target."""
        bit, announced, group_of = fill.bit, self._store.announced, self._store.group_of
        if fill.indexed:
            for row in fill.indexed.take(self._slice):
                if group_of[row].carriers & bit:
                    self._index_row(row)
        elif not fill.is_indexed:
            fill.is_indexed = True
            self._begin_fill(fill)
        elif fill.plain:
            for row in fill.plain.take(self._slice):
                self._toggle(row, group_of[row].carriers & ~announced[row] & bit)
        elif self._indexing & bit:
            self._begin_comparison(fill)
        elif fill.compared:
            for row in fill.compared.take(self._slice):
                if group_of[row].carriers & bit:
                    self._place(row, bit, is_first=fill.is_first)
        elif fill.former:
            rows = fill.former.take(self._slice)
            freed = {row: bit for row in rows if announced[row] & ~group_of[row].carriers & bit}
            self.settle({}, freed)
            for row in freed:
                self.release(row)
        else:
            del self._fills[bit]
            if fill.is_opening:
                self._by_bit[bit].complete()

    def _begin_fill(self, fill: Fill) -> None:
        """Begin with the content of a similar target, or with all filters of a source that is reduced."""
        target = self._by_bit[fill.bit]
        similar = self._most_similar(target) if fill.is_opening else 0
        if similar:
            self._copy(similar, target)
            self._indexing &= ~target.bit
            self._compared |= target.bit
            groups = self._store.groups.values()
            fill.compared = RowQueue(
                each.rows for each in groups if each.carriers & target.bit and not each.carriers & similar
            )
            fill.former = RowQueue(
                each.rows for each in groups if each.carriers & similar and not each.carriers & target.bit
            )
        elif fill.is_opening:
            fill.whole = self._largest_reduced(target)
            fill.plain = RowQueue(group.rows for group in self._carried(target.bit) if group.sources & fill.whole)
        else:
            fill.whole = self._largest_reduced(target)

    def _begin_comparison(self, fill: Fill) -> None:
        """Compare the rows of all sources but one that is reduced, whose filters are all announced."""
        target = self._by_bit[fill.bit]
        self._indexing &= ~target.bit
        self._compared |= target.bit
        fill.compared = RowQueue(group.rows for group in self._carried(target.bit) if not group.sources & fill.whole)
        fill.is_first = fill.is_opening and not fill.whole

    def _largest_reduced(self, target: UnionTarget) -> int:
        """Return the source of a target with the most filters, of those that are reduced; 0 if there is none."""
        sizes: dict[int, int] = {}
        for group in self._carried(target.bit):
            reduced = group.sources & target.sources & self._store.reduced
            while reduced:
                bit = reduced & -reduced
                reduced ^= bit
                sizes[bit] = sizes.get(bit, 0) + len(group.rows)
        return max(sizes, key=lambda bit: sizes[bit], default=0)

    def _copy(self, similar: int, target: UnionTarget) -> None:
        """Announce to a target what is announced to a similar one: one pass in C, some 30 ms for a million rows."""
        bit = target.bit
        masks = _CopiedMasks(similar, bit)
        self._store.announced[:] = map(masks.__getitem__, self._store.announced)
        target.size = self._by_bit[similar].size
        for sweep in self._sweeps.values():
            sweep.hiding |= bit if sweep.hiding & similar else 0
            sweep.reviving |= bit if sweep.reviving & similar else 0

    def _most_similar(self, target: UnionTarget) -> int:
        """Return the other target that has the most similar filters; 0 if the empty set is as similar."""
        groups = [(group.carriers, len(group.rows)) for group in self._store.groups.values()]
        best, least = 0, self.carried(target.bit)
        for bit in self._by_bit:
            if bit != target.bit and bit not in self._fills:
                other = sum(size for carriers, size in groups if (not carriers & target.bit) != (not carriers & bit))
                if other < least:
                    best, least = bit, other
        return best

    # --- rows

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
            self._by_bit[bit].note(row, filter, is_announced=bool(mask & bit))

    def _shared(self, mask: int) -> int:
        return self._masks.setdefault(mask, mask)

    def _carried(self, bit: int) -> list[Group]:
        return [group for group in self._store.groups.values() if group.carriers & bit]

    def _needs_comparison(self, target: UnionTarget, non_empty: int) -> bool:
        present = target.sources & non_empty
        return present & (present - 1) != 0 or present & ~self._store.reduced != 0

    def _index_row(self, row: int) -> None:
        if row not in self.index:
            self.index.add(row)
