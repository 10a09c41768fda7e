"""The pivot engine: a filter is filed under the constraint that holds least often, or in a block of similar ranges.

When a message satisfies that constraint, its pivot, the rest of the filter is checked at once: first a
mask of the names that it needs, which rejects most candidates, then its other words. So the work is
close to the size of the answer. The arrays are drawn in `_kernels/pivot_view.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from cbnet._kernels import constant_pool as pools
from cbnet._kernels import pivot_build, word_rows
from cbnet.errors import LimitError
from cbnet.matching.engines import blocks
from cbnet.matching.engines.owners import by_target, owned_filters
from cbnet.matching.engines.pivot_cost import likelihoods, presence_of
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test, operands_of, symbols_of, tests_of
from cbnet.matching.storage.columns import Array, Columns, Texts, constant_arrays, lengths_of, offsets_of, run_items
from cbnet.matching.storage.value_sets import member_index

ENTRY = np.dtype([("mask", "<u8"), ("tests", "<u4"), ("target", "<u4")])
SLOT = np.dtype([("key", "<u8"), ("singles", "<u4"), ("entries", "<u4")])
FREE = np.uint64(2**64 - 1)
LISTS = 7  # per name, in the order of the kernel
_KINDS_OF_ENTRIES = ("bucket", "listed", "blocked")
_MAX_LOAD = 0.7  # of the hash table of slots

# test -> its list, or -1 for a bucket; and its bound, less 2 · operand
_LIST = np.array([0, -1, -1, -1, 3, 1, 1, 2, 2, -1, 6, 4, 4, 5, 5, -1, -1, -1, -1, -1, -1, -1])
_BOUND = np.array([0, 0, 0, 0, 1, 0, 1, 2, 1, 0, 1, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0])
_FALLING = np.array([False, True, False, False, True, False, False])  # lists whose bounds fall


def build(
    columns: Columns,
    report: Callable[[str], None] = lambda _: None,
    sample: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Array]:
    """Return the arrays of a pivot index over some filters; `sample` are typical messages."""
    if len(columns.words) >= 2**32:
        raise LimitError("constraints in one table", len(columns.words), 2**32 - 1, hint="split the table")
    report("estimating how selective each constraint is")
    costs = likelihoods(columns, sample)
    report("finding equal filters")
    rows, targets, groups = owned_filters(columns, np.flatnonzero(lengths_of(columns.offsets) > 1))
    report("filing every filter under its pivot")
    presence, scale = presence_of(columns, sample)
    is_blocked, pivots = blocks.choose_blocked(columns, costs, rows, presence, scale)
    blocked, owners = rows[is_blocked], targets[is_blocked]
    order, block_arrays = blocks.build(columns, costs, blocked, pivots, presence, scale)
    filed = _filed(columns, costs, (rows[~is_blocked], targets[~is_blocked]), (blocked[order], owners[order]))
    return {**groups, **filed, **block_arrays, **_constants(columns)}


def _filed(
    columns: Columns, costs: Array, pivoted: tuple[Array, Array], blocked: tuple[Array, Array]
) -> dict[str, Array]:
    """Return the postings: targets of empty filters, singles, and entries with their tests.

    pivoted, blocked: rows and targets of the entries with a pivot word, and of those in blocks.
    """
    words, offsets = columns.words, columns.offsets
    rows, targets = pivoted
    lengths = lengths_of(offsets)
    single_rows = np.flatnonzero(lengths == 1)
    single_words, single_targets = _distinct(words[offsets[single_rows]], columns.targets[single_rows])
    pivots, marks = np.empty(len(rows), np.int64), np.empty(len(rows), np.uint8)
    pivot_build.choose_pivots(words, costs, offsets, rows, pivots, marks)
    entry_words = words[pivots]
    arrays = {
        "always": np.unique(columns.targets[lengths == 0]),
        "words": np.empty(int((lengths[rows] - 1).sum() + lengths[blocked[0]].sum()), np.uint64),
    }
    used = 0
    for name, listed in (("bucket", False), ("listed", True)):
        singles = np.flatnonzero((_LIST[tests_of(single_words)] >= 0) == listed)
        chosen = np.flatnonzero((_LIST[tests_of(entry_words)] >= 0) == listed)
        file = _in_lists if listed else _in_buckets
        single_order, entry_order, offsets_of = file(
            columns, single_words[singles], entry_words[chosen], (lengths[rows[chosen]], marks[chosen])
        )
        chosen = chosen[entry_order]
        entries = np.empty(len(chosen) + 1, ENTRY)
        used = pivot_build.fill_entries(
            words,
            costs,
            offsets,
            rows[chosen],
            pivots[chosen],
            targets[chosen],
            entries,
            arrays["words"],
            used,
        )
        arrays |= {
            f"{name}_targets": single_targets[singles[single_order]],
            f"{name}_entries": entries,
            f"{name}_marks": marks[chosen],
            **offsets_of,
        }
    arrays["blocked_entries"] = entries = np.empty(len(blocked[0]) + 1, ENTRY)
    no_pivots = np.full(len(blocked[0]), -1)
    pivot_build.fill_entries(words, costs, offsets, blocked[0], no_pivots, blocked[1], entries, arrays["words"], used)
    members = member_index(np.concatenate([single_words, entry_words]), columns.sets)
    return arrays | members | _used_tests(columns, single_words, entry_words)


def _distinct(words: Array, targets: Array) -> tuple[Array, Array]:
    """Return the distinct pairs of word and target, sorted."""
    order = np.lexsort((targets, words))
    words, targets = words[order], targets[order]
    is_new = np.ones(len(words), bool)
    is_new[1:] = (words[1:] != words[:-1]) | (targets[1:] != targets[:-1])
    return words[is_new], targets[is_new]


def _in_buckets(
    _: Columns, singles: Array, entries: Array, then: tuple[Array, ...]
) -> tuple[Array, Array, dict[str, Array]]:
    """Return the order of the postings by slot (entries then by the last of `then`), and the table of slots."""
    distinct = np.unique(np.concatenate([singles, entries]))
    count = 1 << max(1, int(len(distinct) / _MAX_LOAD).bit_length())
    keys = np.full(count, FREE)
    slots = np.empty(len(distinct), np.int64)
    pivot_build.place_keys(distinct, keys, slots)
    single_slots = slots[np.searchsorted(distinct, singles)]
    entry_slots = slots[np.searchsorted(distinct, entries)]
    table = np.empty(count + 1, SLOT)
    table["key"] = np.append(keys, FREE)
    table["singles"] = _offsets(single_slots, count)
    table["entries"] = _offsets(entry_slots, count)
    return np.argsort(single_slots, kind="stable"), np.lexsort((*then, entry_slots)), {"slots": table}


def _in_lists(
    columns: Columns, singles: Array, entries: Array, _: tuple[Array, ...]
) -> tuple[Array, Array, dict[str, Array]]:
    """Return the order of the postings by list and bound, and the offsets of the lists."""
    arrays: dict[str, Array] = {}
    orders = []
    for name, words in (("single", singles), ("entry", entries)):
        test = tests_of(words)
        number = symbols_of(words) * LISTS + _LIST[test]
        bound = 2 * operands_of(words) + _BOUND[test]
        order = np.lexsort((np.where(_FALLING[_LIST[test]], -bound, bound), number))
        orders.append(order)
        plural = "singles" if name == "single" else "entries"
        arrays[f"list_{plural}"] = _offsets(number, columns.names * LISTS)
        arrays[f"{name}_bounds"] = bound[order].astype(np.uint32)
    return orders[0], orders[1], arrays


def _offsets(runs: Array, count: int) -> Array:
    """Return the offsets of `count` runs from the run of every posting: uint32[count + 1]."""
    return offsets_of(np.bincount(runs, minlength=count), np.uint32)


def _used_tests(columns: Columns, *pivots: Array) -> dict[str, Array]:
    """Return the tests of each symbol's constraints, and of its pivots, as bits: uint32[symbols]."""

    def used(words: Array) -> Array:
        bits = np.zeros(len(columns.symbols), np.uint32)
        for test in Test:
            bits[np.unique(symbols_of(words[tests_of(words) == test]))] |= np.uint32(1 << test)
        return bits

    return {"tested": used(columns.words), "pivoted": used(np.concatenate(pivots))}


