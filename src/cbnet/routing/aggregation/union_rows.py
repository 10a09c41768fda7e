"""Rows of reduced unions: which filters are announced to which targets, and why others are not.

A row is *carried* for a target if a source of the target has its filter; it is announced if no carried row dominates it
(`cover_index`). A row that dominates very many others is announced at once, and a `Sweep` withdraws these in slices. If
it is not carried any more, it stays announced until a sweep has announced all that only it dominated.

Invariant: a carried row is announced, or dominated by one that is; not for a target that is being opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cbnet.routing.aggregation.cover_index import CoverIndex
from cbnet.routing.aggregation.source_filters import SourceFilters
from cbnet.routing.aggregation.union_target import UnionTarget
from cbnet.routing.aggregation.union_work import Sweep

_FEW = 32  # rows that may always be visited at once
_LEAST = 8  # a sweep takes as long as to announce so many rows, or longer
SCANNED = 20  # rows that are compared with one filter in the time in which one of them is announced


class UnionRows:
    """The rows of the filters of some sources; targets are bits of an int."""

    def __init__(self, store: SourceFilters, slice: int) -> None:
        """Initialise; slice: rows that are announced, or withdrawn, at a time."""
        self.index = CoverIndex(store.filters)
        self.targets: dict[int, UnionTarget] = {}  # by bit
        self.open = 0  # their bits
        self.compared = 0  # bits of the targets whose rows are compared with each other
        self.filling = 0  # of those that are being opened, or begin to be compared
        self.slice = slice
        self._store = store
        self._sweeps: dict[int, Sweep] = {}  # by row, in the order in which they are done
        self._left = 0  # dominated rows that may still be visited at once
        self._last_dominator = 0  # the row that was found last: of many rows in turn, it often dominates the next, too
        self._masks: dict[int, int] = {}  # so that rows share the ints

    # --- changes

    def settle(self, gained: Mapping[int, int], freed: Mapping[int, int]) -> None:
        """Announce the gained filters that nothing dominates, and those that only lost filters dominated."""
        self._left = self.slice
        for row, bits in gained.items():
            self.place(row, bits)
        uncovered: dict[int, int] = {}
        for row, bits in freed.items():
            self._free(row, bits, uncovered)
        for row, bits in uncovered.items():
            self._revive(row, bits)
        for row, bits in freed.items():
            sweep = self._sweeps.get(row)
            self.toggle(row, self._store.announced[row] & bits & ~(0 if sweep is None else sweep.reviving))

    def release(self, row: int) -> None:
        """Delete a row, unless it has a source or is still needed."""
        announced = self._store.announced[row] & self.open
        if self._store.group_of[row].sources or announced or row in self._sweeps:
            return
        for target in self.targets.values():
            target.forget_row(row, self._store.filters[row])
        self.index.discard(row)
        self._store.delete(row)

    def place(self, row: int, bits: int, *, is_first: bool = False) -> None:
        """Announce a row where nothing dominates it, and withdraw what it dominates there."""
        free = self._undominated(row, bits)
        self.toggle(row, (free ^ self._store.announced[row]) & bits)
        if free and not is_first:
            self._hide(row, free)

    def toggle(self, row: int, bits: int) -> None:
        """Announce a row to targets, or withdraw it."""
        if not bits:
            return
        announced, filter = self._store.announced, self._store.filters[row]
        mask = announced[row] = self.share(announced[row] ^ bits)
        while bits:
            bit = bits & -bits
            bits ^= bit
            self.targets[bit].note(row, filter, is_announced=bool(mask & bit))

    def share(self, mask: int) -> int:
        """Return an int that rows with the same bits share."""
        return self._masks.setdefault(mask, mask)

    def index_row(self, row: int) -> None:
        """Add a row to the index, unless it is there."""
        if row not in self.index:
            self.index.add(row)

    # --- sweeps

    @property
    def has_sweeps(self) -> bool:
        """Whether rows that others dominate are to be announced or withdrawn."""
        return bool(self._sweeps)

    def sweep(self) -> None:
        """Announce or withdraw some of these."""
        self.begin_slice()
        while self._sweeps and self._left:
            self._advance(next(iter(self._sweeps.values())))

    def begin_slice(self) -> None:
        """Allow as many dominated rows to be visited at once as a slice has."""
        self._left = self.slice

    def waits(self, bit: int) -> bool:
        """Return whether rows of a target are not announced yet, though nothing that is announced dominates them."""
        announced = self._store.announced
        return any(each.reviving & bit and not announced[each.row] & bit for each in self._sweeps.values())

    def copy(self, source: int, copy: int) -> None:
        """Announce to a target what is announced to another: one pass in C, some 30 ms for a million rows."""
        masks = _CopiedMasks(source, copy)
        self._store.announced[:] = map(masks.__getitem__, self._store.announced)
        self.targets[copy].size = self.targets[source].size
        for sweep in self._sweeps.values():
            sweep.hiding |= copy if sweep.hiding & source else 0
            sweep.reviving |= copy if sweep.reviving & source else 0

    def add(self, target: UnionTarget) -> None:
        """Add a target, to which nothing is announced yet."""
        self.targets[target.bit] = target
        self.open |= target.bit

    def close(self, bit: int) -> None:
        """Forget a target; rows keep its bit until `erase`."""
        del self.targets[bit]
        self.open &= ~bit
        self.compared &= ~bit
        self.filling &= ~bit
        for sweep in self._sweeps.values():
            sweep.hiding &= ~bit
            sweep.reviving &= ~bit

    def erase(self, row: int, bits: int) -> None:
        """Remove the bits of closed targets from a row."""
        announced = self._store.announced
        if announced[row] & bits:
            announced[row] = self.share(announced[row] & ~bits)
            self.release(row)

    def forget_unused(self) -> None:
        """Free what no row needs any more."""
        self._masks.clear()
        if not len(self.index):
            self.index = CoverIndex(self._store.filters)

    def unvisited(self, row: int) -> int:
        """Return the targets for which a row that is not announced may have kept visited ones from being announced."""
        first = next(iter(self._sweeps.values()), None)
        is_below = first is None or not first.cursor or row < first.cursor
        return self.filling | (0 if first is None or is_below else first.reviving)

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
                end = sweep.cursor + SCANNED * self.slice
                found, stop = self.index.dominated_among(row, sweep.cursor, end, self.slice)
                self._left = 0
            for narrow in found:
                self.toggle(narrow, announced[narrow] & hiding)
                hidden = group_of[narrow].carriers & reviving & ~announced[narrow]
                if hidden:
                    self._revive(narrow, hidden, is_partial=sweep.is_partial)
        if self._sweeps.get(row) is not sweep:
            return
        sweep.cursor = stop
        if stop >= len(announced):
            del self._sweeps[row]
            self.toggle(row, announced[row] & reviving)
            self.release(row)

    def _hide(self, row: int, bits: int) -> None:
        """Withdraw what a row dominates."""
        announced = self._store.announced
        found = self._found(row)
        if found is None:
            self._begin_sweep(row, bits, 0)
            return
        for narrow in found:
            self.toggle(narrow, announced[narrow] & bits)

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
        found = self.index.dominated(row, max(self._left, min(_FEW, self.slice)))
        self._left = max(0, self._left - self.index.candidates)
        return found

    def _revive(self, row: int, bits: int, *, is_partial: bool = False) -> None:
        free = self._undominated(row, bits)
        self.toggle(row, free)
        if free and is_partial:
            self._hide(row, free)

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


class _CopiedMasks(dict[int, int]):
    """The bits of rows, by those before: one bit is that of another now."""

    def __init__(self, source: int, copy: int) -> None:
        self._source, self._copy = source, copy

    def __missing__(self, mask: int) -> int:
        copied = self[mask] = (mask | self._copy) if mask & self._source else mask & ~self._copy
        return copied
