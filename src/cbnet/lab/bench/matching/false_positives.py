"""False positives: how often does a Bloom table take a descriptor for one that the message has?

By the number of tags of the message, predicted and measured: of one descriptor, and of all descriptors
of the table as one predicate, which is mistaken if any of them is [2014 §4.2.3].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cbnet.matching.engines.bloom_table import false_positive

if TYPE_CHECKING:
    from cbnet._kernels.message_encoding import Batch
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.storage.columns import Array

_SAMPLE = 5  # messages of each number of tags for which all descriptors are looked at to predict


@dataclass(frozen=True)
class FalsePositives:
    """What is predicted and what was measured for the messages of one number of tags."""

    tags: int  # of those that the table knows
    messages: int
    predicted_per_descriptor: float
    measured_per_descriptor: float
    predicted_per_predicate: float
    measured_per_predicate: float


def false_positives(bloom: Compiled, exact: Compiled, batch: Batch, messages: list[Array]) -> list[FalsePositives]:
    """Compare a Bloom table with an exact one of the same filters.

    batch: the messages, encoded. messages: the same, each as the numbers of the tags that the tables know.
    """
    right = exact.index.count_descriptors(batch)
    wrong = bloom.index.count_descriptors(batch) - right
    others = len(bloom.arrays["bloom_owners"]) - right
    sizes = np.array([len(tags) for tags in messages])
    found = []
    for size in np.unique(sizes).tolist():
        places = np.flatnonzero(sizes == size)
        predicted = np.mean([_predicted(bloom, messages[place]) for place in places[:_SAMPLE].tolist()], axis=0)
        measured = wrong[places].sum() / max(1, others[places].sum()), (wrong[places] > 0).mean()
        rates = [float(rate) for pair in zip(predicted, measured, strict=True) for rate in pair]
        found.append(FalsePositives(size, len(places), *rates))
    return found


def _predicted(bloom: Compiled, message: Array) -> tuple[float, float]:
    """Return how likely one of the descriptors that a message lacks is taken for one that it has, and any of them."""
    tags, offsets = bloom.arrays["aside_tags"], bloom.arrays["aside_offsets"].astype(np.int64)
    absent = np.ones(len(bloom.arrays["symbol_offsets"]) - 1, bool)
    absent[message] = False
    absent = absent[tags]
    missing = np.add.reduceat(absent, offsets[:-1], dtype=np.int64)
    counts = np.bincount(missing, minlength=2)
    chances = np.array([false_positive(bloom.index.hashes, len(message), count) for count in range(1, len(counts))])
    # Descriptors that lack the same one tag are mistaken together: for the predicate they count once.
    alone = np.repeat(missing == 1, np.diff(offsets)) & absent
    distinct = np.append(len(np.unique(tags[alone])), counts[2:])
    lacked = counts[1:].sum()
    return counts[1:] @ chances / max(1, lacked), -np.expm1(distinct @ np.log1p(-chances))
