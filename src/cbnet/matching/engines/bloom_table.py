"""The Bloom table of [2014 §3.2.3]: a descriptor is 400 bits, and matches a message that has all its bits set.

There are no false negatives. A false positive occurs if all bits of a missing tag are set by other tags;
`false_positive` returns its probability. The bits are drawn in `_kernels/tag_bloom.pyx`. The descriptors
themselves are kept aside (`aside_…`), to be read back; the paper's router would not have them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from cbnet._kernels import tag_bloom
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.engines.tag_table import (
    TableDescriptors,
    always_targets,
    descriptor_filters,
    distinct_descriptors,
    packed_unions,
)
from cbnet.matching.storage.columns import Array, Columns, constant_arrays, offsets_of

BITS = 400
_WORDS = 6
_MAX_HASHES = 64
# With more tags in a message, no number of hashes keeps a false positive below one in 10^9, the
# paper's claim: with 9 and 31 hashes it is 7.7e-10, with 10 and 28 hashes 6.1e-9.
_DEFAULT_TAGS = 9


def build(
    columns: Columns,
    report: Callable[[str], None] = lambda _: None,
    sample: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Array]:
    """Return the arrays of a Bloom table over filters that have tags only; `sample` are typical messages."""
    report("finding equal descriptors")
    distinct = distinct_descriptors(columns)
    report("filling a Bloom filter for each descriptor")
    hashes = best_hashes(len(set(members.get(RESERVED_NAME, ()))) for members in sample)
    words, tails = np.empty(_WORDS * len(distinct), np.uint64), np.empty(len(distinct), np.uint16)
    texts = columns.symbols
    tag_bloom.fill_filters(texts.data, texts.offsets, distinct.tags, distinct.offsets, hashes, words, tails)
    leading = np.empty(len(distinct), np.uint16)
    tag_bloom.leading_bits(words, tails, leading)
    order = np.argsort(leading, kind="stable")
    return {
        "bloom_words": words.reshape(_WORDS, -1)[:, order].ravel(), "bloom_tails": tails[order],
        "bloom_owners": distinct.owners[order],
        "bloom_leading": offsets_of(np.bincount(leading, minlength=BITS), np.uint32),
        "bloom_hashes": np.array([hashes], np.uint32),
        **distinct.groups, **packed_unions([distinct.always]), **constant_arrays(columns),
        "aside_tags": distinct.tags, "aside_offsets": distinct.offsets.astype(np.uint32),
        "aside_owners": distinct.owners,
    }  # fmt: skip


def filters_of(arrays: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters of a table: the inverse of `build`."""
    groups = {name: arrays[name] for name in ("group_offsets", "group_targets")}
    offsets = arrays["aside_offsets"].astype(np.int64)
    distinct = TableDescriptors(arrays["aside_tags"], offsets, arrays["aside_owners"], groups, always_targets(arrays))
    return descriptor_filters(distinct)


def best_hashes(tags: Iterable[int]) -> int:
    """Return the number of hashes with the fewest false positives, for messages of these numbers of tags."""
    sizes = Counter(count for count in tags if count)
    if not sizes:
        sizes[_DEFAULT_TAGS] = 1

    def expected(hashes: int) -> float:
        shares = ((times, -math.expm1(hashes * tags * math.log1p(-1 / BITS))) for tags, times in sizes.items())
        return sum(times * share**hashes for times, share in shares)

    return min(range(1, _MAX_HASHES + 1), key=expected)


def false_positive(hashes: int, tags: int, missing: int = 1) -> float:
    """Return the probability that a message of `tags` tags seems to have `missing` further tags.

    Exact for independent hashes: the bits of the missing tags are `missing` · `hashes` draws, each of which
    must hit one of the bits set by `tags` · `hashes` draws.
    """
    chances = _occupancy(hashes * tags)
    return float(chances @ (np.arange(BITS + 1) / BITS) ** (hashes * missing))


@cache
def _occupancy(draws: int) -> Array:
    """Return the probabilities that a number of draws sets 0, 1, … all bits: float64[BITS + 1]."""
    chances = np.zeros(BITS + 1)
    chances[0] = 1.0
    share = np.arange(BITS + 1) / BITS
    for _ in range(draws):  # a draw hits a set bit, or sets one more
        stays, grows = chances * share, chances * (1 - share)
        chances = stays
        chances[1:] += grows[:-1]
    return chances
