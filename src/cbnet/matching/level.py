"""Level: a compiled table of which single filters can be removed.

remainder   the index, less the postings that were removed
aside       filters that were left out because another covered them: alive until removed or revived
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cbnet._kernels import pivot_build
from cbnet._kernels.pivot_table import Remainder
from cbnet.matching.engines import pivot
from cbnet.matching.storage.columns import Columns
from cbnet.matching.storage.filter_code import Tests, encode_filter
from cbnet.matching.storage.reduction import hashes_with_targets, taken_rows

if TYPE_CHECKING:
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.memtable import Item
    from cbnet.matching.storage.columns import Array


LEAST_REMOVALS = 50_000


class Removal(NamedTuple):
    """What it takes to remove a filter from a level."""

    posting: int  # -1: it stands aside
    aside: Array  # rows aside that are no longer needed there
    revived: list[Item]  # filters that must be added elsewhere before


_NOTHING = np.array([], np.int64)


class Level:
    """A compiled table, what was removed from it, and what stands aside."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.remainder = Remainder(compiled.index)
        self._aside_alive: Array | None = None
        self._removals = 0

    def copy(self) -> Level:
        """Return a copy whose removals are its own; the compiled arrays are shared."""
        copy = Level(self.compiled)
        copy.remainder = self.remainder.copy()
        copy._aside_alive = None if self._aside_alive is None else self._aside_alive.copy()
        copy._removals = self._removals
        copy.__dict__.update({name: self.__dict__[name] for name in ("_aside_order", "_rows") if name in self.__dict__})
        return copy

    def __len__(self) -> int:
        return int(self.compiled.about["filters"])

    def is_mostly_gone(self) -> bool:
        """Return whether so much was removed that it pays to compile the rest anew."""
        return self._removals > max(LEAST_REMOVALS, len(self) // 2)

    def contains(self, item: Item) -> bool:
        """Return whether the filter is alive here, in the table or aside."""
        target, tests = item
        return self.remainder.find(tests, target) >= 0 or len(self._aside_rows(tests, target)) > 0

    def find(self, item: Item) -> Removal | None:
        """Return how to remove a filter, or None if it is not alive here."""
        target, tests = item
        posting = self.remainder.find(tests, target)
        if posting >= 0:
            others = self._others(posting, target)  # the posting goes, so they must be added elsewhere
            covered = self._covered_by(tests, [target, *others])
            return Removal(posting, covered, [*((other, tests) for other in others), *self._items(covered)])
        own = self._aside_rows(tests, target)
        return Removal(-1, own, []) if len(own) else None

    def apply(self, removal: Removal) -> None:
        """Remove what `find` found."""
        if removal.posting >= 0:
            self.remainder.remove(removal.posting)
            self._removals += 1
        if len(removal.aside):
            self._alive_aside()[removal.aside] = False

    def filters(self, target: int) -> Iterator[Tests]:
        """Yield the filters of a target that are alive."""
        alive = self.alive()
        for place in np.flatnonzero(alive.targets == target):
            yield encode_filter(alive.filter(int(place)))

    def alive(self) -> Columns:
        """Return all filters that are alive, those aside too."""
        columns, postings = self._rows
        keep = np.ones(len(columns), bool)
        if self.remainder.removed is not None:
            bits = np.unpackbits(self.remainder.removed, bitorder="little").astype(bool)
            keep[: len(postings)] = ~bits[postings]
        keep[len(postings) :] = self._alive_aside()
        return columns if keep.all() else taken_rows(columns, np.flatnonzero(keep))

    # --- filters that share a posting, and filters aside

    @cached_property
    def _rows(self) -> tuple[Columns, Array]:
        """All filters, and the posting of each; those aside stand last and have none."""
        return self.compiled.columns, pivot.filters_of(self.compiled.arrays)[3]

    def _others(self, posting: int, target: int) -> list[int]:
        """Return the other targets of a posting that several share."""
        if not len(self.compiled.arrays["group_targets"]):
            return []
        singles, entries, listed, listed_entries, _ = self.compiled.index.postings()
        if singles <= posting < singles + entries:
            owner = self.compiled.arrays["bucket_entries"]["target"][posting - singles]
        elif singles + entries + listed <= posting < singles + entries + listed + listed_entries:
            owner = self.compiled.arrays["listed_entries"]["target"][posting - singles - entries - listed]
        else:
            return []
        if owner < pivot.GROUP:
            return []
        first, end = self.compiled.arrays["group_offsets"][owner - pivot.GROUP :][:2]
        return [int(other) for other in self.compiled.arrays["group_targets"][first:end] if other != target]

    def _alive_aside(self) -> Array:
        if self._aside_alive is None:
            self._aside_alive = np.ones(int(self.compiled.about["covered"]), bool)
        return self._aside_alive

    def _words(self, tests: Tests) -> Array | None:
        """Return the words of a filter, if something stands aside and they are known."""
        return self.remainder.index.words_of(tests) if self.compiled.about["covered"] else None

    def _covered_by(self, tests: Tests, targets: Sequence[int]) -> Array:
        """Return the rows aside, alive, that a filter covers for some targets."""
        words = self._words(tests)
        if words is None:
            return _NOTHING
        hashes = self.compiled.arrays["covered_hashes"]
        found = hashes_with_targets(_row_hash(words), np.array(targets))
        edges = np.searchsorted(hashes, found, "left"), np.searchsorted(hashes, found, "right")
        rows = np.concatenate([np.arange(first, end) for first, end in zip(*edges, strict=True)])
        alive: Array = rows[self._alive_aside()[rows]]
        return alive

    def _aside_rows(self, tests: Tests, target: int) -> Array:
        """Return the rows aside, alive, that are this very filter."""
        words = self._words(tests)
        if words is None:
            return _NOTHING
        hashes, order = self._aside_order
        found = hashes_with_targets(_row_hash(words), np.array([target]))[0]
        first, end = np.searchsorted(hashes, found, "left"), np.searchsorted(hashes, found, "right")
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
        hashes = np.empty(len(arrays["covered_targets"]), np.uint64)
        pivot_build.hash_rows(arrays["covered_words"], arrays["covered_offsets"].astype(np.int64), hashes)
        hashes = hashes_with_targets(hashes, arrays["covered_targets"])
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order

    def _items(self, rows: Array) -> list[Item]:
        if not len(rows):
            return []
        targets, offsets, words = (self.compiled.arrays[f"covered_{part}"] for part in ("targets", "offsets", "words"))
        filters = [self.compiled.decoded(words[offsets[row] : offsets[row + 1]].tolist()) for row in rows]
        return list(zip(targets[rows].tolist(), map(encode_filter, filters), strict=True))


def _row_hash(words: Array) -> Array:
    hashes = np.empty(1, np.uint64)
    pivot_build.hash_rows(words, np.array([0, len(words)], np.int64), hashes)
    return hashes
