"""The benchmark of minimal sets: time to find the sets that contain no other.

A sample of the answer is checked by an independent method: every set is tested as a subset of every
set of the sample.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.matching.minimal_sets import minimal
from cbnet_lab.bench.plans import MinimalPlan, Report
from cbnet_lab.bench.result_table import HIDDEN, ResultTable, percent
from cbnet_lab.bench.timing import stopwatch
from cbnet_lab.workload.tag_traffic import tag_sets

_WORD_BITS = 64  # sets of the sample tested together, one per bit
_ROWS = 2_000_000  # sets tested together


@dataclass(frozen=True)
class MinimalResult:
    """Measurements and the outcome of the check."""

    sets: int
    tags: int  # in all sets
    kept: int
    seconds: float
    megabytes: int  # peak memory of the process, including the sets
    checked: int  # sets
    equal: bool
    problem: str | None = field(default=None, metadata=HIDDEN)


def run(plan: MinimalPlan, report: Report) -> Iterator[MinimalResult]:
    """Find the minimal sets among generated ones, and check a sample of the answer."""
    report("generating sets")
    column = tag_sets(plan.sets, tags=plan.tags, seed=plan.seed)
    report("finding the minimal sets")
    with stopwatch() as seconds:
        kept = minimal(column)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report("checking a sample")
    rng = np.random.default_rng(plan.seed)
    half = rng.choice(kept, min(len(kept), plan.sample // 2), replace=False)  # the others from all sets
    rows = np.unique(np.append(half, rng.integers(plan.sets, size=plan.sample - plan.sample // 2)))
    equal = bool((are_minimal(column, rows) == np.isin(rows, kept)).all())
    problem = None if equal else "sets of the sample; please report this"
    yield MinimalResult(
        plan.sets, len(column.values), len(kept), seconds(), megabytes, len(rows), equal, problem
    )  # fmt: skip


def tables(_plan: MinimalPlan, rows: Sequence[MinimalResult]) -> Iterator[ResultTable[MinimalResult]]:
    """Yield the measurements."""
    yield ResultTable("Minimal sets", rows, {
        "sets": "sets",
        "tags of a set": lambda row: row.tags / row.sets,
        "minimal": "kept",
        "share": lambda row: percent(row.kept / row.sets),
        "seconds": "seconds",
        "µs per set": lambda row: row.seconds / row.sets * 1e6,
        "MB at the peak, including the sets": "megabytes",
        "sets checked": "checked",
        "right": "equal",
    }, is_list=True)  # fmt: skip


def are_minimal(sets: pa.ListArray, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each row whether its set contains no other set, nor equals an earlier one; no set is empty.

    sets: a list of ints from 0 on.
    """
    tags, offsets = sets.values.to_numpy(), sets.offsets.to_numpy().astype(np.int64)
    found = [_check_word(tags, offsets, rows[start : start + _WORD_BITS]) for start in range(0, len(rows), _WORD_BITS)]
    return np.concatenate(found) if found else np.zeros(0, bool)


def _check_word(tags: NDArray[np.int32], offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the same for at most 64 rows: bit i of a tag's, or a set's, word is set if row i contains it."""
    bits = np.zeros(int(tags.max()) + 1, np.uint64)
    for bit, row in enumerate(rows.tolist()):
        bits[tags[offsets[row] : offsets[row + 1]]] |= np.uint64(1 << bit)
    lengths = np.diff(offsets)
    answer = np.ones(len(rows), bool)
    for start in range(0, len(lengths), _ROWS):
        edges = offsets[start : start + _ROWS + 1]
        within = np.bitwise_and.reduceat(bits[tags[edges[0] : edges[-1]]], edges[:-1] - edges[0])
        hits = np.flatnonzero(within)
        for bit, row in enumerate(rows.tolist()):
            inside = start + hits[within[hits] >> np.uint64(bit) & np.uint64(1) > 0]
            answer[bit] &= not np.any((lengths[inside] < lengths[row]) | (inside < row))  # equal, if of the same length
    return answer
