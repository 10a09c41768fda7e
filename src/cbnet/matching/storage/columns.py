"""The filters of a table as flat arrays, the input of every engine.

A filter is a row of words (see `codes`), sorted and without repetitions, so equal filters are equal
rows:

    words    │ w w w │ w │   │ w w │ …     uint64[constraints]
    offsets  0       3   4   4     6 …     int64[filters + 1]; the third filter is empty
    targets    a       b   a   c   …       uint32[filters], the interface of each filter

Filters read from Arrow need no Python object per constraint.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from cbnet._kernels import constant_pool, word_rows
from cbnet._kernels.condition_eval import mentions
from cbnet.errors import LimitError
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.values import INT_MAX, RESERVED_NAME, Value, ValueType
from cbnet.matching.storage.codes import (
    MAX_CONSTANTS,
    MAX_SYMBOLS,
    SYMBOL_SHIFT,
    TEST_SHIFT,
    Test,
    type_of,
    unpack,
)
from cbnet.matching.storage.filter_encoding import Constant, EncodedFilter, decode_filter, encode_filter
from cbnet.matching.storage.value_sets import TYPE_SHIFT, Sets, no_sets, pack_sets

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"


@dataclass(frozen=True)
class Numbers:
    """Numbers in exact order: the nearest float, and the distance of an int from it.

    An int beyond 2**53 need not be a float: it is `high`, the nearest one, plus `low`. Ordered by
    high and then low, ints and floats compare exactly, because rounding preserves order.
    """

    high: Array  # float64[n]
    low: Array  # int16[n]; the distance is at most 512

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, index: int) -> int | float:
        high, low = float(self.high[index]), int(self.low[index])
        return int(high) + low if low or (high.is_integer() and -(2**63) <= high <= INT_MAX) else high


@dataclass(frozen=True)
class Texts:
    """Strings as UTF-8 in one array."""

    data: Array  # uint8[bytes]
    offsets: Array  # uint32[n + 1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def as_arrow(self, indices: Array) -> Any:
        """Return the texts at some indices as an Arrow array of bytes."""
        import pyarrow as pa

        chosen = take_texts(self, indices)
        buffers = [None, pa.py_buffer(chosen.offsets.astype(np.int64)), pa.py_buffer(chosen.data)]
        return pa.Array.from_buffers(pa.large_binary(), len(indices), buffers)

    def __getitem__(self, index: int) -> str:
        return self.utf8(index).decode()

    def utf8(self, index: int) -> bytes:
        """Return the bytes of a text."""
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]])


@dataclass(frozen=True)
class Columns:
    """The filters of a table as flat arrays."""

    interfaces: Sequence[str | int]  # by target
    targets: Array
    offsets: Array
    words: Array
    names: int  # the symbols below this are names, the others tags
    symbols: Texts  # in no order
    numbers: Numbers
    strings: Texts  # sorted, distinct
    sets: Sets = field(default_factory=no_sets)  # of `in`
    conditions: Texts = field(default_factory=lambda: texts([]))  # their codes, sorted, distinct

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def message_symbol(self) -> int:
        """The symbol of "#", an attribute that every message has, for conditions; or the number of symbols."""
        short = np.flatnonzero(lengths_of(self.symbols.offsets)[: self.names] == 1)
        found = short[self.symbols.data[self.symbols.offsets[short]] == ord(RESERVED_NAME)]
        return int(found[0]) if len(found) else len(self.symbols)

    def filter(self, row: int) -> Filter:
        """Return a filter as a value of the language."""
        return self.decode(self.words[self.offsets[row] : self.offsets[row + 1]].tolist())

    def decode(self, words: Iterable[int]) -> Filter:
        """Return the filter that some words encode."""
        tests = (
            (self.symbols[symbol], test, self.constant(test, operand)) for symbol, test, operand in map(unpack, words)
        )
        return decode_filter(tests)

    def constant(self, test: Test, operand: int) -> Constant:
        """Return the constant of a word, as in an encoded filter."""
        if test is Test.IN:
            return tuple((kind, self._member(kind, rank)) for kind, rank in self.sets[operand])
        if test is Test.CONDITION:
            return self.conditions.utf8(operand)
        kind = type_of(test)
        return None if kind is None else self._member(kind, operand)

    def _member(self, kind: ValueType, rank: int) -> Value:
        if kind is ValueType.NUMBER:
            return self.numbers[rank]
        if kind is ValueType.STRING:
            return self.strings[rank]
        return bool(rank) if kind is ValueType.BOOL else None


def lengths_of(offsets: Array) -> Array:
    """Return the lengths of the runs delimited by offsets: int64."""
    return cast("Array", np.diff(offsets.astype(np.int64)))


def offsets_of(lengths: Sequence[int] | Array, kind: type[Any] = np.int64) -> Array:
    """Return the offsets that delimit runs of these lengths: kind[n + 1]."""
    offsets = np.zeros(len(lengths) + 1, kind)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def run_items(starts: Array, lengths: Array) -> tuple[Array, Array]:
    """Return the offsets of some runs when they are put side by side, and the index of each of their items: int64."""
    offsets = offsets_of(lengths)
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def split_ints(values: Array) -> Numbers:
    """Return int64 values as nearest float and distance, in the same order."""
    high = values.astype(np.float64)
    top = high >= 2.0**63  # the nearest float of the largest ints does not fit in int64
    nearest = np.where(top, INT_MAX, np.where(top, 0.0, high).astype(np.int64))
    return Numbers(high, (values - nearest - top).astype(np.int16))


def texts(strings: Sequence[str]) -> Texts:
    """Return strings as UTF-8, in the same order."""
    return joined_texts([string.encode() for string in strings])


def joined_texts(encoded: Sequence[bytes]) -> Texts:
    """Return encoded texts in one array, in the same order."""
    return packed_texts(np.frombuffer(b"".join(encoded), np.uint8), offsets_of([len(text) for text in encoded]))


def packed_texts(data: Array, offsets: Array) -> Texts:
    """Return texts from their bytes and int64 offsets."""
    if len(data) >= 2**32:
        raise LimitError("bytes of strings in one table", len(data), 2**32 - 1, hint="split the table")
    return Texts(data, offsets.astype(np.uint32))


def assemble(
    interfaces: Sequence[str | int],
    targets: Array,
    offsets: Array,
    symbols: tuple[Array, Texts, int],
    tests: Array,
    operands: Array,
    numbers: Numbers,
    strings: Texts,
    sets: Sets | None = None,
    conditions: Texts | None = None,
) -> Columns:
    """Return columns from the parts of every constraint.

    symbols: the symbol of every constraint, the text of each symbol, and the number of names among them.
    operands: ranks in `numbers` or `strings`, which are sorted and distinct, or numbers of sets or conditions.
    """
    symbol_numbers, symbol_texts, names = _commonest_first(*symbols)
    for what, count, limit in (
        ("names and tags in one table", len(symbol_texts), MAX_SYMBOLS),
        ("distinct numbers in one table", len(numbers), MAX_CONSTANTS),
        ("distinct strings in one table", len(strings), MAX_CONSTANTS),
    ):
        if count > limit:
            raise LimitError(what, count, limit, hint="split the table")
    words = symbol_numbers.astype(np.uint64) << SYMBOL_SHIFT
    words |= tests.astype(np.uint64) << TEST_SHIFT | operands.astype(np.uint64)
    offsets = np.ascontiguousarray(offsets, np.int64)
    kept = word_rows.sort_rows(words, offsets)
    sets, conditions = sets or no_sets(), conditions or texts([])
    targets = targets.astype(np.uint32)
    return Columns(
        interfaces, targets, offsets, words[:kept], names, symbol_texts, numbers, strings, sets, conditions
    )  # fmt: skip


def _commonest_first(symbol_numbers: Array, symbols: Texts, names: int) -> tuple[Array, Texts, int]:
    """Renumber names and tags, the commonest first: the commonest 64 symbols have a bit each in masks."""
    counts = np.bincount(symbol_numbers, minlength=len(symbols))
    order = np.lexsort((-counts, np.arange(len(symbols)) >= names))
    renumbered = np.empty(len(symbols), np.int64)
    renumbered[order] = np.arange(len(symbols))
    return renumbered[symbol_numbers], take_texts(symbols, order), names


def take_texts(texts: Texts, indices: Array) -> Texts:
    """Return the texts at some indices, in that order."""
    offsets, bytes_at = run_items(texts.offsets[:-1][indices], lengths_of(texts.offsets)[indices])
    return packed_texts(texts.data[bytes_at], offsets)


def sort_numbers(unsorted: Numbers) -> tuple[Numbers, Array]:
    """Return the distinct numbers in order, and the rank of each input number among them."""
    order = np.lexsort((unsorted.low, unsorted.high))
    high, low = unsorted.high[order] + 0.0, unsorted.low[order]  # + 0.0 turns -0.0 into 0.0
    is_new = np.ones(len(order), bool)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.cumsum(is_new) - 1
    return Numbers(high[is_new], low[is_new]), ranks


def columns_of(predicates: Mapping[Any, Predicate]) -> Columns:
    """Return the filters of predicates by interface."""
    filters = ((target, filter) for target, each in enumerate(predicates.values()) for filter in each.filters)
    return columns_of_filters(list(predicates), filters)


def columns_of_filters(interfaces: Sequence[Any], filters: Iterable[tuple[int, Filter]]) -> Columns:
    """Return filters, each with its target (the index of its interface), as columns."""
    return columns_of_encoded(interfaces, [(target, encode_filter(filter)) for target, filter in filters])


def columns_of_encoded(interfaces: Sequence[Any], filters: Sequence[tuple[int, EncodedFilter]]) -> Columns:
    """Return encoded filters, each with its target, as columns."""
    tests = [test for _, filter_tests in filters for test in filter_tests]
    codes = sorted({constant for _, code, constant in tests if code == Test.CONDITION and isinstance(constant, bytes)})
    mentioned = [mention for code in codes for mention in mentions(code)]
    names = _ranks(
        [*(text for text, code, _ in tests if code != Test.TAG), *(text for text, tag in mentioned if not tag)]
    )
    tags = _ranks([*(text for text, code, _ in tests if code == Test.TAG), *(text for text, tag in mentioned if tag)])
    ranks = _Ranks(tests, codes)

    symbols = [len(names) + tags[text] if code == Test.TAG else names[text] for text, code, _ in tests]
    operands = [ranks.operand(code, constant) for _, code, constant in tests]
    return assemble(
        interfaces,
        np.array([target for target, _ in filters], np.uint32),
        offsets_of([len(filter_tests) for _, filter_tests in filters]),
        (np.array(symbols, np.int64), texts([*names, *tags]), len(names)),
        np.array([code for _, code, _ in tests], np.int64),
        np.array(operands, np.int64),
        ranks.numbers,
        texts(list(ranks.strings)),
        ranks.sets,
        joined_texts(codes),
    )


def columns_of_tags(interfaces: Sequence[Any], filters: Iterable[tuple[int, Iterable[str]]]) -> Columns:
    """Return filters of tags only, each with its target, as columns; without an object for each."""
    ranks: dict[str, int] = {}
    targets, symbols, ends = array("I"), array("q"), array("q", [0])
    for target, tags in filters:
        targets.append(target)
        symbols.extend([ranks.setdefault(tag, len(ranks)) for tag in tags])
        ends.append(len(symbols))
    numbers, _ = sort_numbers(_split([]))
    return assemble(
        interfaces,
        np.array(targets, np.uint32),
        np.array(ends, np.int64),
        (np.array(symbols, np.int64), texts([*ranks]), 0),
        np.full(len(symbols), int(Test.TAG), np.int64),
        np.zeros(len(symbols), np.int64),
        numbers,
        texts([]),
    )


def constant_arrays(columns: Columns) -> dict[str, Array]:
    """Return the constants of filters as the arrays of a table; see `_kernels/word_test.pxd`."""
    strings = columns.strings
    keys = np.empty(len(strings), np.uint64)
    ids = np.arange(len(strings), dtype=np.uint32)
    constant_pool.fill_pool(strings.data, strings.offsets, ids, False, keys, np.empty(0, np.uint32))
    return {
        "number_high": columns.numbers.high, "number_low": columns.numbers.low,
        "string_data": strings.data, "string_offsets": strings.offsets, "string_keys": keys,
        "value_set_offsets": columns.sets.offsets, "value_set_members": columns.sets.members,
        "condition_data": columns.conditions.data, "condition_offsets": columns.conditions.offsets,
    }  # fmt: skip


_KINDS = [type_of(test) for test in Test]  # an enum member of each test takes 1 µs


class _Ranks:
    """The constants of encoded filters, and the operand of each."""

    def __init__(self, tests: Sequence[tuple[str, int, Any]], codes: Sequence[bytes]) -> None:
        tuples = {constant for _, code, constant in tests if code == Test.IN}
        members = [member for constants in tuples for member in constants]
        numeric = [constant for _, code, constant in tests if Test.NUMBER_EQ <= code <= Test.NUMBER_GE]
        numeric += [value for kind, value in members if kind is ValueType.NUMBER]
        self.numbers, ranks = sort_numbers(_split(numeric))
        self._numbers = dict(zip(numeric, ranks.tolist(), strict=True))
        strings = [constant for _, _, constant in tests if isinstance(constant, str)]
        self.strings = _ranks([*strings, *(value for kind, value in members if kind is ValueType.STRING)])
        rows = [np.array([self._member(*member) for member in constants], np.uint64) for constants in tuples]
        self.sets, numbers = pack_sets(rows)
        self._sets = dict(zip(tuples, numbers.tolist(), strict=True))
        self._codes = {code: number for number, code in enumerate(codes)}

    def operand(self, test: int, constant: Any) -> int:
        """Return the operand of a test."""
        kind = _KINDS[test]
        if kind is not None:
            return self._rank(kind, constant)
        if test == Test.IN:
            return cast("int", self._sets[constant])
        return self._codes[constant] if test == Test.CONDITION else 0

    def _member(self, kind: ValueType, value: Value) -> int:
        return kind << TYPE_SHIFT | self._rank(kind, value)

    def _rank(self, kind: ValueType, value: Any) -> int:
        if kind is ValueType.NUMBER:
            return cast("int", self._numbers[value])
        return self.strings[value] if kind is ValueType.STRING else int(value is True)


def _ranks(texts: Iterable[str]) -> dict[str, int]:
    """Return the rank of each text, in the order of their UTF-8 bytes."""
    return {text: rank for rank, text in enumerate(sorted(set(texts)))}


def _split(values: Sequence[Any]) -> Numbers:
    is_int = np.array([isinstance(value, int) for value in values], bool)
    ints = split_ints(np.array([value if isinstance(value, int) else 0 for value in values], np.int64))
    floats = np.array([0.0 if isinstance(value, int) else value for value in values], np.float64)
    return Numbers(np.where(is_int, ints.high, floats), np.where(is_int, ints.low, 0).astype(np.int16))
