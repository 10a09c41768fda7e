"""Values of Arrow columns as the language has them: bools, 64-bit ints, floats and strings.

Dates and times become strings in UTC with nine fractional digits, so that their order is the order of time.
Decimals become the ints that they equal, or the nearest floats; those of scale 0 are ints. A null is an absent value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.values import INT_MAX, INT_MIN

_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ARROW_BYTES = {"s": 19, "ms": 23, "us": 26, "ns": 29}  # of a time as Arrow writes it: 2026-11-15 22:44:32.000
_TIME_BYTES = len("2026-11-15T22:44:32.000000000Z")
_FIRST_INEXACT = 2.0**53  # ints below this are exact floats


@dataclass(frozen=True)
class PlainValues:
    """A column as arrays of bool, int64, float64 or string, each null where another one holds the value."""

    arrays: tuple[pa.Array, ...]
    invalid: NDArray[np.int64] | None = None  # positions of what is not a value
    problem: str = ""
    hint: str = ""


def plain_values(column: pa.Array) -> PlainValues:
    """Return the values of a column that is neither a list, nor a struct, nor a map."""
    if column.null_count == len(column):
        return PlainValues(())
    type = column.type
    if isinstance(type, pa.OpaqueType):
        name = f"{type.vendor_name}'s {type.type_name}"
    else:
        column = decoded(column)
        name, type = str(column.type), column.type
    for is_type, convert in _CONVERSIONS:
        if is_type(type):
            return convert(column)
    hint = "cast it to string, int, float, bool or timestamp"
    return PlainValues((), np.flatnonzero(column.is_valid()), f"{name} is not a valid type for values", hint)


def is_text(type: pa.DataType) -> bool:
    """Return whether a type holds strings."""
    return type in (pa.string(), pa.large_string(), pa.string_view())


def as_strings(column: pa.Array) -> pa.Array:
    """Return a column of texts with 32-bit offsets."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise InputError(str(error), hint="pass less than 2 GB of text per batch") from None


def decoded(column: pa.Array) -> pa.Array:
    """Return a column without its dictionary, runs or extension type."""
    while True:
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.storage
        elif pa.types.is_dictionary(column.type):
            values = column.dictionary
            column = (as_strings(values) if is_text(values.type) else values).take(column.indices)
        elif pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        else:
            return column


def _texts(column: pa.Array) -> PlainValues:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
        codes = column.view(binary[column.type]).to_pylist()
        wrong = np.array([text is not None and not is_utf8(text) for text in codes])
        kept = pa.array([None if bad else text for text, bad in zip(codes, wrong, strict=True)], pa.binary())
        return PlainValues((kept.cast(pa.string()),), np.flatnonzero(wrong), "the string is not UTF-8", "encode it")
    return PlainValues((as_strings(column),))


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are a text."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _ints(column: pa.Array) -> PlainValues:
    if column.type != pa.uint64():
        return PlainValues((column.cast(pa.int64()),))
    return _checked_ints(column, pc.less_equal(column, pa.scalar(INT_MAX, pa.uint64())))


def _checked_ints(column: pa.Array, fits: pa.Array) -> PlainValues:
    problem = f"the integer does not fit in 64 bits ({INT_MIN} to {INT_MAX})"
    return _checked(column, fits, pa.int64(), problem, "cast the column to float64 or string")


def _floats(column: pa.Array) -> PlainValues:
    problem = "NaN and infinity are not values"
    return _checked(column, pc.is_finite(column), pa.float64(), problem, "use null for an absent attribute")


def _checked(column: pa.Array, is_valid: pa.Array, type: pa.DataType, problem: str, hint: str) -> PlainValues:
    if not is_valid.false_count:
        return PlainValues((column.cast(type),))
    valid = pc.if_else(is_valid, column, pa.scalar(None, column.type)).cast(type)
    return PlainValues((valid,), np.flatnonzero(pc.invert(is_valid).fill_null(False)), problem, hint)


def _decimals(column: pa.Array) -> PlainValues:
    if column.type.scale == 0:  # as Spark and DuckDB have ints beyond 64 bits
        least, most = (pa.scalar(Decimal(limit), pa.decimal128(19)) for limit in (INT_MIN, INT_MAX))
        return _checked_ints(column, pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most)))
    floats = column.cast(pa.string()).cast(pa.float64())  # the nearest ones
    is_large = pc.greater_equal(pc.abs(floats), _FIRST_INEXACT).fill_null(False)
    if not is_large.true_count:
        return PlainValues((floats,))
    large = iter([_number(value) for value in column.filter(is_large).to_pylist()])
    numbers = [next(large) if each else None for each in is_large.to_pylist()]
    ints = pa.array([number if isinstance(number, int) else None for number in numbers], pa.int64())
    return PlainValues((ints, pc.if_else(ints.is_valid(), pa.scalar(None, pa.float64()), floats)))


def _number(value: Decimal) -> int | float:
    """Return the 64-bit int that a decimal equals, or the nearest float."""
    is_int = value == value.to_integral_value() and INT_MIN <= value <= INT_MAX
    return int(value) if is_int else float(value)


def _dates(column: pa.Array) -> PlainValues:
    return _times(column.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.int64()), "s", 86_400)


def _times(ticks: pa.Array, unit: str, size: int) -> PlainValues:
    """Return times from their ticks, each of `size` units."""
    first, last = _FIRST_SECOND * _PER_SECOND[unit] // size, (_LAST_SECOND + 1) * _PER_SECOND[unit] // size - 1
    wrong = None
    if unit != "ns":  # nanoseconds cannot leave these years
        is_wrong = pc.or_(pc.less(ticks, first), pc.greater(ticks, last)).fill_null(False)
        if is_wrong.true_count:
            wrong = np.flatnonzero(is_wrong)
            ticks = pc.if_else(is_wrong, pa.scalar(None, pa.int64()), ticks)
    texts = _time_texts(ticks, unit, size)
    return PlainValues((texts,), wrong, "the time is not in the years 1 to 9999", "use null for an absent attribute")


def _time_texts(ticks: pa.Array, unit: str, size: int) -> pa.Array:
    """Return times of the years 1 to 9999 as strings."""
    count, width = len(ticks), _ARROW_BYTES[unit]
    units = pc.multiply(ticks.fill_null(0), size).cast(pa.timestamp(unit))
    written = np.frombuffer(units.cast(pa.string()).buffers()[2], np.uint8, count * width).reshape(count, width)
    texts = np.full((count, _TIME_BYTES), ord("0"), np.uint8)
    texts[:, 19] = ord(".")
    texts[:, :width] = written
    texts[:, 10], texts[:, -1] = ord("T"), ord("Z")
    offsets = np.arange(count + 1, dtype=np.int32) * _TIME_BYTES
    bits = pc.is_valid(ticks).buffers()[1] if ticks.null_count else None
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(texts.reshape(-1)), bits)


_CONVERSIONS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], PlainValues]], ...] = (
    (is_text, _texts),
    (pa.types.is_integer, _ints),
    (pa.types.is_floating, _floats),
    (pa.types.is_boolean, lambda column: PlainValues((column,))),
    # whatever the time zone, timestamps count from 1970 in UTC
    (pa.types.is_timestamp, lambda column: _times(column.cast(pa.int64()), column.type.unit, 1)),
    (pa.types.is_date, _dates),
    (pa.types.is_decimal, _decimals),
)
