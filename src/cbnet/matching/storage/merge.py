"""Merge of the filters of several tables into one, with one numbering of names and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.language.values import ValueType
from cbnet.matching.storage.codes import Test, operands_of, symbols_of, tests_of
from cbnet.matching.storage.columns import (
    Array,
    Columns,
    Numbers,
    Texts,
    assemble,
    lengths_of,
    offsets_of,
    packed_texts,
    sort_numbers,
)
from cbnet.matching.storage.value_sets import TYPE_SHIFT, pack_sets


def merge_columns(parts: Sequence[Columns], interfaces: Sequence[Any]) -> Columns:
    """Return the filters of all parts; their targets number the same interfaces."""
    names = _union([(part.symbols, np.arange(part.names)) for part in parts])
    tags = _union([(part.symbols, np.arange(part.names, len(part.symbols))) for part in parts])
    strings = _union([(part.strings, np.arange(len(part.strings))) for part in parts], is_sorted=True)
    conditions = _union([(part.conditions, np.arange(len(part.conditions))) for part in parts], is_sorted=True)
    high = np.concatenate([part.numbers.high for part in parts])
    numbers, number_ranks = sort_numbers(Numbers(high, np.concatenate([part.numbers.low for part in parts])))
    numbers_of = np.split(number_ranks, np.cumsum([len(part.numbers) for part in parts])[:-1])
    rows = [_ranked(part.sets.rows(), numbers_of[which], strings.indices[which]) for which, part in enumerate(parts)]
    sets, set_numbers = pack_sets([row for part_rows in rows for row in part_rows])
    sets_of = np.split(set_numbers, np.cumsum([len(part_rows) for part_rows in rows])[:-1])

    symbol_numbers, tests, operands = [], [], []
    for which, part in enumerate(parts):
        symbol, test, operand = symbols_of(part.words), tests_of(part.words), operands_of(part.words)
        renumbered = np.concatenate([names.indices[which], len(names.texts) + tags.indices[which]])
        for chosen, renumber in (
            ((test >= Test.NUMBER_EQ) & (test <= Test.NUMBER_GE), numbers_of[which]),
            ((test >= Test.STRING_EQ) & (test <= Test.SUBSTRING), strings.indices[which]),
            (test == Test.IN, sets_of[which]),
            (test == Test.CONDITION, conditions.indices[which]),
        ):
            operand[chosen] = renumber[operand[chosen]]
        symbol_numbers.append(renumbered[symbol])
        tests.append(test)
        operands.append(operand)
    offsets = offsets_of(np.concatenate([lengths_of(part.offsets) for part in parts]))
    targets = np.concatenate([part.targets for part in parts])
    symbols = (
        np.concatenate(symbol_numbers),
        texts_of_arrow(pa.concat_arrays([names.texts, tags.texts])),
        len(names.texts),
    )
    return assemble(
        interfaces, targets, offsets, symbols, np.concatenate(tests), np.concatenate(operands),
        numbers, texts_of_arrow(strings.texts), sets, texts_of_arrow(conditions.texts),
    )  # fmt: skip


def _ranked(rows: Sequence[Array], numbers: Array, strings: Array) -> list[Array]:
    """Return the members of sets with their new ranks, which keep their order."""
    ranked = []
    for row in rows:
        kind, rank = row >> TYPE_SHIFT, operands_of(row)
        for of, ranks in ((ValueType.NUMBER, numbers), (ValueType.STRING, strings)):
            rank[kind == of] = ranks[rank[kind == of]]
        ranked.append(kind << TYPE_SHIFT | rank.astype(np.uint64))
    return ranked


class _Union(NamedTuple):
    """Distinct texts of several lists, and the index among them of each text of each list."""

    texts: pa.Array
    indices: list[Array]


def _union(lists: Sequence[tuple[Texts, Array]], *, is_sorted: bool = False) -> _Union:
    encoded = pa.concat_arrays([texts.as_arrow(chosen) for texts, chosen in lists]).dictionary_encode()
    texts, indices = encoded.dictionary, _numbers(encoded.indices, np.int32).astype(np.int64)
    if is_sorted:
        sorting = pc.sort_indices(texts)
        order = _numbers(sorting, np.uint64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        texts, indices = texts.take(sorting), rank[indices]
    return _Union(texts, np.split(indices, np.cumsum([len(chosen) for _, chosen in lists])[:-1]))


def _numbers(array: pa.Array, kind: type[Any]) -> Array:
    """Return the numbers of an array without nulls; `to_numpy` imports pandas, for half a second."""
    data = array.buffers()[1]
    return np.frombuffer(data, kind)[array.offset :][: len(array)] if len(array) else np.empty(0, kind)


def texts_of_arrow(strings: pa.Array) -> Texts:
    """Return the texts of an Arrow array without nulls, of large strings or large binaries."""
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets or bytes(8), np.int64)[strings.offset :][: len(strings) + 1]
    text = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data else np.empty(0, np.uint8)
    return packed_texts(text.copy(), ends - ends[0])
