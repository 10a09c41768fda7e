"""Constraints: tests of one attribute by a name, an operator and a constant.

A constraint holds only if the message has the attribute with a value of the constant's type:
`x != 5` fails for a message without x, and for one where x is a string.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum
from typing import Any

from cbnet.errors import ValueDomainError
from cbnet.language.notation import format_name, format_value
from cbnet.language.value_object import ValueObject
from cbnet.language.values import Value, ValueType, canonical, sort_key, validate_name, validate_value, value_type


class Op(Enum):
    """An operator; its value is its spelling."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    PREFIX = "^="
    SUFFIX = "$="
    SUBSTRING = "*="
    EXISTS = "exists"

    def __str__(self) -> str:
        return self.value

    @property
    def rank(self) -> int:
        """Return the operator's rank in the order of constraints."""
        return _RANK[self]


_RANK = {op: rank for rank, op in enumerate(Op)}
_ORDERING = frozenset({Op.LT, Op.LE, Op.GT, Op.GE})
_PATTERNS = frozenset({Op.PREFIX, Op.SUFFIX, Op.SUBSTRING})

# The operator that holds exactly where another fails, among values of one type.
OPPOSITE = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}

# The semantics of the operators: operator -> test(value in the message, constant), both of one type.
_TESTS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
    Op.PREFIX: str.startswith,
    Op.SUFFIX: str.endswith,
    Op.SUBSTRING: operator.contains,
}


def takes(op: Op, kind: ValueType) -> bool:
    """Return whether the operator compares values of this type."""
    if op in _PATTERNS:
        return kind is ValueType.STRING
    return kind is not ValueType.BOOL or op not in _ORDERING


class Constraint(ValueObject):
    """An immutable test of one attribute, as in `price < 500` or `exists price`."""

    __slots__ = ("kind", "name", "op", "value")
    _family = "constraint"
    name: str
    op: Op
    value: Value | None  # None for `exists` only
    kind: ValueType | None

    def __init__(self, name: str, op: Op | str, value: Value | None = None) -> None:
        self._set(name=validate_name(name), op=_validate_op(op))
        constant = self._validate_constant(value)
        self._set(value=constant, kind=None if constant is None else value_type(constant))

    def _validate_constant(self, value: Value | None) -> Value | None:
        if self.op is Op.EXISTS:
            if value is not None:
                raise ValueDomainError(f"`exists {self.name}` takes no value", hint=f"write `{self.name} = …`")
            return None
        if value is None:
            raise ValueDomainError(
                f"`{self.name} {self.op}` needs a value", hint="use the operator `exists` for any value"
            )
        constant = canonical(validate_value(value, self.name))
        if takes(self.op, value_type(constant)):
            return constant
        problem, hint = refusal(self.op, constant)
        raise ValueDomainError(problem, hint=hint)

    def accepts(self, value: Value) -> bool:
        """Return whether an attribute with this value satisfies the constraint."""
        if not isinstance(value, (str, int, float)):  # not a value
            return False
        if self.op is Op.EXISTS:
            return True
        return value_type(value) is self.kind and _TESTS[self.op](value, self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Constraint, (self.name, self.op.value, self.value)

    def __str__(self) -> str:
        if self.value is None:
            return f"exists {format_name(self.name)}"
        return f"{format_name(self.name)} {self.op} {format_value(self.value)}"

    def __repr__(self) -> str:
        constant = "" if self.value is None else f", {self.value!r}"
        return f"Constraint({self.name!r}, {self.op.value!r}{constant})"

    def _make_key(self) -> tuple[Any, ...]:
        return self.name, self.op.rank, () if self.value is None else sort_key(self.value)


def refusal(op: Op, value: Value) -> tuple[str, str]:
    """Return the problem of a `value` that `op` does not take, and a hint."""
    if op in _PATTERNS:
        return (
            f"`{op}` compares strings, not a {value_type(value)}",
            f'write the string "{format_value(value)}", or `=`',
        )
    return f"`{op}` compares numbers and strings, not a bool", "write `=` or `!=`"


def _validate_op(op: Op | str) -> Op:
    try:
        return Op(op)
    except ValueError:
        raise ValueDomainError(f"unknown operator {op!r}", hint="use one of " + " ".join(map(str, Op))) from None