def _constants(columns: Columns) -> dict[str, Array]:
    """Return all constants, and the pools of prefixes, suffixes and substrings."""
    strings = columns.strings
    arrays = constant_arrays(columns)
    for name, test in (("prefix", Test.PREFIX), ("suffix", Test.SUFFIX), ("substring", Test.SUBSTRING)):
        ids = np.unique(operands_of(columns.words[tests_of(columns.words) == test])).astype(np.uint32)
        arrays |= _pool(strings, name, ids, is_reversed=test is Test.SUFFIX)
    arrays["substring_filter"] = np.zeros(8193, np.uint8)
    pools.fill_filter(strings.data, strings.offsets, arrays["substring_ids"], arrays["substring_filter"])
    return arrays


def _pool(strings: Texts, name: str, ids: Array, *, is_reversed: bool) -> dict[str, Array]:
    if is_reversed:
        backwards = pc.binary_reverse(strings.as_arrow(ids))
        order = pc.sort_indices(backwards)
        # not `to_numpy`, which imports pandas where it is installed: 40 MB in every router
        ids = ids[np.frombuffer(order.buffers()[1], np.uint64, len(ids))] if len(ids) else ids
    keys, parents = np.empty(len(ids), np.uint64), np.empty(len(ids), np.uint32)
    pools.fill_pool(strings.data, strings.offsets, ids, is_reversed, keys, parents)
    return {f"{name}_ids": ids, f"{name}_keys": keys, f"{name}_parents": parents}


