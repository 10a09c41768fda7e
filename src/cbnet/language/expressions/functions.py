"""Functions of expressions: each takes one value and gives a value, or none for a value of another type.

lower(e)    upper(e)        a string by code points; one without a single counterpart stays
length(e)                   the number of code points of a string
abs(e)                      the absolute value of a number
int(e)                      an int is itself; "+05" is 5; true is 1 and false 0
string(e)                   a string is itself; 5 is "5"; true is "true"
bool(e)                     a bool is itself; 0 is false, other ints are true; "true" and "false" in any case
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from cbnet.language.values import INT_MAX, INT_MIN, Value, canonical

Function: TypeAlias = Literal["lower", "upper", "length", "abs", "int", "string", "bool"]
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")
_BOOLS = {"true": True, "false": False}


def call(function: Function, value: Value) -> Value:
    """Return the result of a function; None if it has none. No result is null."""
    return _FUNCTIONS[function](canonical(value))


def change_case(function: Literal["lower", "upper"], text: str) -> str:
    """Return a text in lower or upper case, code point by code point; one that has no single counterpart stays."""
    method = str.lower if function == "lower" else str.upper
    return "".join(changed if len(changed := method(char)) == 1 else char for char in text)


def _length(value: Value) -> Value:
    return len(value) if isinstance(value, str) else None


def _abs(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return abs(value) if value != INT_MIN else float(-INT_MIN)


def _int(value: Value) -> Value:
    if isinstance(value, int):
        return int(value)
    match = _INTEGER.fullmatch(value) if isinstance(value, str) else None
    number = int(match[1] + match[2]) if match else INT_MAX + 1
    return number if INT_MIN <= number <= INT_MAX else None


def _string(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else None


def _bool(value: Value) -> Value:
    if isinstance(value, str):
        return _BOOLS.get(change_case("lower", value))
    return bool(value) if isinstance(value, int) else None


_FUNCTIONS: dict[Function, Callable[[Value], Value]] = {
    "lower": lambda value: change_case("lower", value) if isinstance(value, str) else None,
    "upper": lambda value: change_case("upper", value) if isinstance(value, str) else None,
    "length": _length,
    "abs": _abs,
    "int": _int,
    "string": _string,
    "bool": _bool,
}
FUNCTIONS = tuple(_FUNCTIONS)
