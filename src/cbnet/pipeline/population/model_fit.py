"""Comparison of generated sets with the trace of their model, at the trace's size.

Measures: tags per set, slope of the popularity, share of distinct sets, share of minimal sets.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

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


def compare(model: TagModel, seed: int = 1) -> list[dict[str, str | float]]:
    """Return a row for each measure: of the trace, of as many generated sets, and the relative difference."""
    trace = measure(model.sets)
    synthetic = measure(synthetic_rows(model, seed, np.arange(len(model.sets))))
    rows: list[dict[str, str | float]] = []
    for field in fields(SetMeasures):
        expected, actual = getattr(trace, field.name), getattr(synthetic, field.name)
        difference = actual / expected - 1
        rows.append({"measure": field.name, "trace": expected, "synthetic": actual, "difference": difference})
    return rows


def _slope(sets: TagSets) -> float:
    counts = np.unique(sets.tags, return_counts=True)[1]  # unseen tags have numbers up to 2**31
    counts = np.sort(counts)[::-1][:_RANKS]
    return -float(np.polyfit(np.log(np.arange(1, len(counts) + 1)), np.log(counts), 1)[0])
