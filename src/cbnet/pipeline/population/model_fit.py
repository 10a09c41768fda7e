"""Comparison of generated sets with the trace of their model, at the trace's size.

Measures: tags per set, slope of the popularity, share of distinct sets, share of minimal sets. Curves: sets of each
size, and the vocabulary of the first sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.matching.minimal_sets import minimal
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.synthetic_sets import synthetic_rows
from cbnet.pipeline.population.tag_model import TagModel, distinct_share

_RANKS = 1000  # of the most popular tags, for the slope: counts of others are ones and twos


@dataclass(frozen=True)
class SetMeasures:
    """Statistics of a collection of sets."""

    tags_per_set: float
    slope: float  # of log(count) over log(rank), with the sign of Zipf's exponent
    distinct: float  # share of distinct sets
    kept: float  # share of minimal sets


def measure(sets: TagSets) -> SetMeasures:
    """Measure sets of at least two different tags."""
    return SetMeasures(
        float(sets.sizes.mean()),
        _slope(sets),
        distinct_share(sets),
        len(minimal(sets.to_arrow())) / len(sets),
    )


def compare(model: TagModel, seed: int = 1) -> dict[str, Any]:
    """Return the measures and curves of a trace, each beside that of as many generated sets: rows of JSON objects."""
    trace, synthetic = model.sets, synthetic_rows(model, seed, np.arange(len(model.sets)))
    measures = zip(fields(SetMeasures), astuple(measure(trace)), astuple(measure(synthetic)), strict=True)
    sizes = zip(*_equally_long(np.bincount(trace.sizes), np.bincount(synthetic.sizes)), strict=True)
    counts = _prefixes(len(trace))
    vocabulary = zip(counts, tags_of_first(trace, counts), tags_of_first(synthetic, counts), strict=True)
    return {
        "sets": len(trace),
        "measures": [
            {"measure": field.name, "trace": ours, "synthetic": theirs, "difference": theirs / ours - 1}
            for field, ours, theirs in measures
        ],
        "sizes": [
            {"size": size, "trace": int(ours), "synthetic": int(theirs)}
            for size, (ours, theirs) in enumerate(sizes)
            if ours or theirs
        ],
        "vocabulary": [{"sets": count, "trace": ours, "synthetic": theirs} for count, ours, theirs in vocabulary],
    }


def tags_of_first(sets: TagSets, counts: Sequence[int]) -> list[int]:
    """Return the number of different tags in the first sets, for each number of sets."""
    first_places = np.sort(np.unique(sets.tags, return_index=True)[1])
    found: list[int] = np.searchsorted(first_places, sets.offsets[list(counts)]).tolist()
    return found


def _prefixes(count: int) -> list[int]:
    """Return the powers of two below a number, and the number."""
    return [*(1 << power for power in range(max(0, count - 1).bit_length())), count]


def _equally_long(*arrays: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    length = max(map(len, arrays))
    return [np.pad(each, (0, length - len(each))) for each in arrays]


def _slope(sets: TagSets) -> float:
    counts = np.unique(sets.tags, return_counts=True)[1]  # unseen tags have numbers up to 2**31
    counts = np.sort(counts)[::-1][:_RANKS]
    return -float(np.polyfit(np.log(np.arange(1, len(counts) + 1)), np.log(counts), 1)[0])
