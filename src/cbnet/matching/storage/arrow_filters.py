"""Arrow filters: from a table with one row per constraint to columns, without an object per row.

Columns of the input: `interface` (string or int64, returned as given), `filter` (int64), `name`,
`op`, and the constant in one of `string`, `int`, `float`, `bool`. A tag has op "#" and stands in
`name`; a row with null op says that its filter is empty. Rows of one filter need not be neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.errors import InputError
from cbnet.language.constraint import Op
from cbnet.language.values import RESERVED_NAME, ValueType
from cbnet.matching.storage.codes import TESTS, Test
from cbnet.matching.storage.columns import Columns, Numbers, Texts, assemble, packed_texts, sorted_numbers, split_ints

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

_VALUES = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "string": pa.string()}
_KINDS = {"bool": ValueType.BOOL, "int": ValueType.NUMBER, "float": ValueType.NUMBER, "string": ValueType.STRING}
_TAG = "#"
_REFUSED = 255  # not a test


def columns_from_arrow(table: pa.Table) -> Columns:
    """Return the filters of an Arrow table as columns; a mistake names its row, counted from 1."""
    rows = _Rows(table)
    order, offsets = _grouped(rows.required("filter", pa.int64()).to_numpy())
    interfaces, targets = rows.interfaces()
    of_filter = targets[order[offsets[:-1]]]
    _check(targets[order] == np.repeat(of_filter, np.diff(offsets)), "its filter has another interface", order)
    tests, is_empty = rows.tests()
    numbers, strings, operands = rows.operands(tests)
    places, texts, names = rows.symbols(tests, is_empty)
    kept = order[~is_empty[order]]
    offsets = np.concatenate([[0], np.cumsum(~is_empty[order])])[offsets]
    symbols = (places[kept], texts, names)
    return assemble(interfaces, of_filter, offsets, symbols, tests[kept], operands[kept], numbers, strings)


class _Rows:
    """The columns of the input, each read once."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.unify_dictionaries()
        self._count = len(table)

    def column(self, name: str, type: pa.DataType) -> pa.Array:
        """Return a column as one array of a type; all null where the column is missing."""
        if name not in self._table.column_names:
            return pa.nulls(self._count, type)
        column = self._table[name].combine_chunks()
        if pa.types.is_dictionary(column.type) and type == pa.string():
            return column
        try:
            return column.cast(type)
        except pa.ArrowException as error:
            raise InputError(f"column {name!r}: {error}", hint=f"give it the type {type}") from None

    def required(self, name: str, type: pa.DataType) -> pa.Array:
        """Return a column that must be there in every row."""
        if name not in self._table.column_names:
            known = ", ".join(self._table.column_names)
            raise InputError(f"there is no column {name!r}", hint=f"the table has {known}")
        column = self.column(name, type)
        _check(column.is_valid().to_numpy(zero_copy_only=False), f"the column {name!r} is null")
        return column

    def interfaces(self) -> tuple[list[str | int], Array]:
        """Return the interfaces in the order in which they occur, and the place of each row's."""
        name = "interface"
        given = self._table[name].type if name in self._table.column_names else pa.int64()
        is_number = pa.types.is_integer(given)
        column = _encoded(self.required(name, pa.int64() if is_number else pa.string()))
        return column.dictionary.to_pylist(), column.indices.to_numpy()

    def tests(self) -> tuple[Array, Array]:
        """Return the test of each row, and which rows only say that their filter is empty."""
        kinds = np.zeros(self._count, np.uint8)  # 0: no constant, else the kind + 1
        for name, type in _VALUES.items():
            valid = self.column(name, type).is_valid().to_numpy(zero_copy_only=False)
            _check((kinds == 0) | ~valid, "there are two constants")
            kinds[valid] = _KINDS[name] + 1
        ops = _encoded(self.column("op", pa.string()))
        is_empty = ops.is_null().to_numpy(zero_copy_only=False)
        meaning = np.array([_tests_of(op) for op in ops.dictionary.to_pylist()] or [[_REFUSED] * 4], np.uint8)
        op = np.asarray(ops.indices.fill_null(0))
        tests = meaning[op, kinds]
        _check(is_empty | (tests != _REFUSED), "the op is unknown, or does not take this constant")
        return tests, is_empty

    def symbols(self, tests: Array, is_empty: Array) -> tuple[Array, Texts, int]:
        """Return the place of each row's name or tag in one list, the list, and the number of names."""
        column = _encoded(self.column("name", pa.string()))
        _check(is_empty | column.is_valid().to_numpy(zero_copy_only=False), "the name is null")
        texts = column.dictionary
        place = np.asarray(column.indices.fill_null(0)).astype(np.int64)
        is_tag = tests == Test.TAG
        reserved = pc.equal(texts, RESERVED_NAME).to_numpy(zero_copy_only=False)
        _check(
            is_tag | is_empty | ~reserved[place] if len(texts) else is_empty,
            'the name "#" is reserved for tags',
        )
        names, tags = np.unique(place[~is_tag & ~is_empty]), np.unique(place[is_tag & ~is_empty])
        renumbered = np.zeros((2, max(1, len(texts))), np.int64)  # rows without a name point to the first
        renumbered[0, names] = np.arange(len(names))
        renumbered[1, tags] = len(names) + np.arange(len(tags))
        chosen = texts.take(pa.array(np.concatenate([names, tags])))
        return renumbered[is_tag.astype(np.int8), place], _texts(chosen), len(names)

    def operands(self, tests: Array) -> tuple[Numbers, Texts, Array]:
        """Return the sorted numbers and strings, and the place of each row's constant among them."""
        operands = np.zeros(self._count, np.uint32)
        bools = self.column("bool", pa.bool_())
        is_bool = bools.is_valid().to_numpy(zero_copy_only=False)
        is_equal = pc.equal(self.column("op", pa.string()).cast(pa.string()), "=").fill_null(False)
        operands[is_bool] = np.asarray(pc.equal(bools.fill_null(False), is_equal))[is_bool]
        numbers = self._numbers(operands, (tests >= Test.NUMBER_EQ) & (tests <= Test.NUMBER_GE))
        strings = _encoded(self.column("string", pa.string()))
        order = pc.sort_indices(strings.dictionary.cast(pa.binary())).to_numpy()
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order))
        is_string = strings.is_valid().to_numpy(zero_copy_only=False)
        operands[is_string] = rank[np.asarray(strings.indices.fill_null(0))[is_string]] if len(order) else 0
        return numbers, _texts(strings.dictionary.take(pa.array(order))), operands

    def _numbers(self, operands: Array, is_number: Array) -> Numbers:
        floats = self.column("float", pa.float64())
        is_float = floats.is_valid().to_numpy(zero_copy_only=False)
        values = np.asarray(floats.fill_null(0.0))
        _check(np.isfinite(values), "NaN and infinity are not values")
        ints = split_ints(np.asarray(self.column("int", pa.int64()).fill_null(0))[is_number])
        is_float, values = is_float[is_number], values[is_number]
        low = np.where(is_float, 0, ints.low).astype(np.int16)
        numbers, places = sorted_numbers(Numbers(np.where(is_float, values, ints.high), low))
        operands[is_number] = places
        return numbers


