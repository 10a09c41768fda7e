"""Values of attributes and constraints: types, validation, order, notation.

Four types: string, number, bool, null. Ints of 64 bits and finite 64-bit floats are one type, number,
and compare exactly: 2**53 + 1 differs from float(2**53), 1 equals 1.0, -0.0 equals 0. A bool is
not a number, unlike in Python: every key holds the type beside the value.
Strings are sequences of Unicode code points without surrogates, ordered by code point, which is
the order of their UTF-8 bytes; they are never normalised.

A date or time is a string, `2026-11-15T22:44:32.000000000Z`: in UTC, with nine fractional digits, so that the
order of the strings is the order of time. A decimal is the 64-bit int that it equals, or the nearest float; one without
a fraction and an exponent is an int, which must fit in 64 bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeAlias

from cbnet.errors import ValueDomainError

Value: TypeAlias = str | int | float | bool | None

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
RESERVED_NAME = "#"  # the key of the tags in a JSON message
KEYWORDS = frozenset({"and", "or", "not", "exists", "true", "false", "null"})
# Keywords in some positions only: names that read as one there are printed in backquotes.
CONTEXTUAL_KEYWORDS = frozenset({"absent", "in", "like", "is", "div", "mod"})
FOREIGN_NULLS = frozenset({"NULL", "Null", "None", "nil", "undefined"})
# Values of other languages: as names they are printed in backquotes too, since they are refused as operands.
FOREIGN_VALUES = FOREIGN_NULLS | {"True", "TRUE", "False", "FALSE", "NaN", "nan", "inf", "Infinity"}
_QUOTED_NAMES = KEYWORDS | CONTEXTUAL_KEYWORDS | FOREIGN_VALUES
BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NUMPY_TYPES: dict[str, Callable[[Any], Value]] = {"b": bool, "i": int, "u": int, "f": float}  # of scalars, by kind
POSITION = r"\[(?:0|-?[1-9][0-9]{0,8})\]"
# A name, or the item itself inside a quantifier, and items by position: `tags[1]`, `orders[0].items[-1].price`, `@[0]`.
NAME = re.compile(rf"(?:[A-Za-z_][A-Za-z0-9_.-]*|@)(?:{POSITION}(?:\.[A-Za-z0-9_-][A-Za-z0-9_.-]*)?)*")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


class ValueType(IntEnum):
    """The type of a value. Values of different types never match each other."""

    BOOL = 0
    NUMBER = 1
    STRING = 2
    NULL = 3

    def __str__(self) -> str:
        return self.name.lower()


def value_type(value: Value) -> ValueType:
    """Return the type of a valid value."""
    if isinstance(value, str):
        return ValueType.STRING
    if value is None:
        return ValueType.NULL
    return ValueType.BOOL if isinstance(value, bool) else ValueType.NUMBER


def sort_key(value: Value) -> tuple[ValueType, str | int | float]:
    """Return a key that orders all values and keeps `true` apart from 1."""
    return value_type(value), 0 if value is None else value


def validate_value(value: object, where: str) -> Value:
    """Return `value` as a plain Python value; raise an error if no message can hold it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if INT_MIN <= value <= INT_MAX:
            return int(value)
        problem = f"{where}: the integer does not fit in 64 bits ({INT_MIN} to {INT_MAX})"
        raise ValueDomainError(problem, hint="write a decimal point for the nearest float, or a string")
    if isinstance(value, float):
        return _validate_float(float(value), where)
    if isinstance(value, str):
        return validate_text(value, where)
    if isinstance(value, date):
        return _format_time(value, where)
    if isinstance(value, Decimal):
        return _decimal_number(value, where)
    if (plain := _NUMPY_TYPES.get(getattr(getattr(value, "dtype", None), "kind", ""))) and not getattr(
        value, "ndim", 1
    ):
        return validate_value(plain(value), where)
    hint = "use a string, an int, a float, a bool, null or a date"
    raise ValueDomainError(f"{where}: {type_name(value)} is not a value", hint=hint)


def validate_name(name: object) -> str:
    """Return the name of an attribute; raise an error if it is not valid."""
    if not isinstance(name, str):
        raise ValueDomainError(f"an attribute's name must be a string, not {type_name(name)}")
    if name == RESERVED_NAME:
        raise ValueDomainError('the name "#" is reserved for the tags of a message', hint="choose another name")
    return validate_text(name, "attribute name")


