"""The counting engine: the papers' algorithm [2001 §3] [2002 §4] [2003 §4].

    message ─► name ─► type, operator ─► value ──► constraints ─► filters ─► interfaces
               symbols  branches          operands, tries    postings   counters

Left: an index of all distinct constraints finds those that the message satisfies (`constraint_index`,
`string_index`). Right: each of them counts for the filters that contain it, and a filter matches when all
its constraints are counted. Interfaces that are matched, or excluded by the selectivity table
(`selectivity_table`), are skipped. The arrays are drawn in `_kernels/counting_view.pxd`.

Identical filters are not shared: there is a counter per filter and interface, as in the papers.
Departures: names are looked up in a hash table instead of a trie; indexes and chains are sorted arrays, so
that `<` selects a range instead of a list; the tail of a string has no nodes; a tag can be a determinant;
counters run down, from the size of the filter to 0; and `!=`, `<=`, `>=`, `exists`, tags and floats are
added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from cbnet._kernels import word_rows
from cbnet.errors import LimitError
from cbnet.matching.engines import constraint_index, selectivity_table, string_index
from cbnet.matching.engines.constraint_index import Constraints, index_arrays, keys_of, ranges, tests_of

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
    constraints, postings = _postings(columns, filters, one_string_index)
    report("building the tries of the strings")
    tries, trie_arrays = string_index.build(constraints, columns.strings)
    index = index_arrays(constraints, len(columns.symbols), ranges(constraints), tries)
    report("finding the determinants of each interface")
    numbers = {"number_high": columns.numbers.high, "number_low": columns.numbers.low}
    sizes = _sizes(columns, filters)
    return {**index, **trie_arrays, **numbers, **postings, **sizes, **selectivity_table.build(columns)}


def _filters(columns: Columns) -> Array:
    """Return the rows of the filters that are counted, in the order of their interfaces.

    So the filters of an interface are adjacent in the postings, and the check whether an interface is
    matched mostly repeats the one before.
    """
    counted = np.flatnonzero(np.diff(columns.offsets))
    return counted[np.argsort(columns.targets[counted], kind="stable")]


def _postings(columns: Columns, filters: Array, is_united: bool) -> tuple[Constraints, dict[str, Array]]:
    """Return the distinct constraints, and the filters that contain each."""
    number = np.empty(len(columns), np.uint32)
    number[filters] = np.arange(len(filters), dtype=np.uint32)
    number_of_word = np.repeat(number, np.diff(columns.offsets))
    keys = keys_of(columns.words, is_united)
    is_sorted = bool((np.diff(filters) > 0).all())
    order = np.argsort(keys, kind="stable") if is_sorted else np.lexsort((number_of_word, keys))
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
    constraints = Constraints(keys[firsts], tests_of(columns.words[order[firsts]]), is_united)
    offsets = np.append(firsts, len(keys)).astype(np.uint32)
    postings = number_of_word[order]
    targets = columns.targets[filters][postings]
    return constraints, {"posting_offsets": offsets, "posting_filters": postings, "posting_targets": targets}


def _sizes(columns: Columns, filters: Array) -> dict[str, Array]:
    """Return the size of each filter, and the interfaces of empty ones, which are never counted."""
    lengths = np.diff(columns.offsets)
    sizes = lengths[filters]
    large = np.flatnonzero(sizes >= LARGE)
    return {
        "sizes": np.minimum(sizes, LARGE).astype(np.uint8),
        "large_filters": large.astype(np.uint32),
        "large_rests": (sizes[large] - LARGE).astype(np.uint32),
        "always": np.unique(columns.targets[lengths == 0]),
    }


def filters_of(arrays: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters of an index: the inverse of `build`."""
    postings, always = arrays["posting_filters"], arrays["always"]
    words = np.zeros(len(arrays["posting_offsets"]) - 1, np.uint64)
    constraint_index.fill_words(arrays, words)
    string_index.fill_words(arrays, words)
    counts: Array = np.diff(arrays["posting_offsets"].astype(np.int64))
    words = np.repeat(words, counts)[np.argsort(postings, kind="stable")]
    lengths = np.bincount(postings, minlength=len(arrays["sizes"]) + len(always))
    targets = np.append(np.zeros(len(arrays["sizes"]), np.uint32), always)
    targets[postings] = arrays["posting_targets"]
    offsets = np.append(0, np.cumsum(lengths))
    word_rows.sort_rows(words, offsets)
    return targets, offsets, words
