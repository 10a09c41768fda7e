"""Filters in Arrow tables with one row per constraint, read into columns without an object per row.

Columns of the input: `rule` (string or int64), `filter` (int64), `name`, `op`, and the constant in one
of `string`, `int`, `float`, `bool`. A tag has op "#" and its text in `name`; a row with null op makes its
filter empty. What these columns cannot hold has op "text" and is written in `string`, such as `x in (1, 2)`,
`x = null` or `a < b`; its `name` is null. Rows of one filter need not be adjacent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.syntax.parser import parse_filter
from cbnet.language.values import RESERVED_NAME, ValueType
from cbnet.matching.storage.codes import TESTS, Test
from cbnet.matching.storage.columns import (
    Array,
    Columns,
    Numbers,
    Texts,
    assemble,
    columns_of_filters,
    offsets_of,
    sort_numbers,
    split_ints,
)
from cbnet.matching.storage.merge import merge_columns, texts_of_arrow

_VALUES = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "string": pa.string()}
_KINDS = {"bool": ValueType.BOOL, "int": ValueType.NUMBER, "float": ValueType.NUMBER, "string": ValueType.STRING}
_COLUMNS = {"name": pa.string(), "op": pa.string(), **_VALUES}
_RULE = "rule"
_TAG = "#"
_TEXT = "text"
_NO_TEST = 255


def columns_from_arrow(table: pa.Table) -> Columns:
    """Return the filters of an Arrow table as columns; an error names its row, counted from 1."""
    rows = _Rows(table, np.arange(len(table)))
    filters = rows.required("filter", pa.int64()).to_numpy()
    names, targets = rows.rules()
    ops = rows.column("op", pa.string()).cast(pa.string())
    has_text = np.isin(filters, filters[np.asarray(pc.equal(ops, _TEXT).fill_null(False))])
    if not has_text.any():
        return _flat_columns(rows, filters, names, targets)
    flat, written = rows.take(np.flatnonzero(~has_text)), rows.take(np.flatnonzero(has_text))
    parts = [
        _flat_columns(flat, filters[~has_text], names, targets[~has_text]),
        columns_of_filters(names, written.filters(filters[has_text], targets[has_text])),
    ]
    return merge_columns(parts, names)


def _flat_columns(rows: _Rows, filters: Array, rules: list[str | int], targets: Array) -> Columns:
    """Return the filters of rows without texts."""
    order, offsets = _grouped(filters)
    filter_targets = targets[order[offsets[:-1]]]
    is_same = targets[order] == np.repeat(filter_targets, np.diff(offsets))
    _check(is_same, "another row of its filter has another rule", rows.numbers[order])
    tests, is_empty = rows.tests()
    numbers, strings, operands = rows.operands(tests)
    symbols, texts, names = rows.symbols(tests, is_empty)
    kept = order[~is_empty[order]]
    offsets = offsets_of(~is_empty[order])[offsets]
    kept_symbols = (symbols[kept], texts, names)
    return assemble(rules, filter_targets, offsets, kept_symbols, tests[kept], operands[kept], numbers, strings)


class _Rows:
    """The columns of the input."""

    def __init__(self, table: pa.Table, numbers: Array) -> None:
        self._table = table.unify_dictionaries()
        self._count = len(table)
        self.numbers = numbers  # of the rows in the whole input, from 0

    def take(self, rows: Array) -> _Rows:
        """Return some of the rows."""
        return _Rows(self._table.take(pa.array(rows)), self.numbers[rows])

    def filters(self, numbers: Array, targets: Array) -> list[tuple[int, Filter]]:
        """Return the filters of all rows as values of the language, with their targets."""
        columns = {name: self.column(name, type).to_pylist() for name, type in _COLUMNS.items()}
        parts: dict[int, tuple[int, Filter]] = {}
        for row, (number, target) in enumerate(zip(numbers.tolist(), targets.tolist(), strict=True)):
            before, filter = parts.get(number, (target, Filter()))
            at = f"row {self.numbers[row] + 1}"
            if before != target:
                raise InputError(f"{at}: another row of its filter has another rule")
            try:
                parts[number] = target, filter & _filter({name: column[row] for name, column in columns.items()})
            except InputError as error:
                raise InputError(f"{at}: {error.problem}", hint=error.hint) from None
        return list(parts.values())

    def column(self, name: str, type: pa.DataType) -> pa.Array:
        """Return a column as one array of a type; all null if the column is missing."""
        if name not in self._table.column_names:
            return pa.nulls(self._count, type)
        column = self._table[name].combine_chunks()
        if pa.types.is_dictionary(column.type) and type == pa.string():
            return column
        try:
            return column.cast(type)
        except pa.ArrowException as error:
            raise InputError(f"column {name!r}: {error}", hint=f"cast it to {type}") from None

    def required(self, name: str, type: pa.DataType) -> pa.Array:
        """Return a column that must be set in every row."""
        if name not in self._table.column_names:
            names = self._table.column_names
            is_renamed = name == _RULE and "interface" in names  # of version 0.2
            hint = "rename the column interface to rule" if is_renamed else f"the table has {', '.join(names)}"
            raise InputError(f"no column {name!r}", hint=hint)
        column = self.column(name, type)
        _check(column.is_valid().to_numpy(zero_copy_only=False), f"column {name!r} is null", self.numbers)
        return column

    def rules(self) -> tuple[list[str | int], Array]:
        """Return the rules in the order in which they occur, and the target of each row."""
        type = self._table[_RULE].type if _RULE in self._table.column_names else pa.int64()
        is_number = pa.types.is_integer(type)
        column = _encoded(self.required(_RULE, pa.int64() if is_number else pa.string()))
        return column.dictionary.to_pylist(), column.indices.to_numpy()

    def tests(self) -> tuple[Array, Array]:
        """Return the test of each row, and which rows make their filter empty."""
        kinds = np.zeros(self._count, np.uint8)  # 0: no constant, else its type + 1
        for name, type in _VALUES.items():
            valid = self.column(name, type).is_valid().to_numpy(zero_copy_only=False)
            _check((kinds == 0) | ~valid, "two constants are set", self.numbers)
            kinds[valid] = _KINDS[name] + 1
        ops = _encoded(self.column("op", pa.string()))
        is_empty = ops.is_null().to_numpy(zero_copy_only=False)
        test_table = np.array(
            [_tests_of(op) for op in ops.dictionary.to_pylist()] or [[_NO_TEST] * (1 + len(ValueType))], np.uint8
        )
        op = np.asarray(ops.indices.fill_null(0))
        tests = test_table[op, kinds]
        _check(
            is_empty | (tests != _NO_TEST),
            "unknown op, or a constant of a type that the op does not take",
            self.numbers,
        )
        return tests, is_empty

    def symbols(self, tests: Array, is_empty: Array) -> tuple[Array, Texts, int]:
        """Return the symbol of each row, the text of each symbol, and the number of names among them."""
        column = _encoded(self.column("name", pa.string()))
        _check(is_empty | column.is_valid().to_numpy(zero_copy_only=False), "the name is null", self.numbers)
        texts = column.dictionary
        index = np.asarray(column.indices.fill_null(0)).astype(np.int64)
        is_tag = tests == Test.TAG
        reserved = pc.equal(texts, RESERVED_NAME).to_numpy(zero_copy_only=False)
        _check(
            is_tag | is_empty | ~reserved[index] if len(texts) else is_empty,
            'the name "#" is reserved for tags',
            self.numbers,
        )
        names, tags = np.unique(index[~is_tag & ~is_empty]), np.unique(index[is_tag & ~is_empty])
        renumbered = np.zeros((2, max(1, len(texts))), np.int64)  # rows without a name refer to the first
        renumbered[0, names] = np.arange(len(names))
        renumbered[1, tags] = len(names) + np.arange(len(tags))
        chosen = texts.take(pa.array(np.concatenate([names, tags])))
        return renumbered[is_tag.astype(np.int8), index], _texts(chosen), len(names)

    def operands(self, tests: Array) -> tuple[Numbers, Texts, Array]:
        """Return the sorted numbers and strings, and the rank of each row's constant among them."""
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
        _check(np.isfinite(values), "NaN and infinity are not values", self.numbers)
        ints = split_ints(np.asarray(self.column("int", pa.int64()).fill_null(0))[is_number])
        is_float, values = is_float[is_number], values[is_number]
        low = np.where(is_float, 0, ints.low).astype(np.int16)
        numbers, ranks = sort_numbers(Numbers(np.where(is_float, values, ints.high), low))
        operands[is_number] = ranks
        return numbers


