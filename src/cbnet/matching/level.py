"""Levels of a live table: compiled tables from which single filters can be removed.

remainder   the index without the removed postings
aside       filters that were left out because another covered them: alive until removed or revived
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cbnet._kernels.pivot_table import Remainder
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines import pivot
from cbnet.matching.engines.owners import GROUP, members_of
from cbnet.matching.memtable import TargetFilter
from cbnet.matching.storage.columns import Array, Columns
from cbnet.matching.storage.filter_encoding import EncodedFilter, encode_filter
from cbnet.matching.storage.reduction import hashes_with_targets, row_hashes, take_filters

MIN_REMOVALS = 50_000


class Removal(NamedTuple):
    """The changes that remove a filter from a level."""

    posting: int  # -1: the filter is aside
    aside: Array  # rows aside that are dropped
    revived: list[TargetFilter]  # filters to add elsewhere first


_NO_ROWS = np.array([], np.int64)


class Level:
    """A compiled table with its removed postings and the filters aside."""

    def __init__(self, compiled: CompiledTable) -> None:
        self.compiled = compiled
        self.remainder = Remainder(compiled.index)
        self._has_aside = bool(compiled.metadata["covered"])
        self._aside_alive: Array | None = None
        self._removals = 0

    def copy(self) -> Level:
        """Return a copy with removals of its own; the compiled arrays are shared."""
        copy = Level(self.compiled)
        copy.remainder = self.remainder.copy()
        copy._aside_alive = None if self._aside_alive is None else self._aside_alive.copy()
        copy._removals = self._removals
        copy.__dict__.update({name: self.__dict__[name] for name in ("_aside_order", "_rows") if name in self.__dict__})
        return copy

    def __len__(self) -> int:
        return int(self.compiled.metadata["filters"])

    def is_mostly_removed(self) -> bool:
        """Return whether enough filters were removed for compiling the rest again to pay."""
        return self._removals > max(MIN_REMOVALS, len(self) // 2)

    def contains(self, item: TargetFilter) -> bool:
        """Return whether the filter is alive here, in the table or aside."""
        target, tests = item
        return self.remainder.find(tests, target) >= 0 or (self._has_aside and len(self._aside_rows(tests, target)) > 0)

    def find(self, item: TargetFilter) -> Removal | None:
        """Return the removal of a filter, or None if it is not alive here."""
        target, tests = item
        posting = self.remainder.find(tests, target)
        if posting >= 0:
            others = self._others(posting, target)  # they lose the posting too, so they are added elsewhere
            covered = self._covered_by(tests, [target, *others])
            return Removal(posting, covered, [*((other, tests) for other in others), *self._items(covered)])
        own = self._aside_rows(tests, target) if self._has_aside else _NO_ROWS
        return Removal(-1, own, []) if len(own) else None

    def apply(self, removal: Removal) -> None:
        """Apply a removal returned by `find`."""
        if removal.posting >= 0:
            self.remainder.remove(removal.posting)
            self._removals += 1
        if len(removal.aside):
            self._alive_aside()[removal.aside] = False

    def filters(self, target: int) -> Iterator[EncodedFilter]:
        """Yield the filters of a target that are alive."""
        alive = self.alive()
        for row in np.flatnonzero(alive.targets == target):
            yield encode_filter(alive.filter(int(row)))

    def alive(self) -> Columns:
        """Return all filters that are alive, including those aside."""
        columns, postings = self._rows
        keep = np.ones(len(columns), bool)
        if self.remainder.removed is not None:
            bits = np.unpackbits(self.remainder.removed, bitorder="little").astype(bool)
            keep[: len(postings)] = ~bits[postings]
        keep[len(postings) :] = self._alive_aside()
        return columns if keep.all() else take_filters(columns, np.flatnonzero(keep))

    def prepare(self) -> None:
        """Find the filters that use computed attributes, so that matching does not wait for it."""
        if self.compiled.computed_rows:
            self._rows  # noqa: B018  # cached

    def targets_using(self, name: str, *, only_open: bool = False) -> Iterator[int]:
        """Yield the targets of the filters that are alive and use a computed attribute.

        only_open: only those that may match a message without the attribute.
        """
        compiled = self.compiled
        rows = (compiled.open_rows if only_open else compiled.computed_rows).get(name, ())
        if not rows:
            return
        columns, postings = self._rows
        removed = self.remainder.removed
        for row in rows:
            if row >= len(postings):
                is_alive = bool(self._alive_aside()[row - len(postings)])
            else:
                posting = int(postings[row])
                is_alive = removed is None or not removed[posting >> 3] >> (posting & 7) & 1
            if is_alive:
                yield int(columns.targets[row])

    # --- filters that share a posting, and filters aside

    @cached_property
    def _rows(self) -> tuple[Columns, Array]:
        """All filters, and the posting of each; filters aside come last and have none."""
        return self.compiled.columns, pivot.filters_of(self.compiled.arrays)[3]

    def _others(self, posting: int, target: int) -> list[int]:
        """Return the other targets of a shared posting."""
        if not len(self.compiled.arrays["group_targets"]):
            return []
        kinds = (None, "bucket_entries", None, "listed_entries", "blocked_entries", None)
        ends = np.cumsum(self.compiled.index.postings())
        kind = int(np.searchsorted(ends, posting, "right"))
        if (name := kinds[kind]) is None:
            return []
        entries = self.compiled.arrays[name]
        owner = entries["target"][posting - ends[kind - 1]]
        if owner < GROUP:
            return []
        return [int(other) for other in members_of(owner, self.compiled.arrays) if other != target]

    def _alive_aside(self) -> Array:
        if self._aside_alive is None:
            self._aside_alive = np.ones(int(self.compiled.metadata["covered"]), bool)
        return self._aside_alive

    def _words(self, tests: EncodedFilter) -> Array | None:
        """Return the words of a filter; None if no filter is aside or the table lacks one of its symbols."""
        return self.remainder.index.words_of(tests) if self._has_aside else None

    def _covered_by(self, tests: EncodedFilter, targets: Sequence[int]) -> Array:
        """Return the live rows aside that a filter covers for some targets."""
        words = self._words(tests)
        if words is None:
            return _NO_ROWS
        hashes = self.compiled.arrays["covered_hashes"]
        keys = hashes_with_targets(row_hashes(words, np.array([0, len(words)])), np.array(targets))
        edges = np.searchsorted(hashes, keys, "left"), np.searchsorted(hashes, keys, "right")
        rows = np.concatenate([np.arange(first, end) for first, end in zip(*edges, strict=True)])
        alive: Array = rows[self._alive_aside()[rows]]
        return alive

    def _aside_rows(self, tests: EncodedFilter, target: int) -> Array:
        """Return the live rows aside that are this filter."""
        words = self._words(tests)
        if words is None:
            return _NO_ROWS
        hashes, order = self._aside_order
        key = hashes_with_targets(row_hashes(words, np.array([0, len(words)])), np.array([target]))[0]
        first, end = np.searchsorted(hashes, key, "left"), np.searchsorted(hashes, key, "right")
        rows = order[first:end]
        offsets, all_words = self.compiled.arrays["covered_offsets"], self.compiled.arrays["covered_words"]
        same = [
            row
            for row in rows
            if self._alive_aside()[row] and np.array_equal(all_words[offsets[row] : offsets[row + 1]], words)
        ]
        return np.array([row for row in same if self.compiled.arrays["covered_targets"][row] == target], np.int64)

    @cached_property
    def _aside_order(self) -> tuple[Array, Array]:
        """The hashes of the rows aside, sorted, and the row of each."""
        arrays = self.compiled.arrays
        hashes = row_hashes(arrays["covered_words"], arrays["covered_offsets"].astype(np.int64))
        hashes = hashes_with_targets(hashes, arrays["covered_targets"])
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order

    def _items(self, rows: Array) -> list[TargetFilter]:
        if not len(rows):
            return []
        targets, offsets, words = (self.compiled.arrays[f"covered_{part}"] for part in ("targets", "offsets", "words"))
        filters = [self.compiled.decode(words[offsets[row] : offsets[row + 1]].tolist()) for row in rows]
        return list(zip(targets[rows].tolist(), map(encode_filter, filters), strict=True))
