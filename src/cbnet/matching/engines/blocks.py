"""Blocks of filters with ranges: which filters they serve, and their arrays.

Where names and values select, a filter is found by a hash of its rarest value. Where every message has every attribute
and filters ask for ranges, it is not: a bound holds half of the time. Then a message reads whole blocks of filters with
similar ranges, and a few bits of each filter exclude nearly all of them. `_kernels/block_view.pxd` draws the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cbnet._kernels import block_build
from cbnet.matching.storage.codes import SYMBOL_SHIFT, Test, operands_of, tests_of
from cbnet.matching.storage.columns import Array, Columns, lengths_of, offsets_of, run_items

CELLS, ROWS, ROW_WORDS = 32, 33, 8  # of the kernel
MAX_FILTERS = 512  # in a block; tests use fewer
BLOCK = np.dtype([("middle", "<u4"), ("last_middle", "<u4"), ("entries", "<u4"), ("columns", "<u4")])
NONE = np.uint32(2**32 - 1)

# Nanoseconds: reading the rows of a block for a message; the mark of an entry; an entry and its tests.
# With these, blocks serve nothing of the mix of [2002], and what they serve faster of dense ranges.
READ_BLOCK, READ_MARK, READ_ENTRY = 25.0, 0.5, 30.0
COLUMN_SHARE = 0.03  # of a block's filters that constrain a dimension, for it to have a column
COLUMNS_PER_WORD = 8 / (ROWS * ROW_WORDS * 8)  # 8 bytes of columns beside the 8 of each word
_LEAST_FILLED = 4  # a dimension with fewer filters than this part of a block has none
_WIDTHS = 1.25  # ratio of the widths of two classes
_CLASS_BLOCKS = 16  # a class with fewer is merged with the next: a block should span little of its dimension
_SAMPLED = 200_000  # filters whose bounds divide the dimensions into cells


class Pivots(NamedTuple):
    """The narrowest intervals of some filters: all are arrays of the same length."""

    keys: Array  # uint32: 2 · name, plus 1 for strings
    lows: Array  # uint32: doubled ranks
    highs: Array
    chances: Array  # float32: how often a value lies in the interval, of those that messages have

    def take(self, chosen: Array) -> Pivots:
        """Return the pivots at some indices."""
        return Pivots(*(array[chosen] for array in self))


def choose_blocked(columns: Columns, costs: Array, rows: Array, presence: Array, scale: float) -> tuple[Array, Pivots]:
    """Return which of some filters blocks serve at least cost, as bools, and their pivots.

    costs, presence: how often a constraint holds, and how often a message has a value of each name and type: float32.
    scale: turns both into probabilities.
    """
    count = len(rows)
    keys, lows, highs = (np.empty(count, np.uint32) for _ in range(3))
    chances, passing, filed = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(2 * count, np.float32)
    block_build.choose_intervals(
        columns.words, costs, columns.offsets, rows, presence, scale, keys, lows, highs, chances, passing, filed
    )
    possible = np.flatnonzero(np.isfinite(chances))
    pivots = Pivots(keys, lows, highs, chances).take(possible)
    now = filed[::2][possible] * (READ_MARK + READ_ENTRY * filed[1::2][possible])
    present, passing = presence[pivots.keys], passing[possible]
    is_cheaper = np.ones(len(possible), bool)
    for _ in range(2):  # the fewer filters a dimension has, the wider are its blocks
        in_key = np.bincount(pivots.keys[is_cheaper], minlength=len(presence))
        others = np.maximum(in_key[pivots.keys], 1)
        zone = np.minimum(pivots.chances + present * np.minimum(1.0, MAX_FILTERS / others), present)
        is_cheaper &= zone * (READ_BLOCK / np.minimum(MAX_FILTERS, others) + READ_ENTRY * passing) < now
    in_key = np.bincount(pivots.keys[is_cheaper], minlength=len(presence))
    is_cheaper &= in_key[pivots.keys] >= MAX_FILTERS // _LEAST_FILLED
    is_blocked = np.zeros(count, bool)
    is_blocked[possible[is_cheaper]] = True
    share = pivots.chances / np.maximum(present, np.float32(1e-30))
    return is_blocked, pivots._replace(chances=share).take(is_cheaper)


def build(
    columns: Columns, costs: Array, rows: Array, pivots: Pivots, presence: Array, scale: float
) -> tuple[Array, dict[str, Array]]:
    """Return the order of filters with these pivots in blocks, and the arrays of the blocks."""
    bounds_of = _Bounds(columns, rows)
    order, starts, middles = _ordered(pivots, bounds_of)
    rows, pivots, count = rows[order], pivots.take(order), len(starts)
    entries = np.append(starts, len(rows)).astype(np.uint32)
    keys, firsts = np.empty(len(columns.words) + 1, np.uint32), np.empty(count + 1, np.uint32)
    used = block_build.choose_columns(
        columns.words,
        costs,
        columns.offsets,
        rows,
        presence,
        scale,
        entries,
        COLUMN_SHARE,
        COLUMNS_PER_WORD,
        keys,
        firsts,
    )
    dimension_keys = np.union1d(keys[:used], pivots.keys).astype(np.uint32)
    dimension_of = np.full(2 * columns.names, NONE, np.uint32)
    dimension_of[dimension_keys] = np.arange(len(dimension_keys), dtype=np.uint32)
    bounds = bounds_of.table[dimension_keys].ravel()
    block_columns = dimension_of[keys[:used]]
    blocks = np.zeros(count + 1, BLOCK)
    blocks["entries"], blocks["columns"] = entries, firsts
    rows_of_bits = _aligned(used * ROWS * ROW_WORDS)
    if count:
        blocks["middle"][:-1] = middles[order][starts]
        blocks["last_middle"][:-1] = middles[order][entries[1:] - 1]
        block_build.fill_rows(
            columns.words, columns.offsets, rows, dimension_of, bounds, entries, block_columns, firsts, rows_of_bits
        )
    block_dimensions = dimension_of[pivots.keys[starts]]
    return order, {
        "block_dimension_of": dimension_of if count else dimension_of[:0],
        "block_firsts": offsets_of(np.bincount(block_dimensions, minlength=len(dimension_keys)), np.uint32),
        "block_bounds": bounds,
        "block_lows": np.minimum.reduceat(pivots.lows, starts) if count else np.empty(0, np.uint32),
        "block_highs": np.maximum.reduceat(pivots.highs, starts) if count else np.empty(0, np.uint32),
        "blocks": blocks,
        "block_columns": block_columns,
        "block_rows": rows_of_bits,
    }


class _Bounds:
    """The bounds of the cells of each key: uint32[keys, 31]; from the ends of the intervals of some filters."""

    def __init__(self, columns: Columns, rows: Array) -> None:
        sampled = rows[:: len(rows) // _SAMPLED + 1]
        at = run_items(columns.offsets[sampled], lengths_of(columns.offsets)[sampled])[1]
        words = columns.words[at]
        test = tests_of(words)
        words, test = (array[(test >= Test.NUMBER_EQ) & (test <= Test.STRING_GE)] for array in (words, test))
        key = 2 * (words >> SYMBOL_SHIFT) + (test >= Test.STRING_EQ)
        ends = np.sort(key << np.uint64(32) | (2 * operands_of(words) + 1).astype(np.uint64))
        self.table = np.zeros((2 * columns.names, CELLS - 1), np.uint32)
        found, first, counts = np.unique(ends >> np.uint64(32), return_index=True, return_counts=True)
        places = first[:, None] + counts[:, None] * np.arange(1, CELLS) // CELLS
        bounds = (ends[places] & np.uint64(2**32 - 1)).astype(np.int64)
        bounds[:, 1:] += bounds[:, 1:] == bounds[:, :-1]  # a common value has a cell of its own
        self.table[found.astype(np.int64)] = np.maximum.accumulate(bounds, axis=1)


def _ordered(pivots: Pivots, bounds: _Bounds) -> tuple[Array, Array, Array]:
    """Return the order of pivots by dimension, class of width and middle, the start of each block, and the middles."""
    count = len(pivots.keys)
    middles = np.empty(count, np.uint32)
    block_build.middles_of(bounds.table.ravel(), pivots.keys, pivots.lows, pivots.highs, middles)
    with np.errstate(divide="ignore"):
        width = np.ceil(np.log(np.maximum(pivots.chances, 1e-4)) / np.log(_WIDTHS)).astype(np.int64)
    group = _classes(pivots.keys.astype(np.int64) * 256 + (width + 128))
    order = np.argsort(group.astype(np.uint64) << np.uint64(32) | middles, kind="stable")
    sizes = np.bincount(group)
    blocks = -(-sizes // MAX_FILTERS)
    first = offsets_of(sizes)[:-1]
    nth = run_items(np.zeros_like(blocks), blocks)[1]  # of the blocks of its group
    starts = np.repeat(first, blocks) + nth * np.repeat(sizes, blocks) // np.maximum(1, np.repeat(blocks, blocks))
    return order, starts, middles


def _classes(widths: Array) -> Array:
    """Return the number of the class of each pivot: those of one dimension, the narrowest first, merged until large."""
    distinct, index, counts = np.unique(widths, return_inverse=True, return_counts=True)
    number, group, size = np.empty(len(distinct), np.int64), -1, 0
    last = -1
    for at, (key, count) in enumerate(zip((distinct // 256).tolist(), counts.tolist(), strict=True)):
        if key != last or size >= _CLASS_BLOCKS * MAX_FILTERS:
            group, size, last = group + 1, 0, key
        number[at] = group
        size += count
    return number[index]


def _aligned(count: int) -> Array:
    """Return zeros, uint64[count], at the start of a line of the cache: a row is one line."""
    data = np.zeros(count + ROW_WORDS, np.uint64)
    skipped = -data.ctypes.data // 8 % ROW_WORDS
    return data[skipped : skipped + count]
