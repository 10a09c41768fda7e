"""Level: a compiled table of which single filters can be removed.

removed   bits, one per posting, in the numbering of the kernel's `find`
aside     filters that were left out because another covered them: alive until removed or revived
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cbnet._kernels import pivot_build
from cbnet.language.filter import Filter
from cbnet.matching import pivot
from cbnet.matching.columns import Columns
from cbnet.matching.encoded_filter import words_of
from cbnet.matching.reduced import hashes_with_targets, taken_rows

if TYPE_CHECKING:
    from cbnet.matching.columns import Array
    from cbnet.matching.compiled import Compiled
    from cbnet.matching.recent import Item


class Removal(NamedTuple):
    """What it takes to remove a filter from a level."""

    posting: int  # -1: it stands aside
    aside: Array  # rows aside that are no longer needed there
    revived: list[Item]  # filters that must be added elsewhere before


class Level:
    """A compiled table, what was removed from it, and what stands aside."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self._removed: Array | None = None
        self._aside_alive: Array | None = None

    def copy(self) -> Level:
        """Return a copy whose removals are its own; the compiled arrays are shared."""
        copy = Level(self.compiled)
        copy._removed = None if self._removed is None else self._removed.copy()
        copy._aside_alive = None if self._aside_alive is None else self._aside_alive.copy()
        copy.__dict__.update({name: self.__dict__[name] for name in ("_aside_order", "_rows") if name in self.__dict__})
        return copy

    def __len__(self) -> int:
        return int(self.compiled.about["filters"])

    def match(self, members: dict[str, Any], labels: list[Any] | None = None) -> list[Any] | None:
        """Return the targets of a message, or their labels; None if the message is not plain."""
        try:
            found: list[Any] | None = self.compiled.index.match_members(members, labels, self._removed)
        except UnicodeEncodeError:  # half of a surrogate pair
            return None
        return found

    def contains(self, item: Item) -> bool:
        """Return whether the filter is alive here, in the table or aside."""
        return self.find(item) is not None

    def find(self, item: Item) -> Removal | None:
        """Return how to remove a filter, or None if it is not alive here."""
        target, filter = item
        words = words_of(self.compiled, filter)
        if words is None:
            return None
        own = np.array([], np.int64)
        if target < self.compiled.about["interfaces"]:
            posting = self.compiled.index.find(words, target, self._removed)
            if posting >= 0:
                covered = self._covered_by(words, target)
                return Removal(posting, covered, [*self._others(posting, target, filter), *self._items(covered)])
            own = self._aside_rows(words, target)
        return Removal(-1, own, []) if len(own) else None

    def apply(self, removal: Removal) -> None:
        """Remove what `find` found."""
        if removal.posting >= 0:
            if self._removed is None:
                self._removed = np.zeros(sum(self.compiled.index.postings()) // 8 + 1, np.uint8)
            self._removed[removal.posting >> 3] |= np.uint8(1 << (removal.posting & 7))
        if len(removal.aside):
            self._alive_aside()[removal.aside] = False

    def filters(self, target: int) -> Iterator[Filter]:
        """Yield the filters of a target that are alive."""
        alive = self.alive()
        for place in np.flatnonzero(alive.targets == target):
            yield alive.filter(int(place))

    def alive(self) -> Columns:
        """Return all filters that are alive, those aside too."""
        columns, postings = self._rows
        keep = np.ones(len(columns), bool)
        if self._removed is not None:
            bits = np.unpackbits(self._removed, bitorder="little").astype(bool)
            keep[: len(postings)] = ~bits[postings]
        keep[len(postings) :] = self._alive_aside()
        return columns if keep.all() else taken_rows(columns, np.flatnonzero(keep))

    # --- filters that share a posting, and filters aside

    @cached_property
    def _rows(self) -> tuple[Columns, Array]:
        """All filters, and the posting of each; those aside stand last and have none."""
        return self.compiled.columns, pivot.filters_of(self.compiled.arrays)[3]

    def _others(self, posting: int, target: int, filter: Filter) -> list[Item]:
        """Return the same filter for the other targets of a posting that several share."""
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
        return [(int(t), filter) for t in self.compiled.arrays["group_targets"][first:end] if t != target]

    def _alive_aside(self) -> Array:
        if self._aside_alive is None:
            self._aside_alive = np.ones(int(self.compiled.about["covered"]), bool)
        return self._aside_alive

    def _covered_by(self, words: Array, target: int) -> Array:
        """Return the rows aside, alive, that a filter covers."""
        if not self.compiled.about["covered"]:
            return np.array([], np.int64)
        hashes = self.compiled.arrays["covered_hashes"]
        found = hashes_with_targets(_row_hash(words), np.array([target]))
        rows = np.arange(*np.searchsorted(hashes, [found[0], found[0] + np.uint64(1)]))
        return rows[self._alive_aside()[rows]]

    def _aside_rows(self, words: Array, target: int) -> Array:
        """Return the rows aside, alive, that are this very filter."""
        if not self.compiled.about["covered"]:
            return np.array([], np.int64)
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
        return list(zip(targets[rows].tolist(), filters, strict=True))


def _row_hash(words: Array) -> Array:
    hashes = np.empty(1, np.uint64)
    pivot_build.hash_rows(words, np.array([0, len(words)], np.int64), hashes)
    return hashes
