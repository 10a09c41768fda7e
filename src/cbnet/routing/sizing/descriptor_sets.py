"""Descriptors: which sets of tags are registered at which nodes, and which contain which? At scale, as arrays.

    owners   3  3  7 …       int32[m]    the node of each registered descriptor
    sets     0  4  0 …       int32[m]    its set, by number: equal sets have one number
    sizes    2  3  1 …       int64[s]    tags in each set
    subsets  │ │4 9│ …       in rows     of each set, the other sets that are parts of it

With the subsets known, what is minimal among any of the descriptors needs no tags: a set is kept behind an interface if
it is there and none of its subsets is [2014 §3.2.1]. The same is said of single predicates by `language.reduction`.

Subsets are found by the rarest tag: a part of a set has its own rarest tag among the tags of the set, and few sets
have a common tag as their rarest. 100,389 bookmarks have 77,696 distinct sets with 462,501 pairs; 6.8 million are
tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.errors import InputError

Ids: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.int64]
Sets: TypeAlias = NDArray[np.integer]
Flags: TypeAlias = NDArray[np.bool_]

_MANY = 16
_AT_ONCE = 1 << 22  # pairs that are tried together, some 50 bytes each


class Descriptors:
    """Sets of tags, each registered at a node."""

    def __init__(self, owners: Ids, tags: pa.ListArray) -> None:
        """Take the node and the tags, strings or numbers, of each descriptor."""
        rows, numbers = _elements(tags)
        if len(owners) != len(tags) or not len(tags) or np.bincount(rows, minlength=len(tags)).min() == 0:
            raise InputError("every descriptor needs a node and a tag", hint="leave out those without tags")
        self.owners = owners
        self.tags = tags
        self.sets, distinct = _distinct(rows, numbers, len(tags))
        self.sizes: Numbers = np.array([len(each) for each in distinct], dtype=np.int64)
        self._wide, self._subsets = _TagSets(np.concatenate(distinct), self.sizes).sorted_pairs()
        self._counts = np.bincount(self._wide, minlength=len(distinct))
        self._starts = np.cumsum(self._counts) - self._counts
        self._is_there = np.zeros(len(distinct), dtype=np.bool_)  # room for a moment, all False between calls

    def __len__(self) -> int:
        return len(self.owners)

    @cached_property
    def examples(self) -> Numbers:
        """A descriptor of each set, the first: int64[s]."""
        return np.unique(self.sets, return_index=True)[1]

    def present(self, rows: Numbers) -> Ids:
        """Return the distinct sets of some descriptors, ascending."""
        self._is_there[self.sets[rows]] = True
        found = np.flatnonzero(self._is_there).astype(np.int32)
        self._is_there[found] = False
        return found

    def kept(self, rows: Numbers) -> Ids:
        """Return the sets that are minimal among those of some descriptors, ascending."""
        present = self.present(rows)
        return present[~self.has_subset(present, present)]

    def has_subset(self, sets: Sets, among: Sets) -> Flags:
        """Return whether each of some sets has a part, not itself, among others: bool[sets]."""
        self._is_there[among] = True
        if len(sets) * _MANY > len(
            self.sizes
        ):  # to look at all pairs in their order is faster, 4 times if all are asked
            has = np.zeros(len(self.sizes), dtype=np.bool_)
            has[self._wide[self._is_there[self._subsets]]] = True
            found: Flags = has[sets]
        else:
            counts, subsets = self.subsets(sets)
            hit = np.repeat(np.arange(len(sets)), counts)[self._is_there[subsets]]
            found = np.bincount(hit, minlength=len(sets)) > 0
        self._is_there[among] = False
        return found

    def subsets(self, sets: Sets) -> tuple[Numbers, Ids]:
        """Return how many subsets each of some sets has, and them all, one set's behind the other's."""
        counts = self._counts[sets]
        return counts, self._subsets[in_rows(self._starts[sets], counts)]


def in_rows(starts: Numbers, counts: Numbers) -> Numbers:
    """Return the places of rows that begin at `starts` and have `counts` members, one behind the other."""
    before = np.cumsum(counts) - counts
    places: Numbers = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return places


def in_parts(counts: Numbers) -> Iterator[slice]:
    """Yield parts of a list, so that the counts in each make some millions."""
    ends = np.cumsum(counts)
    begin = done = 0
    while begin < len(counts):
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        yield slice(begin, end)
        begin, done = end, int(ends[end - 1])


def _elements(tags: pa.ListArray) -> tuple[Numbers, Numbers]:
    """Return every tag of every row once, as row and number, in order; the rarest tags have the lowest numbers."""
    codes = tags.flatten().dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    lengths = tags.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    pairs = np.unique(np.stack([np.repeat(np.arange(len(tags)), lengths), codes]), axis=1)
    counts = np.bincount(pairs[1])
    ranks = np.empty(len(counts), dtype=np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    rows, numbers = pairs[0], ranks[pairs[1]]
    order = np.lexsort((numbers, rows))
    return rows[order], numbers[order]


def _distinct(rows: Numbers, numbers: Numbers, count: int) -> tuple[Ids, list[Numbers]]:
    """Return the number of each row's set, and the distinct sets."""
    bounds = np.searchsorted(rows, np.arange(count + 1)).tolist()
    found: dict[bytes, int] = {}
    sets = np.empty(count, dtype=np.int32)
    for row in range(count):
        sets[row] = found.setdefault(numbers[bounds[row] : bounds[row + 1]].tobytes(), len(found))
    return sets, [np.frombuffer(each, dtype=np.int64) for each in found]


