"""False positives of Bloom tables, predicted and measured.

Grouped by the number of tags in the message: for one descriptor, and for all descriptors of the table as
one predicate, which is a false positive if any of them is [2014 §4.2.3].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cbnet._kernels.message_encoding import Batch
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.bloom_table import false_positive
from cbnet.matching.storage.columns import Array

_SAMPLE = 5  # messages per number of tags for which the prediction reads all descriptors


@dataclass(frozen=True)
class FalsePositives:
    """Predicted and measured rates for the messages with one number of tags."""

    tags: int  # known to the table
    messages: int
    predicted_per_descriptor: float
    measured_per_descriptor: float
    predicted_per_predicate: float
    measured_per_predicate: float


def false_positives(
    bloom: CompiledTable, exact: CompiledTable, batch: Batch, messages: list[Array]
) -> list[FalsePositives]:
    """Compare a Bloom table with an exact one of the same filters.

    batch: the encoded messages. messages: the same messages as arrays of known tag numbers.
    """
    right = exact.index.count_descriptors(batch)
    wrong = bloom.index.count_descriptors(batch) - right
    others = len(bloom.arrays["bloom_owners"]) - right
    sizes = np.array([len(tags) for tags in messages])
    found = []
    for size in np.unique(sizes).tolist():
        indexes = np.flatnonzero(sizes == size)
        predicted = np.mean([_predicted(bloom, messages[index]) for index in indexes[:_SAMPLE].tolist()], axis=0)
        measured = wrong[indexes].sum() / max(1, others[indexes].sum()), (wrong[indexes] > 0).mean()
        rates = [float(rate) for pair in zip(predicted, measured, strict=True) for rate in pair]
        found.append(FalsePositives(size, len(indexes), *rates))
    return found


def _predicted(bloom: CompiledTable, message: Array) -> tuple[float, float]:
    """Return the probability that one absent descriptor, and that any absent descriptor, is reported as present."""
    tags, offsets = bloom.arrays["aside_tags"], bloom.arrays["aside_offsets"].astype(np.int64)
    absent = np.ones(len(bloom.arrays["symbol_offsets"]) - 1, bool)
    absent[message] = False
    absent = absent[tags]
    missing = np.add.reduceat(absent, offsets[:-1], dtype=np.int64)
    counts = np.bincount(missing, minlength=2)
    chances = np.array([false_positive(bloom.index.hashes, len(message), count) for count in range(1, len(counts))])
    # Descriptors that differ from the message in the same single tag fail together: the predicate counts them once.
    alone = np.repeat(missing == 1, np.diff(offsets)) & absent
    distinct = np.append(len(np.unique(tags[alone])), counts[2:])
    lacked = counts[1:].sum()
    return counts[1:] @ chances / max(1, lacked), -np.expm1(distinct @ np.log1p(-chances))