def filters_of(arrays: dict[str, Array]) -> tuple[Array, Array, Array, Array]:
    """Return targets, offsets and words of the filters of an index, and the posting of each.

    The inverse of `build`. Postings are numbered as by the kernel's `find`.
    """
    always, slots = arrays["always"], arrays["slots"]
    bucket_words = [np.repeat(slots["key"][:-1], lengths_of(slots[kind])) for kind in ("singles", "entries")]
    pieces = []
    before = 0
    for name, (single_words, entry_words) in (("bucket", bucket_words), ("listed", _listed_words(arrays))):
        entries = arrays[f"{name}_entries"]
        numbers = before + np.arange(len(single_words))
        pieces.append((arrays[f"{name}_targets"], np.ones(len(single_words), np.int64), single_words, numbers))
        pieces.append(_entry_filters(arrays, entries, entry_words, before + len(single_words)))
        before += len(single_words) + len(entry_words)
    pieces.append(_entry_filters(arrays, arrays["blocked_entries"], None, before))
    before += len(arrays["blocked_entries"]) - 1
    pieces.append((always, np.zeros(len(always), np.int64), np.empty(0, np.uint64), before + np.arange(len(always))))
    targets, lengths, words, numbers = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    offsets = offsets_of(lengths)
    word_rows.sort_rows(words, offsets)
    return targets, offsets, words, numbers


def filters_by_index(arrays: dict[str, Array]) -> dict[str, int]:
    """Return how many filters each part of the index serves."""
    of = {name: len(by_target(arrays[f"{name}_entries"]["target"][:-1], arrays)[0]) for name in _KINDS_OF_ENTRIES}
    return {
        "values, patterns and tags": len(arrays["bucket_targets"]) + of["bucket"],
        "bounds": len(arrays["listed_targets"]) + of["listed"],
        "blocks of ranges": of["blocked"],
        "none: always match": len(arrays["always"]),
    }


def _listed_words(arrays: dict[str, Array]) -> list[Array]:
    """Return the pivots of the singles and entries in lists, from their list and bound."""
    words = []
    for lists, bounds in (("list_singles", "single_bounds"), ("list_entries", "entry_bounds")):
        offsets, bound = arrays[lists], arrays[bounds].astype(np.int64)
        number = np.repeat(np.arange(len(offsets) - 1), lengths_of(offsets))
        kind, odd = number % LISTS, bound & 1
        test = np.select(
            [kind == 0, kind == 3, kind == 6, kind == 1, kind == 4, kind == 2],
            [
                0,
                Test.NUMBER_NE,
                Test.STRING_NE,
                Test.NUMBER_LT + odd,
                Test.STRING_LT + odd,
                Test.NUMBER_GT + odd,
            ],
            Test.STRING_GT + odd,
        )
        operand = (bound - _BOUND[test]) // 2
        words.append((number // LISTS << SYMBOL_SHIFT | test << TEST_SHIFT | operand).astype(np.uint64))
    return words


def _entry_filters(
    arrays: dict[str, Array], entries: Array, pivots: Array | None, before: int
) -> tuple[Array, Array, Array, Array]:
    """Return the filters of entries, one for each target, and their postings, counted from `before`.

    pivots: a word of each that is not among its tests, if there is one.
    """
    lengths = lengths_of(entries["tests"])
    which, targets = by_target(entries["target"][:-1], arrays)
    length = lengths[which]
    if pivots is None:
        words = arrays["words"][run_items(entries["tests"][:-1][which], length)[1]]
        return targets, length, words, before + which
    first = offsets_of(length + 1)
    words = np.empty(first[-1], np.uint64)
    words[first[:-1]] = pivots[which]
    rest = np.ones(len(words), bool)
    rest[first[:-1]] = False
    words[rest] = arrays["words"][run_items(entries["tests"][:-1][which], length)[1]]
    return targets, length + 1, words, before + which
