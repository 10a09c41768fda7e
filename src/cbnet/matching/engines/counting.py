"""The counting engine: the papers' algorithm [2001 §3] [2002 §4] [2003 §4].

    message ─► name ─► type, operator ─► value ──► constraints ─► filters ─► interfaces
               symbols  branches          operands, tries    postings   counters

Left: an index of all distinct constraints finds those that the message satisfies (`constraint_index`,
`string_index`). Right: each of them counts for the filters that contain it, and a filter matches when all
its constraints are counted. Interfaces that are matched, or excluded by the selectivity table
(`selectivity_table`), are skipped. The arrays are drawn in `_kernels/counting_postings.pxd`.

Identical filters are not shared: there is a counter per filter and interface, as in the papers.
Departures: names are looked up in a hash table instead of a trie; indexes and chains are sorted arrays, so
that `<` selects a range instead of a list; the tail of a string has no nodes; a tag can be a determinant;
counters run down, from the size of the filter to 0; `!=`, `<=`, `>=`, `exists`, tags and floats are added; and
tests for null, `in`, conditions, and messages with several values of an attribute: what counting cannot decide
is checked when the counted constraints of a filter hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cbnet.errors import LimitError
from cbnet.matching.engines import selectivity_table, string_index
from cbnet.matching.engines.constant_arrays import constant_arrays
from cbnet.matching.engines.constraint_index import INDEXED, Constraints, index_arrays, keys_of, ranges, tests_of
from cbnet.matching.storage.codes import SYMBOL_SHIFT
from cbnet.matching.storage.columns import lengths_of
from cbnet.matching.storage.reduction import take_filters

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array, Columns

LARGE = 255  # a filter of this size or more has the rest of its size in a separate list


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
    filters = _filters(columns)
    counted = _counted(columns, filters)
    constraints, postings = _postings(counted, one_string_index)
    report("building the tries of the strings")
    tries, trie_arrays = string_index.build(constraints, columns.strings)
    index = index_arrays(constraints, len(columns.symbols), ranges(constraints), tries)
    report("finding the determinants of each interface")
    return {
        **index, **trie_arrays, **constant_arrays(columns), **postings, **_sizes(counted), **_whole(filters, counted),
        "always": np.unique(columns.targets[lengths_of(columns.offsets) == 0]), **selectivity_table.build(columns),
    }  # fmt: skip


def _filters(columns: Columns) -> Columns:
    """Return the filters that are not empty, in the order of their interfaces.

    So the filters of an interface are adjacent in the postings, and the check whether an interface is
    matched mostly repeats the one before.
    """
    rows = np.flatnonzero(lengths_of(columns.offsets))
    return take_filters(columns, rows[np.argsort(columns.targets[rows], kind="stable")])


def _counted(columns: Columns, filters: Columns) -> Columns:
    """Return the same filters with the constraints that are counted only."""
    is_counted = tests_of(filters.words) < INDEXED
    is_counted &= filters.words >> np.uint64(SYMBOL_SHIFT) != np.uint64(columns.message_symbol)
    offsets = np.append(0, np.cumsum(is_counted))[filters.offsets]
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
