"""Comparison of generated users with those of a trace, at the trace's size.

Users are generated with the numbers of sets and the shares of one-tag sets of the users of the trace; only the tags are
the model's. Measures: tags per set and user, vocabulary, sets that are distinct, minimal within their user, minimal
among all. Curves: sets of each size, the vocabulary of the first users, the tags of a user by the number assigned.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.matching.minimal_sets import first_equal, minimal, minimal_masks
from cbnet.matching.storage.tag_sets import Numbers, TagSets
from cbnet.pipeline.population.user_model import UserModel
from cbnet.pipeline.population.user_sets import like_trace
from cbnet.pipeline.population.user_trace import UserTrace


@dataclass(frozen=True)
class TraceMeasures:
    """Statistics of the sets of users."""

    tags_per_set: float
    tags_per_user: float  # different ones
    vocabulary: int  # different tags of all users
    distinct: float  # share of distinct sets
    kept_by_user: float  # share of sets that are minimal among those of their user
    kept: float  # share of sets that are minimal among all
    kept_per_tag: float  # minimal sets over the vocabulary


def measure(trace: UserTrace) -> TraceMeasures:
    """Measure the sets of users."""
    sets = trace.sets
    kept = len(minimal(sets.to_arrow()))
    return TraceMeasures(
        float(sets.sizes.mean()),
        float(trace.tag_counts.mean()),
        trace.vocabulary,
        np.count_nonzero(first_equal(sets) == np.arange(len(sets))) / len(sets),
        float(minimal_of_groups(trace.users, sets).mean()),
        kept / len(sets),
        kept / trace.vocabulary,
    )


def minimal_of_groups(groups: Numbers, sets: TagSets) -> NDArray[np.bool_]:
    """Return whether each set is minimal among those of its group, the first of equal ones: bool[n]."""
    kept: NDArray[np.bool_] = minimal_masks(groups.astype(np.int32), sets, np.ones(len(sets), dtype=np.uint64)) > 0
    return kept


def compare(model: UserModel, trace: UserTrace, seed: int = 1) -> dict[str, Any]:
    """Return the measures and curves of a trace, each beside that of as many generated users: JSON objects."""
    made = like_trace(model, trace, seed)
    measures = zip(fields(TraceMeasures), astuple(measure(trace)), astuple(measure(made)), strict=True)
    sizes = zip(*_equally_long(np.bincount(trace.sets.sizes), np.bincount(made.sets.sizes)), strict=True)
    curves = zip(trace.curve.users.tolist(), trace.curve.tags.tolist(), made.curve.tags.tolist(), strict=True)
    return {
        "users": len(trace),
        "sets": len(trace.sets),
        "measures": [
            {"measure": field.name, "trace": ours, "synthetic": theirs, "difference": theirs / ours - 1}
            for field, ours, theirs in measures
        ],
        "sizes": [
            {"size": size, "trace": int(ours), "synthetic": int(theirs)}
            for size, (ours, theirs) in enumerate(sizes)
            if ours or theirs
        ],
        "vocabulary": [{"users": users, "trace": ours, "synthetic": theirs} for users, ours, theirs in curves],
        "user_tags": _user_tags(trace, made),
    }


def _user_tags(trace: UserTrace, made: UserTrace) -> list[dict[str, Any]]:
    """Return the mean number of different tags of users, by the number of tags that they assigned, in octaves."""
    octaves = [np.floor(np.log2(each.assigned)).astype(np.int64) for each in (trace, made)]
    rows = []
    for octave in range(max(int(each.max()) for each in octaves) + 1):
        means = [
            float(each.tag_counts[of == octave].mean()) if (of == octave).any() else 0.0
            for each, of in zip((trace, made), octaves, strict=True)
        ]
        if any(means):
            rows.append({"assigned": 2**octave, "trace": means[0], "synthetic": means[1]})
    return rows


def _equally_long(*arrays: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    length = max(map(len, arrays))
    return [np.pad(each, (0, length - len(each))) for each in arrays]
