"""Constraints: tests of one attribute by a name, an operator and a constant.

A constraint holds only of a value of the constant's type: `x != 5` fails for a message without x, and for one
where x is a string. Equality with null is defined for values of all types: `x != null` holds of every other value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeAlias, cast

from cbnet.errors import ValueDomainError
from cbnet.language.value_object import ValueObject
from cbnet.language.values import (
    Value,
    ValueType,
    canonical,
    format_name,
    format_value,
    sort_key,
    type_name,
    validate_name,
    validate_value,
    value_type,
)


class Op(Enum):
    """An operator; its value is its spelling, and its rank its number in byte forms, condition codes and kernels."""

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
    IN = "in"

    def __str__(self) -> str:
        return self.value

    @property
    def rank(self) -> int:
        """Return the operator's rank in the order of constraints."""
        return _RANK[self]


_RANK = {op: rank for rank, op in enumerate(Op)}
ORDERING = frozenset({Op.LT, Op.LE, Op.GT, Op.GE})
PATTERNS = frozenset({Op.PREFIX, Op.SUFFIX, Op.SUBSTRING})

# The operator that holds exactly where another fails, among values of one type.
OPPOSITE = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}

# The semantics of the operators: operator -> test(value in the message, constant), both of one type.
TESTS: dict[Op, Callable[[Any, Any], bool]] = {
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
Values: TypeAlias = tuple[Value, ...]
_NO_VALUE: Any = object()


def takes(op: Op, kind: ValueType) -> bool:
    """Return whether the operator compares values of this type."""
    if op in PATTERNS:
        return kind is ValueType.STRING
    return op not in ORDERING or kind in (ValueType.NUMBER, ValueType.STRING)


def value_set(values: Iterable[Value], where: str) -> Values:
    """Return the values of a list in order, each once."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueDomainError(f"`{where} in` needs a list of values", hint="write (1, 2, 3)")
    checked = (canonical(validate_value(value, where)) for value in values)
    distinct = {sort_key(value): value for value in checked}
    return tuple(distinct[key] for key in sorted(distinct))


class Constraint(ValueObject):
    """An immutable test of one attribute, as in `price < 500`, `dest in ("MXP", "LIN")` or `exists price`.

    `value` is the constant; for `in` a sorted tuple of at least two, since `in` with one value is `=`.
    """

    __slots__ = ("_keys", "kind", "name", "op", "value")
    _family = "constraint"
    name: str
    op: Op
    value: Value | Values
    _keys: frozenset[tuple[ValueType, str | int | float]]  # of the members of `in`
    kind: ValueType | None  # the type of the constants; None for `exists`, and for `in` with several types

    def __init__(self, name: str, op: Op | str, value: Value | Iterable[Value] = _NO_VALUE) -> None:
        try:
            self._set(name=validate_name(name), op=Op(op))
        except ValueError:
            raise ValueDomainError(f"unknown operator {op!r}", hint="use one of " + " ".join(map(str, Op))) from None
        if self.op is Op.IN:
            self._set_members(value_set(cast("Iterable[Value]", value), self.name))
        else:
            constant = self._validate_constant(value)
            self._set(value=constant, kind=None if self.op is Op.EXISTS else value_type(constant))

    def _set_members(self, members: Values) -> None:
        if not members:
            raise ValueDomainError(f"`{self.name} in` needs a value", hint="write `false` to match no message")
        kinds = {value_type(member) for member in members}
        kind = kinds.pop() if len(kinds) == 1 else None
        if len(members) == 1:
            self._set(op=Op.EQ, value=members[0], kind=kind)
        else:
            self._set(value=members, kind=kind, _keys=frozenset(map(sort_key, members)))

    def _validate_constant(self, value: object) -> Value:
        if self.op is Op.EXISTS:
            if value is not None and value is not _NO_VALUE:
                raise ValueDomainError(f"`exists {self.name}` takes no value", hint=f"write `{self.name} = …`")
            return None
        if value is _NO_VALUE:
            hint = "use the operator `exists` for any value"
            raise ValueDomainError(f"`{self.name} {self.op}` needs a value", hint=hint)
        constant = canonical(validate_value(value, self.name))
        if takes(self.op, value_type(constant)):
            return constant
        problem, hint = refusal(self.op, constant)
        raise ValueDomainError(problem, hint=hint)

    @property
    def members(self) -> Values:
        """The constants: those of `in`, or the one of another operator."""
        return cast("Values", self.value) if self.op is Op.IN else (cast("Value", self.value),)

    def accepts(self, value: Value) -> bool:
        """Return whether a value satisfies the constraint."""
        if self.op is Op.EXISTS:
            return True
        if self.op is Op.IN:
            return sort_key(value) in self._keys
        if self.value is None:
            return (value is None) == (self.op is Op.EQ)
        return value_type(value) is self.kind and TESTS[self.op](value, self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Constraint, (self.name, self.op.value, self.value)

    def __str__(self) -> str:
        name = format_name(self.name)
        if self.op is Op.EXISTS:
            return f"exists {name}"
        if self.op is Op.IN:
            return f"{name} in {format_set(self.members)}"
        if name.endswith(")") and (quantified := self._format_quantified(name)):
            return quantified
        return f"{name} {self.op} {format_value(self.members[0])}"

    def _format_quantified(self, name: str) -> str | None:
        """Return the text of `all`, `not all` or `none`; None of other constraints."""
        if name.startswith("all ") and isinstance(self.value, bool) and self.op is Op.EQ:
            return name if self.value else f"not {name}"
        is_none = name.startswith("count(") and name.endswith("))") and self.op is Op.EQ
        return f"none {name[6:-1]}" if is_none and self.value == 0 and self.kind is ValueType.NUMBER else None

    def __repr__(self) -> str:
        constant = "" if self.op is Op.EXISTS else f", {self.value!r}"
        return f"Constraint({self.name!r}, {self.op.value!r}{constant})"

    def _make_key(self) -> tuple[Any, ...]:
        constants = () if self.op is Op.EXISTS else tuple(map(sort_key, self.members))
        return self.name, self.op.rank, constants


def format_set(values: Values) -> str:
    """Return the text of a set of values."""
    return f"({', '.join(map(format_value, values))})"


def refusal(op: Op, value: Value) -> tuple[str, str]:
    """Return the problem of a `value` that `op` does not take, and a hint."""
    if op in PATTERNS:
        return (
            f"`{op}` compares strings, not {type_name(value)}",
            f'write the string "{format_value(value)}", or `=`',
        )
    return f"`{op}` compares numbers and strings, not {type_name(value)}", "write `=` or `!=`"
