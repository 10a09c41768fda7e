"""Arrow columns of lists, changed without a Python object per element.

A column of lists is the concatenation of its elements, and a length for each row:

    [["b", "a"], [], ["c"]]     elements  b a c     lengths  2 0 1
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.matching.minimal_sets import list_array

Numbers: TypeAlias = NDArray[np.int64]


def lengths_of(lists: pa.Array) -> Numbers:
    """Return the length of each list, 0 for null."""
    return np.asarray(lists.value_lengths().fill_null(0)).astype(np.int64)


def from_lengths(elements: pa.Array, lengths: Numbers) -> pa.Array:
    """Split elements into lists of these lengths."""
    return list_array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), elements)


def rows_of(lengths: Numbers) -> Numbers:
    """Return the row of each element."""
    return np.repeat(np.arange(len(lengths)), lengths)


def _lengths_by_row(rows: Numbers, count: int) -> Numbers:
    """Return the number of elements in each of `count` rows."""
    return np.bincount(rows, minlength=count).astype(np.int64)


def filter_elements(lists: pa.Array, keep: NDArray[np.bool_]) -> pa.Array:
    """Return the lists with only some of their elements: keep: bool[elements]."""
    lengths = lengths_of(lists)
    kept = _lengths_by_row(rows_of(lengths)[keep], len(lengths))
    return from_lengths(lists.flatten().filter(pa.array(keep)), kept)


def sorted_sets(elements: pa.Array, rows: Numbers, count: int) -> pa.Array:
    """Return `count` lists: the distinct elements of each row, sorted by code point, without nulls."""
    return sets_with_counts(elements, rows, np.ones(len(rows), dtype=np.int64), count)[0]


def sets_with_counts(elements: pa.Array, rows: Numbers, weights: Numbers, count: int) -> tuple[pa.Array, pa.Array]:
    """Return the lists of `sorted_sets`, and lists of the total weight of each element in its row."""
    coded = elements.dictionary_encode()
    words = coded.dictionary.to_pylist()
    order = sorted(range(len(words)), key=words.__getitem__)
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[order] = np.arange(len(words))
    valid = np.asarray(coded.is_valid())
    valid_ranks = ranks[np.asarray(coded.indices.drop_null())]
    # Row and rank as one number: sorted, these are the lists in order.
    size = max(len(words), 1)
    pairs, indexes = np.unique(rows[valid] * size + valid_ranks, return_inverse=True)
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, indexes, weights[valid])
    kept_rows, kept_ranks = np.divmod(pairs, size)
    lengths = _lengths_by_row(kept_rows, count)
    by_rank = pa.array([words[index] for index in order], elements.type)
    return from_lengths(by_rank.take(pa.array(kept_ranks)), lengths), from_lengths(pa.array(sums), lengths)
