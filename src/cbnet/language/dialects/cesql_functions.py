"""Functions of CESQL on constants, and the reasons why some have no counterpart on attributes [CESQL 1.0 §3.5].

A function gives None where the specification has an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cbnet.language.expressions.functions import Function
from cbnet.language.values import Value, ValueType

_STRING, _NUMBER = ValueType.STRING, ValueType.NUMBER


@dataclass(frozen=True)
class EventFunction:
    """A function of CESQL: the types of its parameters, and of its result.

    `function` is ours, of one value; `fold` is for constants alone, with a hint what to write instead. A function that
    has neither is the cast of its parameter.
    """

    parameters: tuple[ValueType, ...]
    result: ValueType
    function: Function | None = None
    fold: Callable[..., Value] | None = None
    hint: str = ""
    optional: int = 0  # parameters that may be left out
    is_variadic: bool = False  # the last parameter stands for any number

    def types(self, count: int) -> Sequence[ValueType] | None:
        """Return the types of as many arguments, or None if the function does not take them."""
        known = len(self.parameters)
        if self.is_variadic:
            return (*self.parameters[:-1], *[self.parameters[-1]] * (count - known + 1)) if count >= known - 1 else None
        return self.parameters[:count] if known - self.optional <= count <= known else None


def _left(text: str, count: int) -> str | None:
    return text[:count] if count >= 0 else None


def _right(text: str, count: int) -> str | None:
    return text[max(0, len(text) - count) :] if count >= 0 else None


def _substring(text: str, position: int, length: int | None = None) -> str | None:
    if abs(position) > len(text) or (length is not None and length < 0):
        return None
    if position == 0:
        return ""
    start = position - 1 if position > 0 else len(text) + position
    return text[start : None if length is None else start + length]


def _trim(text: str) -> str:
    # str.strip also removes the separators U+001C to U+001F, which are not white space in Unicode.
    kept = [index for index, char in enumerate(text) if not char.isspace() or "\x1c" <= char <= "\x1f"]
    return text[kept[0] : kept[-1] + 1] if kept else ""


def _concat(*texts: str) -> str:
    return "".join(texts)


def _concat_ws(separator: str, *texts: str) -> str:
    return separator.join(texts)


def _folded(fold: Callable[..., Any], *parameters: ValueType, hint: str, **options: Any) -> EventFunction:
    return EventFunction(parameters, _STRING, fold=fold, hint=hint, **options)


_COMPARE_PARTS = "compare the attributes one by one"
EVENT_FUNCTIONS = {
    "LENGTH": EventFunction((_STRING,), _NUMBER, "length"),
    "LOWER": EventFunction((_STRING,), _STRING, "lower"),
    "UPPER": EventFunction((_STRING,), _STRING, "upper"),
    "ABS": EventFunction((_NUMBER,), _NUMBER, "abs"),
    "CONCAT": _folded(_concat, _STRING, hint=_COMPARE_PARTS, is_variadic=True),
    "CONCAT_WS": _folded(_concat_ws, _STRING, _STRING, hint=_COMPARE_PARTS, is_variadic=True),
    "TRIM": _folded(_trim, _STRING, hint="publish the attribute without white space around it"),
    "LEFT": _folded(_left, _STRING, _NUMBER, hint="write x LIKE 'abc%'"),
    "RIGHT": _folded(_right, _STRING, _NUMBER, hint="write x LIKE '%abc'"),
    "SUBSTRING": _folded(_substring, _STRING, _NUMBER, _NUMBER, hint="write x LIKE '__abc%'", optional=1),
    # Casts, which the text of version 1.0 mentions. `BOOL` is a condition.
    "INT": EventFunction((_NUMBER,), _NUMBER),
    "STRING": EventFunction((_STRING,), _STRING),
}