class _TagSets:
    """Distinct sets of tags: the numbers of their tags, ascending in each and side by side, and their sizes."""

    def __init__(self, numbers: Numbers, sizes: Numbers) -> None:
        self.numbers = numbers
        self.sizes = sizes
        self.starts = np.cumsum(sizes) - sizes
        self._set = np.repeat(np.arange(len(sizes)), sizes)  # of each number
        self._most = int(numbers.max()) + 1
        self._keys = self._set * self._most + numbers  # ascending
        self._masks = np.bitwise_or.reduceat(np.uint64(1) << (numbers % 64).astype(np.uint64), self.starts)

    def sorted_pairs(self) -> tuple[Ids, Ids]:
        """Return the pairs of a set and another one that is a part of it, by the first."""
        wide, narrow = np.concatenate([*self._subset_pairs()], axis=1)
        order = np.argsort(wide, kind="stable")
        return wide[order].astype(np.int32), narrow[order].astype(np.int32)

    def _subset_pairs(self) -> Iterator[Numbers]:
        """Yield these pairs, some at a time: int64[2, pairs]."""
        rarest = self.numbers[self.starts]
        order = np.argsort(rarest, kind="stable")
        first, end = (np.searchsorted(rarest[order], self.numbers, side=side) for side in ("left", "right"))
        for some in in_parts(end - first):
            tried = (end - first)[some]
            pairs = np.stack([np.repeat(self._set[some], tried), order[in_rows(first[some], tried)]])
            pairs = pairs[:, self._may_contain(*pairs)]
            yield pairs[:, self._contains(*pairs)]

    def _may_contain(self, wide: Numbers, narrow: Numbers) -> Flags:
        """Return whether sets are larger than others, and 64-bit masks do not show that they lack a tag of them."""
        may: Flags = (self.sizes[narrow] < self.sizes[wide]) & (self._masks[narrow] & ~self._masks[wide] == 0)
        return may

    def _contains(self, wide: Numbers, narrow: Numbers) -> Flags:
        sizes = self.sizes[narrow]
        asked = np.repeat(wide, sizes) * self._most + self.numbers[in_rows(self.starts[narrow], sizes)]
        found = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
        lacking = np.repeat(np.arange(len(wide)), sizes)[self._keys[found] != asked]
        contains: Flags = np.bincount(lacking, minlength=len(wide)) == 0
        return contains
