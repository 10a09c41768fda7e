"""Expressions: attributes, constants, arithmetic and functions, with their values.

An expression has a value, or none (`UNKNOWN`): an attribute is missing, an operand has the wrong type, or a
result is not a number. A number that equals a 64-bit int is that int. Sums, differences and products of ints are
exact if they fit in 64 bits; everything else is computed in 64-bit floats.

A function takes one value and gives a value, or none for a value of another type:

lower(e)    upper(e)        a string by code points; one without a single counterpart stays
length(e)                   the number of code points of a string
abs(e)                      the absolute value of a number
int(e)                      an int is itself; "+05" is 5; true is 1 and false 0
string(e)                   a string is itself; 5 is "5"; true is "true"
time(e)                     a date or time as text, in nanoseconds since 1970: see `timestamps`
bool(e)                     a bool is itself; 0 is false, other ints are true; "true" and "false" in any case
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeAlias

from cbnet.errors import LimitError
from cbnet.language.timestamps import duration_text, nanoseconds
from cbnet.language.values import INT_MAX, INT_MIN, Value, ValueType, canonical, format_name, format_value, value_type

Number: TypeAlias = int | float
MAX_EXPRESSION_DEPTH = 64  # levels; the kernel `condition_eval` has memory for as many operands and one more
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "div": 2, "mod": 2}
_OPERATIONS: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
Function: TypeAlias = Literal["lower", "upper", "length", "abs", "int", "string", "bool", "time"]
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")
_BOOLS = {"true": True, "false": False}


class Missing(Enum):
    """The result of an expression that has no value."""

    UNKNOWN = 0


UNKNOWN: Final = Missing.UNKNOWN


@dataclass(frozen=True, slots=True)
class Attribute:
    """The value of an attribute."""

    name: str

    def __str__(self) -> str:
        return format_name(self.name)


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant."""

    value: Value

    def __str__(self) -> str:
        return format_value(self.value)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation on two numbers: + - * / div mod."""

    op: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self._operand(self.left, self.right, 0)} {self.op} {self._operand(self.right, self.left, 1)}"

    def _operand(self, operand: Expression, other: Expression, extra: int) -> str:
        """Return an operand, in parentheses if it binds less; a right operand must bind more."""
        if isinstance(operand, Arithmetic) and PRECEDENCE[operand.op] < PRECEDENCE[self.op] + extra:
            return f"({operand})"
        return format_beside(operand, other)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one value."""

    function: Function
    argument: Expression

    def __str__(self) -> str:
        return f"{self.function}({self.argument})"


Expression: TypeAlias = Attribute | Constant | Arithmetic | Call


def has_time(expression: Expression) -> bool:
    """Return whether an expression calculates with times."""
    if isinstance(expression, Call) and expression.function == "time":
        return True
    return any(map(has_time, parts_of(expression)))


def format_beside(operand: Expression, other: Expression) -> str:
    """Return the text of an operand; that of a number beside times as a duration, if it is one."""
    duration = duration_text(operand.value) if isinstance(operand, Constant) and has_time(other) else None
    return duration or str(operand)


def names(expression: Expression) -> Iterator[str]:
    """Yield the names of the attributes in an expression."""
    if isinstance(expression, Attribute):
        yield expression.name
    for operand in parts_of(expression):
        yield from names(operand)


def check_expression_depth(expression: Expression) -> None:
    """Raise an error if an expression has too many levels: every other function recurses."""
    level, depth = [expression], 0
    while level and depth < MAX_EXPRESSION_DEPTH:
        level = [operand for each in level for operand in parts_of(each)]
        depth += 1
    if level:
        limit, hint = MAX_EXPRESSION_DEPTH, "write fewer operations"
        raise LimitError("levels of operations in an expression", limit + 1, limit, hint=hint)


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the operands of an operation; none of an attribute or constant."""
    if isinstance(expression, Arithmetic):
        return expression.left, expression.right
    return (expression.argument,) if isinstance(expression, Call) else ()


def evaluate(expression: Expression, values: Mapping[str, Value]) -> Value | Missing:
    """Return the value of an expression, from the values of the attributes."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Attribute):
        return values.get(expression.name, UNKNOWN)
    if isinstance(expression, Call):
        argument = evaluate(expression.argument, values)
        result = None if isinstance(argument, Missing) else call(expression.function, argument)
        return UNKNOWN if result is None else result
    left, right = evaluate(expression.left, values), evaluate(expression.right, values)
    if not _is_number(left) or not _is_number(right):
        return UNKNOWN
    return calculate(expression.op, left, right)  # type: ignore[arg-type]


def folded(operation: Arithmetic | Call) -> Expression | None:
    """Return an operation; of constants, its value, or None if it has none. A time is kept as written."""
    if not all(isinstance(operand, Constant) for operand in parts_of(operation)):
        return operation
    value = evaluate(operation, {})
    if isinstance(value, Missing):
        return None
    return operation if isinstance(operation, Call) and operation.function == "time" else Constant(value)


def calculate(op: str, left: Number, right: Number) -> Number | Missing:
    """Return the result of an arithmetic operation."""
    a, b = canonical(left), canonical(right)
    if op in ("div", "mod"):
        return _divide_ints(op, a, b)
    if op == "/":
        return _finite(lambda: float(a) / float(b))  # type: ignore[arg-type]
    operation = _OPERATIONS[op]
    if isinstance(a, int) and isinstance(b, int):
        exact = operation(a, b)
        if INT_MIN <= exact <= INT_MAX:
            return exact
    return _finite(lambda: operation(float(a), float(b)))  # type: ignore[arg-type]


def _divide_ints(op: str, a: Value, b: Value) -> Number | Missing:
    if not isinstance(a, int) or not isinstance(b, int) or b == 0:
        return UNKNOWN
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    result = quotient if op == "div" else a - b * quotient
    return result if result <= INT_MAX else float(result)


def _finite(operation: Callable[[], Number]) -> Number | Missing:
    try:
        result = operation()
    except ZeroDivisionError:
        return UNKNOWN
    return canonical(result) if math.isfinite(result) else UNKNOWN  # type: ignore[return-value]


def _is_number(value: Value | Missing) -> bool:
    return not isinstance(value, Missing) and value_type(value) is ValueType.NUMBER


def call(function: Function, value: Value) -> Value:
    """Return the result of a function; None if it has none. No result is null."""
    return _FUNCTIONS[function](canonical(value))


def change_case(function: Literal["lower", "upper"], text: str) -> str:
    """Return a text in lower or upper case, code point by code point; one that has no single counterpart stays."""
    method = str.lower if function == "lower" else str.upper
    return "".join(changed if len(changed := method(char)) == 1 else char for char in text)


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
    "length": lambda value: len(value) if isinstance(value, str) else None,
    "abs": _abs,
    "int": _int,
    "string": _string,
    "bool": _bool,
    "time": lambda value: nanoseconds(value) if isinstance(value, str) else None,
}
FUNCTIONS = tuple(_FUNCTIONS)
