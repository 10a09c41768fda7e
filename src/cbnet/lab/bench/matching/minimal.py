"""The benchmark of minimal sets: how long does it take to find the sets that contain no other?

A sample of the answer is checked by a second method that shares nothing with the first: every set is
tried as a subset of every set of the sample.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cbnet.lab.workload.tag_traffic import tag_sets
from cbnet.matching.minimal_sets import minimal

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from cbnet.lab.bench.inputs import Report

_AT_ONCE = 64  # sets of the sample, one for each bit of a word
_ROWS = 2_000_000  # sets that are tried at once


@dataclass(frozen=True)
class MinimalResult:
    """What was measured."""

    sets: int
    tags: int  # in all sets
    kept: int
    seconds: float
    megabytes: int  # the most that the process had, with the sets themselves
    checked: int  # sets
    equal: bool


def minimal_sets(sets: int, tags: int, sample: int, seed: int, report: Report) -> MinimalResult:
    """Find the minimal ones of generated sets over so many tags, and check a sample of the answer."""
    report("generating sets")
    column = tag_sets(sets, tags=tags, seed=seed)
    report("finding the minimal ones")
    start = perf_counter()
    kept = minimal(column)
    seconds = perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report("checking a sample")
    rows = _sampled(sets, kept, sample, seed)
    is_kept = np.isin(rows, kept)
    equal = bool((are_minimal(column, rows) == is_kept).all())
    return MinimalResult(sets, len(column.values), len(kept), seconds, megabytes, len(rows), equal)


def _sampled(sets: int, kept: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Return rows to check: one half of those that are kept, the other of all."""
    rng = np.random.default_rng(seed)
    half = rng.choice(kept, min(len(kept), count // 2), replace=False)
    return np.unique(np.append(half, rng.integers(sets, size=count - count // 2)))


def are_minimal(sets: pa.ListArray, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for some rows whether no other set is within theirs, nor an equal one before it; none is empty.

    sets: a list of ints from 0 on.
    """
    tags, offsets = sets.values.to_numpy(), sets.offsets.to_numpy().astype(np.int64)
    found = [_together(tags, offsets, rows[start : start + _AT_ONCE]) for start in range(0, len(rows), _AT_ONCE)]
    return np.concatenate(found) if found else np.zeros(0, bool)


def _together(tags: NDArray[np.int32], offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the same for at most 64 rows: a bit of a word says of a tag, and then of a set, that the row has it."""
    bits = np.zeros(int(tags.max()) + 1, np.uint64)
    for place, row in enumerate(rows.tolist()):
        bits[tags[offsets[row] : offsets[row + 1]]] |= np.uint64(1 << place)
    lengths = np.diff(offsets)
    answer = np.ones(len(rows), bool)
    for start in range(0, len(lengths), _ROWS):
        edges = offsets[start : start + _ROWS + 1]
        within = np.bitwise_and.reduceat(bits[tags[edges[0] : edges[-1]]], edges[:-1] - edges[0])
        hits = np.flatnonzero(within)
        for place, row in enumerate(rows.tolist()):
            inside = start + hits[within[hits] >> np.uint64(place) & np.uint64(1) > 0]
            answer[place] &= not np.any((lengths[inside] < lengths[row]) | (inside < row))  # of one length: equal
    return answer
