"""Operands of CESQL as expressions, with casts and functions [CESQL 1.0 §3.5, §3.7].

An operand is a list of variants, since a condition is an operand too: it is true or false. Where the guard of no
variant holds, or its expression has no value, the operand is an error. Functions of constants are computed, and give
None where the specification has an error; some have no counterpart on attributes, and are refused with the reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from cbnet.language.cloud_events import TEXT_ATTRIBUTES
from cbnet.language.dialects.cesql_reader import CONDITIONS, CesqlReader
from cbnet.language.dialects.cesql_truth import Truth, all_of
from cbnet.language.dialects.event_attributes import exists, present
from cbnet.language.dialects.sql_reader import Node
from cbnet.language.expression import (
    Arithmetic,
    Attribute,
    Call,
    Constant,
    Expression,
    Function,
    folded,
    names,
)
from cbnet.language.formula import FALSE, TRUE, Formula
from cbnet.language.syntax.lexer import Token
from cbnet.language.values import Value, ValueType, value_type

_ARITHMETIC = {"+": "+", "-": "-", "*": "*", "/": "div", "%": "mod"}
_MAX_VARIANTS = 64
_CASTS: dict[ValueType, Function] = {ValueType.BOOL: "bool", ValueType.NUMBER: "int", ValueType.STRING: "string"}
_TOTAL = frozenset({"string", "lower", "upper", "length"})  # on the text of an attribute
_STRING, _NUMBER = ValueType.STRING, ValueType.NUMBER
_COMPARE_PARTS = "compare the attributes one by one"


@dataclass(frozen=True, slots=True)
class Variant:
    """An expression with its type, for the events of which a guard holds. The type is None if only an event tells."""

    expression: Expression
    type: ValueType | None
    guard: Formula = TRUE

    @property
    def attribute(self) -> str | None:
        """The name of the attribute that the expression is, if its type is not known."""
        return self.expression.name if isinstance(self.expression, Attribute) and self.type is None else None


def constant(value: Value) -> Variant:
    """Return the variant of a constant."""
    return Variant(Constant(value), value_type(value))


def cast(variant: Variant, type: ValueType) -> Expression | None:
    """Return an expression of a type; None if the cast of a constant fails."""
    return variant.expression if variant.type is type else folded(Call(_CASTS[type], variant.expression))


def has_value(expression: Expression) -> Formula:
    """Return the guard of an expression: all attributes exist, and all casts succeed."""
    inner = expression
    while isinstance(inner, Call) and inner.function in _TOTAL:
        inner = inner.argument
    if isinstance(inner, Attribute | Constant):
        return all_of(exists(name) for name in names(expression))
    return present(expression)


class OperandTranslator(ABC):
    """The translation of operands. A subclass translates conditions."""

    def __init__(self, reader: CesqlReader) -> None:
        self._reader = reader

    @abstractmethod
    def truth(self, node: Node) -> Truth:
        """Return the condition of a node, cast to a bool."""

    def variants(self, node: Node) -> list[Variant]:
        """Return the variants of a node as an operand."""
        if node.op == "literal":
            return [constant(node.value)]
        if node.op == "name":
            name = str(node.value)
            return [Variant(Attribute(name), ValueType.STRING if name in TEXT_ATTRIBUTES else None)]
        if node.op in CONDITIONS:
            truth = self.truth(node)
            sides = ((truth.true, True), (truth.false, False))
            return [Variant(Constant(side), ValueType.BOOL, guard) for guard, side in sides if guard != FALSE]
        return self._calculated(node) if node.op in _ARITHMETIC else self._called(node)

    def _calculated(self, node: Node) -> list[Variant]:
        operands = [self.variants(operand) for operand in node.operands]
        if len(operands) == 1:
            operands.insert(0, [constant(0)])  # -x is 0 - x
        found: list[Variant] = []
        for left, right in self._combinations(operands, node.token):
            a, b = cast(left, ValueType.NUMBER), cast(right, ValueType.NUMBER)
            result = None if a is None or b is None else folded(Arithmetic(_ARITHMETIC[node.op], a, b))
            found += _variants(result, ValueType.NUMBER, (left, right))
        return found

    def _called(self, node: Node) -> list[Variant]:
        name, count = node.op.removesuffix("()"), len(node.operands)
        function = EVENT_FUNCTIONS.get(name)
        if function is None:
            hint = f"use one of {', '.join(EVENT_FUNCTIONS)}"
            raise self._reader.error_at(node.token, f"unknown function `{node.token.text}`", hint)
        types = function.types(count)
        if types is None:
            problem = f"`{name}` does not take {count} argument{'s' * (count != 1)}"
            raise self._reader.error_at(node.token, problem, "correct the arguments")
        found: list[Variant] = []
        for arguments in self._combinations([self.variants(operand) for operand in node.operands], node.token):
            casts = [cast(each, type) for each, type in zip(arguments, types, strict=True)]
            if None not in casts:
                result = self._result(function, [each for each in casts if each is not None], node)
                found += _variants(result, function.result, arguments)
        return found

    def _result(self, function: EventFunction, arguments: Sequence[Expression], node: Node) -> Expression | None:
        """Return the result of a call; None if it is an error."""
        if function.fold is None:
            return folded(Call(function.function, arguments[0])) if function.function else arguments[0]
        values = [each.value for each in arguments if isinstance(each, Constant)]
        if len(values) < len(arguments):
            problem = f"`{node.token.text}` of an attribute is not supported: predicates do not build strings"
            raise self._reader.error_at(node.token, problem, function.hint)
        result = function.fold(*values)
        return None if result is None else Constant(result)

    def _combinations(self, operands: Sequence[Sequence[Variant]], token: Token) -> Iterable[tuple[Variant, ...]]:
        """Return the choices of one variant for each operand."""
        count = prod(map(len, operands))
        if count > _MAX_VARIANTS:
            problem = f"more than {_MAX_VARIANTS} combinations of conditions that are used as values"
            raise self._reader.error_at(token, problem, "join conditions with AND, OR and NOT")
        return product(*operands)


def _variants(expression: Expression | None, type: ValueType, operands: Iterable[Variant]) -> list[Variant]:
    """Return the variant of a result, or none if it is an error."""
    return [] if expression is None else [Variant(expression, type, all_of(each.guard for each in operands))]


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


def _substring(text: str, position: int, length: int | None = None) -> str | None:
    if abs(position) > len(text) or (length is not None and length < 0):
        return None
    if position == 0:
        return ""
    start = position - 1 if position > 0 else len(text) + position
    return text[start : None if length is None else start + length]


def is_space(char: str) -> bool:
    """Return whether a character is white space; Python counts four separators that Unicode does not."""
    return char.isspace() and not "\x1c" <= char <= "\x1f"


def _trim(text: str) -> str:
    kept = [index for index, char in enumerate(text) if not is_space(char)]
    return text[kept[0] : kept[-1] + 1] if kept else ""


def _folded(fold: Callable[..., Any], *parameters: ValueType, hint: str, **options: Any) -> EventFunction:
    return EventFunction(parameters, _STRING, fold=fold, hint=hint, **options)


EVENT_FUNCTIONS = {
    "LENGTH": EventFunction((_STRING,), _NUMBER, "length"),
    "LOWER": EventFunction((_STRING,), _STRING, "lower"),
    "UPPER": EventFunction((_STRING,), _STRING, "upper"),
    "ABS": EventFunction((_NUMBER,), _NUMBER, "abs"),
    "CONCAT": _folded(lambda *texts: "".join(texts), _STRING, hint=_COMPARE_PARTS, is_variadic=True),
    "CONCAT_WS": _folded(
        lambda separator, *texts: separator.join(texts), _STRING, _STRING, hint=_COMPARE_PARTS, is_variadic=True
    ),
    "TRIM": _folded(_trim, _STRING, hint="publish the attribute without white space around it"),
    "LEFT": _folded(
        lambda text, count: text[:count] if count >= 0 else None, _STRING, _NUMBER, hint="write x LIKE 'abc%'"
    ),
    "RIGHT": _folded(
        lambda text, count: text[max(0, len(text) - count) :] if count >= 0 else None,
        _STRING,
        _NUMBER,
        hint="write x LIKE '%abc'",
    ),
    "SUBSTRING": _folded(_substring, _STRING, _NUMBER, _NUMBER, hint="write x LIKE '__abc%'", optional=1),
    # Casts, which the text of version 1.0 mentions. `BOOL` is a condition.
    "INT": EventFunction((_NUMBER,), _NUMBER),
    "STRING": EventFunction((_STRING,), _STRING),
}
