"""Rows of reduced unions: which filters are announced to which targets.

A row is *carried* for a target if a source of the target has its filter; it is announced if no carried row dominates it
(`dominance`). A row that dominates very many others is announced at once, and a `Sweep` withdraws them in slices.
When such a row is no longer carried, it stays announced until a sweep has announced all rows that only it dominated.

Invariant: a carried row is announced, or dominated by an announced row, except for a target that is being opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cbnet.routing.aggregation.dominance import DominanceIndex
from cbnet.routing.aggregation.source_filters import SourceFilters
from cbnet.routing.aggregation.union_target import UnionTarget

_FEW = 32  # rows that may be visited at once even if the slice is used up
_LEAST = 8  # minimum cost of a sweep, as the number of rows that could be announced in the same time
SCANNED = 20  # rows that can be compared with one filter in the time of announcing one row


@dataclass
class Sweep:
    """A pass over all rows that one row dominates.

    Invariant: only the first sweep in the queue has visited rows; the others begin with row 0.
    """

    row: int
    hiding: int = 0  # bits of the targets where the row is announced and the dominated rows are withdrawn
    reviving: int = 0  # bits of the targets where the row has no source any more and the dominated rows are announced
    cursor: int = 0  # rows below it have been visited
    is_partial: bool = False  # whether the row lost its sources before all dominated rows were withdrawn


class UnionRows:
    """The rows of the filters of some sources; targets are bits of an int."""

    def __init__(self, store: SourceFilters, slice: int) -> None:
        """Initialise; slice: rows to announce or withdraw at a time."""
        self.index = DominanceIndex(store.filters)
        self.targets: dict[int, UnionTarget] = {}  # by bit
        self.open = 0  # their bits
        self.compared = 0  # bits of the targets whose rows are compared with each other
        self.filling = 0  # bits of the targets that are being opened, or whose comparison is starting
        self.slice = slice
        self._store = store
        self._sweeps: dict[int, Sweep] = {}  # by row, in the order of execution
        self._left = 0  # dominated rows that may still be visited in this slice
        self._last_dominator = 0  # the last dominator found: it often dominates the next row, too
        self._masks: dict[int, int] = {}  # interned, so that rows share the ints

    # --- changes

    def settle(self, gained: Mapping[int, int], freed: Mapping[int, int]) -> None:
        """Announce the gained filters that nothing dominates, and the filters that only lost ones dominated."""
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
        """Announce a row to the targets where nothing dominates it, and withdraw the rows that it dominates there."""
        free = self._undominated(row, bits)
        self.toggle(row, (free ^ self._store.announced[row]) & bits)
        if free and not is_first:
            self._hide(row, free)

    def toggle(self, row: int, bits: int) -> None:
        """Announce a row to each of these targets, or withdraw it if it is announced."""
        if not bits:
            return
        announced, filter = self._store.announced, self._store.filters[row]
        mask = announced[row] = self.share(announced[row] ^ bits)
        while bits:
            bit = bits & -bits
            bits ^= bit
            self.targets[bit].note(row, filter, is_announced=bool(mask & bit))

    def share(self, mask: int) -> int:
        """Return the int that all rows with these bits share."""
        return self._masks.setdefault(mask, mask)

    def index_row(self, row: int) -> None:
        """Add a row to the index if it is absent."""
        if row not in self.index:
            self.index.add(row)

    # --- sweeps

    @property
    def has_sweeps(self) -> bool:
        """Whether dominated rows remain to be announced or withdrawn."""
        return bool(self._sweeps)

    def sweep(self) -> None:
        """Announce or withdraw the next dominated rows."""
        self.begin_slice()
        while self._sweeps and self._left:
            self._advance(next(iter(self._sweeps.values())))

    def begin_slice(self) -> None:
        """Begin a slice: reset the number of dominated rows that may be visited in it."""
        self._left = self.slice

    def waits(self, bit: int) -> bool:
        """Return whether rows of a target are yet to be announced, although no announced row dominates them."""
        announced = self._store.announced
        return any(each.reviving & bit and not announced[each.row] & bit for each in self._sweeps.values())

    def copy(self, source: int, copy: int) -> None:
        """Copy all announcements of one target to another: one pass in C, some 30 ms for a million rows."""
        masks = _CopiedMasks(source, copy)
        self._store.announced[:] = map(masks.__getitem__, self._store.announced)
        self.targets[copy].size = self.targets[source].size
        for sweep in self._sweeps.values():
            sweep.hiding |= copy if sweep.hiding & source else 0
            sweep.reviving |= copy if sweep.reviving & source else 0

    def add(self, target: UnionTarget) -> None:
        """Add a target to which nothing is announced yet."""
        self.targets[target.bit] = target
        self.open |= target.bit

    def close(self, bit: int) -> None:
        """Remove a target; rows keep its bit until `erase`."""
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
        """Free the interned masks, and the index if it is empty."""
        self._masks.clear()
        if not len(self.index):
            self.index = DominanceIndex(self._store.filters)

    def unvisited(self, row: int) -> int:
        """Return the targets where a row, without being announced, may have kept visited rows from being announced."""
        first = next(iter(self._sweeps.values()), None)
        is_below = first is None or not first.cursor or row < first.cursor
        return self.filling | (0 if first is None or is_below else first.reviving)

    def _begin_sweep(self, row: int, hiding: int, reviving: int) -> None:
        """Queue a sweep over all rows that a row dominates, after the sweeps in progress."""
        sweep = self._sweeps.pop(row, None) or Sweep(row)
        sweep.is_partial |= bool(sweep.hiding & reviving)
        sweep.hiding, sweep.reviving, sweep.cursor = sweep.hiding | hiding, sweep.reviving | reviving, 0
        self._sweeps[row] = sweep

    def _advance(self, sweep: Sweep) -> None:
        """Visit the next rows that the row of a sweep dominates."""
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
        """Withdraw the rows that a row dominates."""
        announced = self._store.announced
        found = self._found(row)
        if found is None:
            self._begin_sweep(row, bits, 0)
            return
        for narrow in found:
            self.toggle(narrow, announced[narrow] & bits)

    def _free(self, row: int, bits: int, uncovered: dict[int, int]) -> None:
        """Record in `uncovered` the unannounced rows that a lost row dominated; queue a sweep if they are very many."""
        if row not in self.index:
            return
        announced, group_of = self._store.announced, self._store.group_of
        found = self._found(row)
        if found is None or (row in self._sweeps and self._sweeps[row].hiding & bits):
            first = next(iter(self._sweeps.values()), None)
            if first is not None and first.cursor and first.reviving & bits & ~announced[row]:
                self._begin_sweep(first.row, 0, 0)  # again, since it has visited rows that it must announce now
            self._begin_sweep(row, 0, bits)
            return
        for narrow in found:
            hidden = group_of[narrow].carriers & bits & ~announced[narrow]
            if hidden:
                uncovered[narrow] = uncovered.get(narrow, 0) | hidden

    def _found(self, row: int) -> Iterable[int] | None:
        """Return the rows that a row dominates; None if there are too many for this slice."""
        found = self.index.dominated(row, max(self._left, min(_FEW, self.slice)))
        self._left = max(0, self._left - self.index.candidates)
        return found

    def _revive(self, row: int, bits: int, *, is_partial: bool = False) -> None:
        free = self._undominated(row, bits)
        self.toggle(row, free)
        if free and is_partial:
            self._hide(row, free)

    def _undominated(self, row: int, bits: int) -> int:
        """Return the targets among `bits` in which no filter dominates a row."""
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
    """New masks of rows by their old masks: the bit `copy` takes the value of the bit `source`."""

    def __init__(self, source: int, copy: int) -> None:
        self._source, self._copy = source, copy

    def __missing__(self, mask: int) -> int:
        copied = self[mask] = (mask | self._copy) if mask & self._source else mask & ~self._copy
        return copied
