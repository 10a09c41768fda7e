"""Reduction of a table: removal of filters that another filter of the same interface covers.

Sound, by the pairwise rules of [2006 §4.2]: each constraint of the wide filter is compared with each of
the narrow one. Covered filters are kept aside with a hash of the filter that covers them, to be added again
when that one is removed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cbnet._kernels import pivot_build
from cbnet._kernels import reduce_filters as covered
from cbnet.matching.storage.codes import SYMBOL_SHIFT
from cbnet.matching.storage.columns import Array, Columns, lengths_of, offsets_of, run_items


def reduce_columns(columns: Columns) -> tuple[Columns, dict[str, Array]]:
    """Return the filters that no other covers, and arrays of the others.

    covered_targets, covered_offsets, covered_words: the covered filters, as columns.
    covered_hashes: a hash of the filter that covers each, ascending.
    """
    columns = take_filters(columns, np.sort(equal_neighbours(columns, np.arange(len(columns)))[0]))
    coverer = find_coverers(columns)
    dropped = np.flatnonzero(coverer >= 0)
    hashes = hashes_with_targets(row_hashes(columns.words, columns.offsets), columns.targets)[coverer[dropped]]
    order = np.argsort(hashes, kind="stable")
    aside = take_filters(columns, dropped[order])
    arrays = {
        "covered_targets": aside.targets,
        "covered_offsets": aside.offsets.astype(np.uint32) if aside.offsets[-1] < 2**32 else aside.offsets,
        "covered_words": aside.words,
        "covered_hashes": hashes[order],
    }
    return take_filters(columns, np.flatnonzero(coverer < 0)), arrays


def equal_neighbours(columns: Columns, rows: Array) -> tuple[Array, Array]:
    """Return filters in an order in which equal ones are adjacent, each once per interface, and which repeat."""
    hashes = row_hashes(columns.words, columns.offsets)
    order = rows[np.lexsort((columns.targets[rows], hashes[rows]))]
    repeated = np.zeros(len(order), np.uint8)
    pivot_build.mark_repeated(columns.words, columns.offsets, order, repeated)
    targets = columns.targets[order]
    is_kept = np.ones(len(order), bool)
    is_kept[1:] = (repeated[1:] == 0) | (targets[1:] != targets[:-1])
    return order[is_kept], repeated[is_kept]


def row_hashes(words: Array, offsets: Array) -> Array:
    """Return a hash of each row of words: uint64[rows]; offsets: int64."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    pivot_build.hash_rows(words, offsets, hashes)
    return hashes


def hashes_with_targets(hashes: Array, targets: Array) -> Array:
    """Return the hashes of filters mixed with their interfaces."""
    mixed: Array = hashes * np.uint64(0x9E3779B97F4A7C15) + targets.astype(np.uint64)
    return mixed


def find_coverers(columns: Columns) -> Array:
    """Return for each filter a filter that covers it and is not covered itself, or -1: int64[filters]."""
    coverer = np.full(len(columns), -1, np.int64)
    several = np.bincount(columns.targets, minlength=len(columns.interfaces)) > 1
    candidates = np.flatnonzero(several[columns.targets])
    order = candidates[np.lexsort((lengths_of(columns.offsets)[candidates], _symbol_counts(columns)[candidates]))]
    covered.find_covered(
        columns.words, columns.offsets, columns.targets, order, columns.strings.data, columns.strings.offsets,
        columns.sets.members, columns.sets.offsets, coverer,
    )  # fmt: skip
    while True:  # follow each coverer to one that is not covered: covering is transitive
        above = np.where(coverer >= 0, coverer[coverer], -1)
        if not np.any(above >= 0):
            return coverer
        coverer = np.where(above >= 0, above, coverer)


def _symbol_counts(columns: Columns) -> Array:
    """Return the number of distinct names and tags of each filter."""
    symbols = columns.words >> np.uint64(SYMBOL_SHIFT)
    is_new = np.ones(len(symbols), np.int64)
    is_new[1:] = symbols[1:] != symbols[:-1]
    starts = columns.offsets[:-1][lengths_of(columns.offsets) > 0]
    is_new[starts] = 1
    return lengths_of(offsets_of(is_new)[columns.offsets])


def take_filters(columns: Columns, rows: Array) -> Columns:
    """Return the filters at some rows, in that order."""
    offsets, at = run_items(columns.offsets[:-1][rows], lengths_of(columns.offsets)[rows])
    return replace(columns, targets=columns.targets[rows], offsets=offsets, words=columns.words[at])
