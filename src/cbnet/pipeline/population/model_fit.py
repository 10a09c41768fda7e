"""Model fit: do the sets that a model makes look like those of its trace?

Compared at the trace's own size: tags per set, popularity slope, share of distinct sets, and the share of sets
that is kept when those that hold another are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from cbnet.matching.minimal_sets import minimal
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model import Model, distinct_share
from cbnet.pipeline.population.synthetic_sets import synthetic_rows

_RANKS = 1000  # the slope is that of the most popular tags: behind them, counts are ones and twos


@dataclass(frozen=True)
class Look:
    """How a collection of sets looks."""

    tags_per_set: float
    slope: float  # of popularity: of log(count) over log(rank), with the sign of Zipf's exponent
    distinct: float  # sets, over all
    kept: float  # sets that hold no other, over all


def look(sets: TagSets) -> Look:
    """Return how sets look; at least two tags must occur."""
    return Look(
        float(sets.sizes.mean()),
        _slope(sets),
        distinct_share(sets),
        len(minimal(sets.to_arrow())) / len(sets),
    )


def compare(model: Model, seed: int = 1) -> list[dict[str, str | float]]:
    """Return a row for each measure: of the trace, of as many synthetic sets, and the relative difference."""
    trace = look(model.sets)
    made = look(synthetic_rows(model, seed, np.arange(len(model.sets))))
    rows: list[dict[str, str | float]] = []
    for field in fields(Look):
        had, got = getattr(trace, field.name), getattr(made, field.name)
        rows.append({"measure": field.name, "trace": had, "synthetic": got, "difference": got / had - 1})
    return rows


def _slope(sets: TagSets) -> float:
    counts = np.unique(sets.tags, return_counts=True)[1]  # unseen tags have numbers up to 2**31
    counts = np.sort(counts)[::-1][:_RANKS]
    return -float(np.polyfit(np.log(np.arange(1, len(counts) + 1)), np.log(counts), 1)[0])
