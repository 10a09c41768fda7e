"""The selectivity table: interfaces that a message cannot match, by the names that it lacks [2002 §4.3].

A name or tag is a *determinant* of an interface if every filter of the interface has a constraint on it:
a message without it cannot go there. The table has a row per determinant with all its interfaces;
rows with most interfaces come first, and pre-processing uses a fixed number of rows.

    determinants   price │ stock │ …                  uint32[rows], symbols
    dense          0b101 │                            uint64[dense rows × words], a bit per interface
    offsets                0   1 …                    of the other rows, uint32[other rows + 1]
    sparse                 I3 │ …                     uint32, their interfaces, in order
    silent         …1110000                           uint64[words]: interfaces without any filter,
                                                      and the bits after the last interface

A row is dense if its bits take at most four times the space of a list: 64 of them are combined at a time,
and with an interface per filter the first ten rows contain millions of interfaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from cbnet.matching.storage.codes import SYMBOL_SHIFT

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array, Columns

_SYMBOL_BITS = 64 - SYMBOL_SHIFT
_WORDS_PER_INTERFACE = 2  # of a dense row, at most


def build(columns: Columns) -> dict[str, Array]:
    """Return the selectivity table of some filters."""
    total = len(columns.interfaces)
    words = (total >> 6) + 1
    filters_of_target = np.bincount(columns.targets, minlength=total)
    symbols, targets = _pairs(columns, filters_of_target)
    sizes = np.bincount(symbols)
    rows = np.lexsort((np.arange(len(sizes)), -sizes))[: np.count_nonzero(sizes)]
    rank = np.zeros(len(sizes), np.int64)
    rank[rows] = np.arange(len(rows))
    dense_rows = int(np.count_nonzero(_WORDS_PER_INTERFACE * sizes[rows] >= words))
    is_dense = rank[symbols] < dense_rows
    dense = np.zeros(dense_rows * words, np.uint64)
    bits = np.uint64(1) << (targets[is_dense] & 63).astype(np.uint64)
    np.add.at(dense, rank[symbols[is_dense]] * words + (targets[is_dense] >> 6), bits)
    sparse = targets[~is_dense][np.argsort(rank[symbols[~is_dense]], kind="stable")]
    offsets = np.zeros(len(rows) - dense_rows + 1, np.uint32)
    np.cumsum(sizes[rows[dense_rows:]], out=offsets[1:])
    return {
        "silent": _bits(np.append(filters_of_target == 0, np.ones(words * 64 - total, bool))),
        "determinants": rows.astype(np.uint32),
        "dense": dense,
        "sparse_offsets": offsets,
        "sparse": sparse.astype(np.uint32),
    }


def _pairs(columns: Columns, filters_of_target: Array) -> tuple[Array, Array]:
    """Return determinants and their interfaces, by interface: the names common to all its filters."""
    lengths = np.diff(columns.offsets)
    symbols = columns.words >> np.uint64(SYMBOL_SHIFT)
    is_new = np.diff(symbols, prepend=~symbols[:1]) != 0
    is_new[columns.offsets[:-1][lengths > 0]] = True  # a filter with two constraints on a name counts once
    targets = np.repeat(columns.targets, lengths)[is_new].astype(np.uint64)
    pairs, counts = np.unique(targets << np.uint64(_SYMBOL_BITS) | symbols[is_new], return_counts=True)
    targets = (pairs >> np.uint64(_SYMBOL_BITS)).astype(np.int64)
    kept = counts == filters_of_target[targets]
    return (pairs[kept] & np.uint64((1 << _SYMBOL_BITS) - 1)).astype(np.int64), targets[kept]


def _bits(flags: Array) -> Array:
    return np.packbits(flags, bitorder="little").view(np.uint64)


def rows(arrays: Mapping[str, Array]) -> Iterator[tuple[int, Array]]:
    """Yield each determinant with its interfaces, in the order of the table."""
    dense = arrays["dense"].reshape(-1, len(arrays["silent"]))
    offsets = arrays["sparse_offsets"]
    for row, symbol in enumerate(arrays["determinants"].tolist()):
        if row < len(dense):
            yield symbol, np.flatnonzero(np.unpackbits(dense[row].view(np.uint8), bitorder="little"))
        else:
            row -= len(dense)
            yield symbol, arrays["sparse"][offsets[row] : offsets[row + 1]]
