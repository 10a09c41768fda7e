"""Tag traffic: random descriptors and tagged messages.

Not from the papers, whose traces are not public: tags follow Zipf's law, as in such traces, and are
distinct within a set. numpy draws whole arrays: there is no Python object per tag.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet_lab.workload import checks
from cbnet_lab.workload.distributions import Draw, Ranks, Weights, weighted, zipf_weights
from cbnet_lab.workload.filter_table import coded, completed
from cbnet_lab.workload.scenario import fixed_spread

_STREAMS = {"descriptors": 0, "messages": 1, "sets": 2}
# The share of each size, 1 to 10, is this ratio times that of the previous size, so the mean is 3.2: [2014 Table 1]
# has 276,501,173 tags in 85,504,514 descriptors, 3.23 in each.
_MAX_SIZE, _RATIO = 10, 0.72245


@dataclass(frozen=True)
class TagTraffic:
    """Descriptors and messages over the same tags."""

    descriptors: int
    interfaces: int | None = None  # None: each descriptor has its own
    messages: int = 1000
    tags: int = 100_000
    zipf: float = 1.0
    in_descriptor: tuple[int, int] = (1, 6)  # tags, both ends included, equally likely
    in_message: tuple[int, int] = (4, 15)
    seed: int = 0

    def __post_init__(self) -> None:
        checks.check_at_least(0, seed=self.seed)
        checks.check_at_least(1, descriptors=self.descriptors, messages=self.messages, tags=self.tags)
        checks.check_at_least(1, in_descriptor=self.in_descriptor[0], in_message=self.in_message[0])
        checks.check_zipf(self.zipf)
        for name, (least, most) in (("in_descriptor", self.in_descriptor), ("in_message", self.in_message)):
            checks.check_sizes(f"{name} = {least, most}", range(least, most + 1))
            checks.check_names(name, range(least, most + 1), self.tags)
        fixed_spread(self.descriptors, self.interfaces)  # checks both

    def filters(self) -> pa.Table:
        """Return the descriptors as filters, in the form of `filter_table`."""
        rng = np.random.default_rng([self.seed, _STREAMS["descriptors"]])
        spread = fixed_spread(self.descriptors, self.interfaces)(rng)
        interface = np.repeat(np.arange(len(spread)), spread)
        offsets, tags = self._sets(rng, self.descriptors, self.in_descriptor)
        filter = np.repeat(np.arange(self.descriptors), np.diff(offsets))
        columns = {
            "rule": pa.array(interface[filter]),
            "filter": pa.array(filter),
            "name": pa.DictionaryArray.from_arrays(pa.array(tags), self._names()),
            "op": coded(np.zeros(len(tags), np.int8), ["#"]),
        }
        return completed(columns)

    def message_batch(self) -> pa.RecordBatch:
        """Return the messages: a column "#" of lists of tags."""
        rng = np.random.default_rng([self.seed, _STREAMS["messages"]])
        offsets, tags = self._sets(rng, self.messages, self.in_message)
        texts = self._names().take(pa.array(tags))
        return pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(offsets.astype(np.int32), texts)], ["#"])

    def _sets(self, rng: Generator, count: int, sizes: tuple[int, int]) -> tuple[NDArray[np.int64], Ranks]:
        drawn = rng.integers(sizes[0], sizes[1] + 1, size=count)
        return distinct_tags(rng, zipf_weights(self.tags, self.zipf), drawn)

    def _names(self) -> pa.Array:
        return pa.array([f"t{rank}" for rank in range(self.tags)])


def tag_sets(count: int, *, tags: int = 1_000_000, seed: int = 0) -> pa.ListArray:
    """Return many sets of 1 to 10 tags, 3.2 on average; tags are ints, the likeliest is 0."""
    checks.check_at_least(0, seed=seed)
    checks.check_at_least(1, sets=count)
    checks.check_at_least(_MAX_SIZE, tags=tags)
    rng = np.random.default_rng([seed, _STREAMS["sets"]])
    sizes = weighted(np.power(_RATIO, np.arange(_MAX_SIZE, dtype=np.float64)))(rng, count) + 1
    offsets, drawn = distinct_tags(rng, zipf_weights(tags, 1.0), sizes.astype(np.int64))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(drawn))


def distinct_tags(rng: Generator, weights: Weights, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ranks]:
    """Return the offsets of the sets, and sizes[i] distinct ranks for each i, one set after the other.

    A set is the first distinct ranks of a stream drawn by weight: repeated ranks are drawn again until
    all differ. Suits many ranks and small sets; `distributions.distinct` suits few ranks.
    """
    draw = weighted(weights)
    offsets = np.append(0, np.cumsum(sizes, dtype=np.int64))
    ranks = np.empty(offsets[-1], np.int32)
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        ranks[offsets[rows][:, None] + np.arange(size)] = _distinct_rows(rng, draw, len(rows), size)
    return offsets, ranks


def _distinct_rows(rng: Generator, draw: Draw, count: int, size: int) -> Ranks:
    """Return rows of distinct ranks, each in random order: int32[count, size]."""
    rows = np.sort(draw(rng, count * size).reshape(count, size), axis=1)
    wrong, part = np.arange(count), rows
    while True:
        repeated = np.zeros(part.shape, bool)
        repeated[:, 1:] = part[:, 1:] == part[:, :-1]
        is_wrong = repeated.any(axis=1)
        wrong, part, repeated = wrong[is_wrong], part[is_wrong], repeated[is_wrong]
        if not len(wrong):
            return rng.permuted(rows, axis=1)
        part[repeated] = draw(rng, int(np.count_nonzero(repeated)))
        part.sort(axis=1)
        rows[wrong] = part