def _filter(row: dict[str, Any]) -> Filter:
    """Return the filter of one row."""
    constants = [row[name] for name in _VALUES if row[name] is not None]
    if row["op"] is None:
        return Filter()
    if row["op"] == _TEXT:
        return parse_filter(row["string"] or "")
    if row["op"] == _TAG:
        return Filter(tags=[row["name"]])
    if len(constants) > 1:
        raise InputError("two constants are set")
    return Filter([Constraint(row["name"], row["op"], *constants)])


def _grouped(filters: Array) -> tuple[Array, Array]:
    """Return the rows in an order in which rows of one filter are adjacent, and the offset of each filter."""
    is_sorted = bool(np.all(filters[1:] >= filters[:-1]))
    order = np.arange(len(filters)) if is_sorted else np.argsort(filters, kind="stable")
    starts = np.flatnonzero(np.diff(filters[order], prepend=filters[order][:1] - 1))
    return order, np.append(starts, len(filters))


def _tests_of(op: str) -> list[int]:
    """Return the tests of an op: without constant, and with one of each type."""
    if op == _TAG:
        return [Test.TAG, *[_NO_TEST] * len(ValueType)]
    operator = next((operator for operator in Op if operator.value == op), None)
    return [TESTS.get((operator, kind), _NO_TEST) if operator else _NO_TEST for kind in (None, *ValueType)]


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    """Return a column with a dictionary of distinct values."""
    if not pa.types.is_dictionary(column.type):
        return column.dictionary_encode()
    distinct = column.dictionary.dictionary_encode()  # a dictionary of the input may contain a value twice
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
    return texts_of_arrow(strings)


def _check(ok: Array, problem: str, rows: Array) -> None:
    if not ok.all():
        raise InputError(f"row {rows[np.argmin(ok)] + 1}: {problem}")
