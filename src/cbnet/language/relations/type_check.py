"""The types of values that constraints and conditions can hold of.

An attribute may have values of some types, for example those of a column. False promises that no message passes;
True promises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from cbnet.language.condition import (
    AddressTest,
    Comparison,
    Condition,
    Like,
    Membership,
    Outcome,
    Presence,
    RegexTest,
    TagTest,
)
from cbnet.language.constraint import Constraint, Op, takes
from cbnet.language.expression import Arithmetic, Attribute, Call, Constant, Expression
from cbnet.language.values import ValueType, value_type

Types: TypeAlias = frozenset[ValueType]
TypesOf: TypeAlias = Callable[[str], Types]  # of an attribute; none if it is always absent

ALL_TYPES: Types = frozenset(ValueType)
_BOOL, _NUMBER, _STRING, _NULL = (frozenset([kind]) for kind in ValueType)
_PLAIN = ALL_TYPES - _NULL
_FUNCTIONS: dict[str, tuple[Types, Types]] = {  # the types of the argument, and of the result
    "lower": (_STRING, _STRING), "upper": (_STRING, _STRING), "length": (_STRING, _NUMBER), "abs": (_NUMBER, _NUMBER),
    "int": (_PLAIN, _NUMBER), "string": (_PLAIN, _STRING), "bool": (_PLAIN, _BOOL), "time": (_STRING, _NUMBER),
}  # fmt: skip


def accepted_types(constraint: Constraint) -> Types:
    """Return the types of the values that a constraint can hold of."""
    if constraint.op is Op.EXISTS:
        return ALL_TYPES
    if constraint.op is Op.NE and constraint.value is None:
        return _PLAIN
    return frozenset(map(value_type, constraint.members))


def condition_can_hold(condition: Condition, types: TypesOf, may_be_absent: Callable[[str], bool]) -> bool:
    """Return whether a condition can hold of attributes with values of some types."""
    test, accepted = condition.test, condition.accepted
    if isinstance(test, Presence):
        return bool(types(test.name)) if Outcome.TRUE in accepted else may_be_absent(test.name)
    if isinstance(test, TagTest) or Outcome.UNKNOWN in accepted:
        return True
    if isinstance(test, Comparison):
        return _is_decided(test, accepted, types)
    if isinstance(test, Like | RegexTest | AddressTest):
        return bool(result_types(test.operand, types) & _STRING)
    if isinstance(test, Membership):
        return bool(result_types(test.operand, types).intersection(map(value_type, test.values)))
    return True


def _is_decided(test: Comparison, accepted: Outcome, types: TypesOf) -> bool:
    """Return whether a comparison can have an accepted outcome, which is not unknown."""
    left, right = result_types(test.left, types), result_types(test.right, types)
    nulls = [isinstance(side, Constant) and side.value is None for side in (test.left, test.right)]
    if test.op in (Op.EQ, Op.NE) and any(nulls):
        equal, other = (Outcome.TRUE, Outcome.FALSE) if test.op is Op.EQ else (Outcome.FALSE, Outcome.TRUE)
        found = left if nulls[1] else right
        return (equal in accepted and bool(found & _NULL)) or (other in accepted and bool(found - _NULL))
    return any(takes(test.op, kind) for kind in left & right)


def result_types(expression: Expression, types: TypesOf) -> Types:
    """Return the types of the values that an expression can have."""
    if isinstance(expression, Attribute):
        return types(expression.name)
    if isinstance(expression, Constant):
        return frozenset([value_type(expression.value)])
    if isinstance(expression, Arithmetic):
        return _NUMBER if _all_can_be(_NUMBER, (expression.left, expression.right), types) else frozenset()
    if isinstance(expression, Call) and expression.function in _FUNCTIONS:
        argument, result = _FUNCTIONS[expression.function]
        return result if _all_can_be(argument, [expression.argument], types) else frozenset()
    return ALL_TYPES


def _all_can_be(kinds: Types, operands: Iterable[Expression], types: TypesOf) -> bool:
    return all(result_types(operand, types) & kinds for operand in operands)