def _grouped(filters: Array) -> tuple[Array, Array]:
    """Return the rows in an order in which those of one filter are neighbours, and where each begins."""
    is_sorted = bool(np.all(filters[1:] >= filters[:-1]))
    order = np.arange(len(filters)) if is_sorted else np.argsort(filters, kind="stable")
    starts = np.flatnonzero(np.diff(filters[order], prepend=filters[order][:1] - 1))
    return order, np.append(starts, len(filters))


def _tests_of(op: str) -> list[int]:
    """Return the test of an op without constant, with a bool, with a number and with a string."""
    if op == _TAG:
        return [Test.TAG, _REFUSED, _REFUSED, _REFUSED]
    known = next((known for known in Op if known.value == op), None)
    return [TESTS.get((known, kind), _REFUSED) if known else _REFUSED for kind in (None, *ValueType)]


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    """Return a column as places in a list of distinct values."""
    if not pa.types.is_dictionary(column.type):
        return column.dictionary_encode()
    distinct = column.dictionary.dictionary_encode()  # a dictionary given may hold a value twice
    if len(distinct.dictionary) == len(column.dictionary):
        return column
    indices = pc.take(distinct.indices, column.indices)
    return pa.DictionaryArray.from_arrays(indices, distinct.dictionary)


def _texts(strings: pa.Array) -> Texts:
    strings = strings.cast(pa.large_string())
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"a string is not valid UTF-8: {error}") from None
    _, offsets, data = strings.buffers()
    ends = (
        np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        if offsets
        else np.zeros(1, np.int64)
    )
    text = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data else np.empty(0, np.uint8)
    return packed_texts(text.copy(), ends - ends[0])


def _check(ok: Array, problem: str, rows: Any = None) -> None:
    if not ok.all():
        place = int(np.argmin(ok))
        raise InputError(f"row {(place if rows is None else int(rows[place])) + 1}: {problem}")
