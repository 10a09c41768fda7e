"""The counting engine: the papers' algorithm [2001 §3] [2002 §4] [2003 §4].

    message ─► name ─► type, operator ─► value ──► constraints ─► filters ─► interfaces
               symbols  branches          operands, tries    postings   counters

Left: an index of all distinct constraints finds those that the message satisfies (`constraint_index`).
Right: each of them counts for the filters that contain it, and a filter matches when all
its constraints are counted. Interfaces that are matched, or excluded by the selectivity table, are skipped.
The arrays are drawn in `_kernels/counting_postings.pxd`.

Identical filters are not shared: there is a counter per filter and interface, as in the papers.
Departures: names are looked up in a hash table instead of a trie; indexes and chains are sorted arrays, so
that `<` selects a range instead of a list; the tail of a string has no nodes; a tag can be a determinant;
counters run down, from the size of the filter to 0; `!=`, `<=`, `>=`, `exists`, tags and floats are added; and
tests for null, `in`, conditions, and messages with several values of an attribute: what counting cannot decide
is checked when the counted constraints of a filter hold.

The selectivity table excludes interfaces that a message cannot match, by the names that it lacks [2002 §4.3].
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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from cbnet.errors import LimitError
from cbnet.matching.engines.constraint_index import (
    INDEXED,
    Constraints,
    index_arrays,
    keys_of,
    ranges,
    string_tries,
)
from cbnet.matching.storage.codes import SYMBOL_SHIFT, symbols_of, tests_of
from cbnet.matching.storage.columns import Array, Columns, constant_arrays, lengths_of, offsets_of
from cbnet.matching.storage.reduction import take_filters

LARGE = 255  # a filter of this size or more has the rest of its size in a separate list
_SYMBOL_BITS = 64 - SYMBOL_SHIFT
_WORDS_PER_INTERFACE = 2  # of a dense row, at most


def build(
    columns: Columns, report: Callable[[str], None] = lambda _: None, *, one_string_index: bool = True
) -> dict[str, Array]:
    """Return the arrays of a counting index over some filters.

    one_string_index: one trie per name for all operators on strings; else one per operator, for
    comparison [2002 §4.2].
    """
    if len(columns.words) >= 2**32:
        raise LimitError("constraints in one table", len(columns.words), 2**32 - 1, hint="split the table")
    report("sorting the constraints")
    rows = np.flatnonzero(lengths_of(columns.offsets))
    # By interface: then the check whether an interface is matched mostly repeats the one before.
    filters = take_filters(columns, rows[np.argsort(columns.targets[rows], kind="stable")])
    counted = _counted(columns, filters)
    constraints, postings = _postings(counted, one_string_index)
    report("building the tries of the strings")
    tries, trie_arrays = string_tries(constraints, columns.strings)
    index = index_arrays(constraints, len(columns.symbols), ranges(constraints), tries)
    report("finding the determinants of each interface")
    return {
        **index, **trie_arrays, **constant_arrays(columns), **postings, **_sizes(counted), **_whole(filters, counted),
        "always": np.unique(columns.targets[lengths_of(columns.offsets) == 0]), **selectivity_table(columns),
    }  # fmt: skip


def _counted(columns: Columns, filters: Columns) -> Columns:
    """Return the same filters with the constraints that are counted only."""
    is_counted = tests_of(filters.words) < INDEXED
    is_counted &= symbols_of(filters.words) != columns.message_symbol
    offsets = offsets_of(is_counted)[filters.offsets]
    return replace(filters, words=filters.words[is_counted], offsets=offsets)


def _postings(filters: Columns, is_united: bool) -> tuple[Constraints, dict[str, Array]]:
    """Return the distinct constraints, and the filters that contain each."""
    number_of_word = np.repeat(np.arange(len(filters), dtype=np.uint32), lengths_of(filters.offsets))
    keys = keys_of(filters.words, is_united)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
    constraints = Constraints(keys[firsts], tests_of(filters.words[order[firsts]]), is_united)
    offsets = np.append(firsts, len(keys)).astype(np.uint32)
    postings = number_of_word[order]
    return constraints, {
        "posting_offsets": offsets, "posting_filters": postings, "posting_targets": filters.targets[postings]
    }  # fmt: skip


def _sizes(filters: Columns) -> dict[str, Array]:
    """Return the number of counted constraints of each filter."""
    sizes = lengths_of(filters.offsets)
    large = np.flatnonzero(sizes >= LARGE)
    return {
        "sizes": np.minimum(sizes, LARGE).astype(np.uint8),
        "large_filters": large.astype(np.uint32),
        "large_rests": (sizes[large] - LARGE).astype(np.uint32),
    }


def _whole(filters: Columns, counted: Columns) -> dict[str, Array]:
    """Return all words of each filter, and which filters have words that are not counted."""
    sizes = lengths_of(counted.offsets)
    uncounted = sizes < lengths_of(filters.offsets)
    return {
        "filter_offsets": filters.offsets.astype(np.uint32),
        "filter_words": filters.words,
        "filter_targets": filters.targets,
        "uncounted": uncounted.astype(np.uint8) if uncounted.any() else np.empty(0, np.uint8),
        "loose": np.flatnonzero(sizes == 0).astype(np.uint32),
    }


def filters_of(arrays: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters of an index: the inverse of `build`."""
    always, offsets = arrays["always"], arrays["filter_offsets"].astype(np.int64)
    empty = np.full(len(always), offsets[-1])
    return np.append(arrays["filter_targets"], always), np.append(offsets, empty), arrays["filter_words"]


def selectivity_table(columns: Columns) -> dict[str, Array]:
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
    is_silent = np.append(filters_of_target == 0, np.ones(words * 64 - total, bool))
    return {
        "silent": np.packbits(is_silent, bitorder="little").view(np.uint64),
        "determinants": rows.astype(np.uint32),
        "dense": dense,
        "sparse_offsets": offsets_of(sizes[rows[dense_rows:]], np.uint32),
        "sparse": sparse.astype(np.uint32),
    }


def _pairs(columns: Columns, filters_of_target: Array) -> tuple[Array, Array]:
    """Return determinants and their interfaces, by interface: the names common to all its filters."""
    lengths = np.diff(columns.offsets)
    symbols = columns.words >> SYMBOL_SHIFT
    is_new = np.diff(symbols, prepend=~symbols[:1]) != 0
    is_new[columns.offsets[:-1][lengths > 0]] = True  # a filter with two constraints on a name counts once
    targets = np.repeat(columns.targets, lengths)[is_new].astype(np.uint64)
    pairs, counts = np.unique(targets << _SYMBOL_BITS | symbols[is_new], return_counts=True)
    targets = (pairs >> _SYMBOL_BITS).astype(np.int64)
    kept = counts == filters_of_target[targets]
    return (pairs[kept] & (1 << _SYMBOL_BITS) - 1).astype(np.int64), targets[kept]


def determinants(arrays: Mapping[str, Array]) -> Iterator[tuple[int, Array]]:
    """Yield each determinant with its interfaces, in the order of the table."""
    dense = arrays["dense"].reshape(-1, len(arrays["silent"]))
    offsets = arrays["sparse_offsets"]
    for row, symbol in enumerate(arrays["determinants"].tolist()):
        if row < len(dense):
            yield symbol, np.flatnonzero(np.unpackbits(dense[row].view(np.uint8), bitorder="little"))
        else:
            row -= len(dense)
            yield symbol, arrays["sparse"][offsets[row] : offsets[row + 1]]
