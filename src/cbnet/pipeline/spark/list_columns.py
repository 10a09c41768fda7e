"""Lists: how are columns of lists changed without an object per element?

A column of lists is its elements, one after the other, and a length for each row:

    [["b", "a"], [], ["c"]]     elements  b a c     lengths  2 0 1
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]


def lengths_of(lists: pa.Array) -> Numbers:
    """Return the length of each list; that of a null is 0."""
    return np.asarray(lists.value_lengths().fill_null(0)).astype(np.int64)


def from_lengths(elements: pa.Array, lengths: Numbers) -> pa.Array:
    """Return the lists of these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), elements)


def rows_of(lengths: Numbers) -> Numbers:
    """Return the row of each element."""
    return np.repeat(np.arange(len(lengths)), lengths)


def counted_in(rows: Numbers, count: int) -> Numbers:
    """Return how many of `rows` are 0, 1 … count - 1: the lengths of the lists that these elements make."""
    return np.bincount(rows, minlength=count).astype(np.int64)


def only(lists: pa.Array, keep: NDArray[np.bool_]) -> pa.Array:
    """Return the lists with those of their elements that `keep`, which has a place for each, says."""
    lengths = lengths_of(lists)
    kept = counted_in(rows_of(lengths)[keep], len(lengths))
    return from_lengths(lists.flatten().filter(pa.array(keep)), kept)


def sorted_sets(elements: pa.Array, rows: Numbers, count: int) -> pa.Array:
    """Return `count` lists: of each row its different elements, sorted by code point; nulls are left out."""
    return counted_sets(elements, rows, np.ones(len(rows), dtype=np.int64), count)[0]


def counted_sets(elements: pa.Array, rows: Numbers, weights: Numbers, count: int) -> tuple[pa.Array, pa.Array]:
    """Return such lists, and lists of the sums of the weights that each element has in its row."""
    coded = elements.dictionary_encode()
    words = coded.dictionary.to_pylist()
    order = sorted(range(len(words)), key=words.__getitem__)
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[order] = np.arange(len(words))
    there = np.asarray(coded.is_valid())
    of_each = ranks[np.asarray(coded.indices.drop_null())]
    # One number for a row and the rank of an element: sorted, they are the lists one after the other.
    size = max(len(words), 1)
    pairs, places = np.unique(rows[there] * size + of_each, return_inverse=True)
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, places, weights[there])
    kept_rows, kept_ranks = np.divmod(pairs, size)
    lengths = counted_in(kept_rows, count)
    by_rank = pa.array([words[place] for place in order], elements.type)
    return from_lengths(by_rank.take(pa.array(kept_ranks)), lengths), from_lengths(pa.array(sums), lengths)
