"""Estimates of how often a constraint holds, to choose the pivot of a filter.

Estimated from the table itself: names, types and values that many constraints use are assumed to occur
in many messages. A sample of real messages corrects the frequency of each name. Only the order of the
estimates matters; a wrong one costs time and never changes a result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cbnet.language.message import Message
from cbnet.matching.storage.codes import SYMBOL_SHIFT, Test, operands_of, symbols_of, tests_of
from cbnet.matching.storage.columns import Array, Columns, lengths_of
from cbnet.matching.storage.value_sets import expand_sets

# test -> type of value: 0 none or any, 1 bool, 2 number, 3 string
_KIND = np.array([0, 0, 1, *[2] * 6, *[3] * 9, *[0] * 4], np.uint64)
_NUMBER = 2
_NEVER = 1e30  # the cost of a condition: it is no pivot, and tested last
_NULLS = 0.1  # values of an attribute that are null


def likelihoods(columns: Columns, sample: Sequence[Mapping[str, Any]] = ()) -> Array:
    """Return for every constraint an estimate of how often it holds: float32[constraints].

    sample: typical messages, in their JSON form.
    """
    words = columns.words
    test = tests_of(words)
    kind_key = words >> SYMBOL_SHIFT << 2 | _KIND[test]
    value_key = kind_key << 32 | words & 0xFFFFFFFF
    distinct, index, counts = np.unique(value_key, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    kinds = distinct >> 32
    first = np.searchsorted(kinds, kinds, "left")
    end = np.searchsorted(kinds, kinds, "right")
    of_kind = (before[end - 1] + counts[end - 1] - before[first])[index]
    same, below = counts[index], (before - before[first])[index]
    likely = _chance(columns, test, words, same / of_kind, below / of_kind) * of_kind / max(1, len(words))
    if sample:
        likely = likely * _correction(columns, sample)[symbols_of(words)]
    return np.where(test == Test.CONDITION, _NEVER, likely).astype(np.float32)


def presence_of(columns: Columns, sample: Sequence[Mapping[str, Any]] = ()) -> tuple[Array, float]:
    """Return how often a message has a value of each name and type, as estimated for `likelihoods`, and a factor.

    presence: float32[2 · names], numbers and strings of a name in turn. The factor makes a probability of it, and of
    likelihoods: without a sample, a name is assumed to be in as many messages as filters.
    """
    kind = _KIND[tests_of(columns.words)].astype(np.int64)
    is_value = kind >= _NUMBER
    keys = 2 * symbols_of(columns.words[is_value]) + kind[is_value] - _NUMBER
    share = np.bincount(keys, minlength=2 * columns.names) / max(1, len(columns.words))
    if sample:
        return (share * np.repeat(_correction(columns, sample)[: columns.names], 2)).astype(np.float32), 1.0
    return share.astype(np.float32), len(columns.words) / max(1, len(columns))


def _correction(columns: Columns, sample: Sequence[Mapping[str, Any]]) -> Array:
    """Return for each symbol its frequency in the sample over that in the table."""
    seen: Counter[tuple[str, bool]] = Counter()
    for members in sample:
        message = Message.of(members)
        seen.update((name, False) for name in message.leaves)
        seen.update((tag, True) for tag in message.tags)
    symbols = [(columns.symbols[symbol], symbol >= columns.names) for symbol in range(len(columns.symbols))]
    in_sample = np.array([seen[text] + 0.5 for text in symbols]) / len(sample)
    in_table = np.bincount(symbols_of(columns.words), minlength=len(symbols)) / max(1, len(columns.words))
    correction: Array = in_sample / np.maximum(in_table, 1e-12)
    return correction


def _chance(columns: Columns, test: Array, words: Array, equal: Array, below: Array) -> Array:
    """Return how often a value of the right type passes, from the shares of values equal and below."""
    lengths = lengths_of(columns.strings.offsets)
    is_pattern = (test >= Test.PREFIX) & (test <= Test.SUBSTRING)
    length = np.zeros(len(words))
    length[is_pattern] = lengths[operands_of(words[is_pattern])]
    by_chance = np.minimum(1.0, 4.0 ** -np.minimum(length, 30))  # text has about two bits per byte
    order = np.where(test >= Test.STRING_EQ, test - (Test.STRING_EQ - Test.NUMBER_EQ), test)
    choices = [
        (test <= Test.TAG, np.ones(len(words))),
        (test == Test.NULL_EQ, np.full(len(words), _NULLS)),
        (test == Test.NOT_NULL, np.full(len(words), 1 - _NULLS)),
        (test == Test.IN, _member_share(columns, words, test == Test.IN)),
        (test == Test.BOOL_EQ, equal),
        (test == Test.SUBSTRING, np.minimum(1.0, equal + 8 * by_chance)),
        (is_pattern, np.minimum(1.0, equal + by_chance)),
        (order == Test.NUMBER_EQ, equal),
        (order == Test.NUMBER_NE, 1 - equal),
        (order <= Test.NUMBER_LE, below + equal * (order == Test.NUMBER_LE)),
    ]
    rest = 1 - below - equal * (order == Test.NUMBER_GT)
    return np.select([condition for condition, _ in choices], [chance for _, chance in choices], rest)


def _member_share(columns: Columns, words: Array, is_set: Array) -> Array:
    """Return the size of each constraint's set over the number of values in all sets of its name."""
    share = np.ones(len(words))
    keys, _ = expand_sets(words, columns.sets)
    values = np.bincount(symbols_of(np.unique(keys)), minlength=len(columns.symbols))
    sizes = lengths_of(columns.sets.offsets)[operands_of(words[is_set])]
    share[is_set] = sizes / np.maximum(1, values[symbols_of(words[is_set])])
    return share