def validate_tags(tags: object) -> frozenset[str]:
    """Return a set of tags; raise an error if they are not valid."""
    if isinstance(tags, str) or not isinstance(tags, Iterable):  # a string is a single tag without its list
        raise ValueDomainError("the tags must be a list of strings", hint='write ["a", "b"]')
    checked = set()
    for tag in tags:
        if not isinstance(tag, str):
            raise ValueDomainError(f"a tag must be a string, not {type_name(tag)}")
        checked.add(validate_text(tag, "tag"))
    return frozenset(checked)


def validate_text(text: str, where: str) -> str:
    """Return `text`; raise an error if it cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X} at character {error.start + 1}"
        raise ValueDomainError(
            f"{where}: the string holds half of a surrogate pair ({half})",
            hint="write the whole code point",
        ) from None
    return str.__str__(text)  # an enum member of type str would print its name


def canonical(value: Value) -> Value:
    """Return the canonical form of a constant: a float equal to a 64-bit int becomes that int."""
    if isinstance(value, float) and value.is_integer() and INT_MIN <= value <= INT_MAX:
        return int(value)
    return value


def _validate_float(value: float, where: str) -> float:
    if math.isfinite(value):
        return value
    name = "NaN" if math.isnan(value) else "infinity"
    raise ValueDomainError(f"{where}: {name} is not a value", hint="omit the attribute, or use a finite number")


def _format_time(value: date, where: str) -> str:
    """Return a date or time as text; one without a time zone is in UTC."""
    if value != value:  # pandas.NaT
        raise ValueDomainError(f"{where}: NaT is not a value", hint="omit the attribute")
    if not isinstance(value, datetime):
        return f"{value.isoformat()}T00:00:00.000000000Z"
    try:
        utc = value if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        hint = "use a time of the years 1 to 9999"
        raise ValueDomainError(f"{where}: the time is out of range in UTC", hint=hint) from None
    nanoseconds = utc.microsecond * 1000 + getattr(utc, "nanosecond", 0)  # pandas.Timestamp has nanoseconds
    return f"{utc.year:04}-{utc.month:02}-{utc.day:02}T{utc:%H:%M:%S}.{nanoseconds:09}Z"


def _decimal_number(value: Decimal, where: str) -> int | float:
    if not value.is_finite():
        return _validate_float(float("nan" if value.is_nan() else "inf"), where)
    if value.as_tuple().exponent == 0:
        validate_value(number := int(value), where)
        return number
    if -30 < value.adjusted() < 30 and value == value.to_integral_value() and INT_MIN <= value <= INT_MAX:
        return int(value)
    return _validate_float(float(value), where)


def type_name(value: object) -> str:
    """Return the user-facing name of a Python type."""
    names = {
        type(None): "null", dict: "a nested object", list: "a list", tuple: "a list",
        bool: "a bool", int: "a number", float: "a number", str: "a string",
        bytes: "a bytes object",
    }  # fmt: skip
    full_name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return names.get(type(value), f"{'an' if full_name[0] in 'aeioAEIO' else 'a'} {full_name}")


def format_name(name: str) -> str:
    """Return an attribute's name, in backquotes if necessary."""
    if NAME.fullmatch(name) and name not in _QUOTED_NAMES:
        return name
    if name.endswith(")"):
        from cbnet.language.computed import computed  # imports this module

        if computed(name) is not None:
            return name
    return _quoted(name, "`")


def format_tag(tag: str) -> str:
    """Return a tag with its `#`, in quotes if necessary."""
    return f"#{tag}" if BARE_NAME.fullmatch(tag) else "#" + _quoted(tag, '"')


def format_value(value: Value) -> str:
    """Return the text of a constant."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value, '"') if isinstance(value, str) else repr(value)


def _quoted(text: str, quote: str) -> str:
    return quote + "".join(_escaped(char, quote) for char in text) + quote


def _escaped(char: str, quote: str) -> str:
    if char == quote:
        return "\\" + quote
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    units = char.encode("utf-16-be")  # beyond U+FFFF: two units, as in JSON
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
