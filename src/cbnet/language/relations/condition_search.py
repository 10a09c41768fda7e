"""Search for a message that matches a filter with conditions and none of others, by trial.

Conditions relate several attributes by arithmetic, so no construction finds a value for each. The search tries
values near the constants of the conditions, and tests each condition once its attributes have values. It is bounded
and finds what people write, as in `price * quantity > 100`; finding nothing proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

from cbnet.language.address_block import block_of
from cbnet.language.condition import AddressTest, Comparison, Condition, Like, Membership, Presence, TagTest, Test
from cbnet.language.constraint import Constraint
from cbnet.language.expression import Arithmetic, Call, Constant, Expression, Missing, calculate, change_case
from cbnet.language.filter import Filter
from cbnet.language.like_pattern import pieces
from cbnet.language.message import Message
from cbnet.language.relations.ranges import AttributeRange, by_name
from cbnet.language.values import Value, ValueType, canonical, sort_key, value_type

_MAX_TRIED = 64  # attributes and tags; the others keep their first value
_MAX_VALUES = 24  # of one attribute
_MAX_CONSTANTS = 6  # combined by arithmetic
_MAX_LENGTH = 64  # of a string tried for a number
_STEPS = 20  # values assigned and conditions tested, per message of the budget
_COMPARED = 64  # wide filters and parts of the narrow one, per message of the budget
_COMMON: Sequence[Value] = (1, 0, 2, -1, 10, 0.5, "a", "", True, False, None)

_NO_MORE: Any = object()
_Options: TypeAlias = Sequence[Value | Missing]  # UNKNOWN: the attribute is absent


class ConditionSearch:
    """The search for a message that matches `narrow` and no filter of `wide`."""

    def __init__(self, wide: Sequence[Filter], narrow: Filter, budget: int) -> None:
        self._wide, self._narrow = wide, narrow
        self._steps = budget * _STEPS
        compared = len(wide) + len(narrow.constraints) + len(narrow.conditions)
        self._messages = min(budget, max(16, budget * _COMPARED // max(_COMPARED, compared)))
        conditions = [*narrow.conditions, *(condition for filter in wide for condition in filter.conditions)]
        self._required = by_name(narrow.constraints)
        self._fixed = {name: AttributeRange(group).first for name, group in self._required.items()}
        names = list(dict.fromkeys(name for condition in conditions for name in _tested(condition)))[:_MAX_TRIED]
        self._options = {name: self._values(name, conditions) for name in names}
        tested = (condition.test for condition in conditions if isinstance(condition.test, TagTest))
        self._tags = list(dict.fromkeys(test.tag for test in tested if test.tag not in narrow.tags))[:4]

    def run(self) -> Message | None:
        """Return a message, or None if none was found."""
        for values in self._assignments():
            for chosen in product((False, True), repeat=len(self._tags)):
                self._messages -= 1
                if self._messages < 0:
                    return None
                tags = (tag for tag, is_present in zip(self._tags, chosen, strict=True) if is_present)
                message = Message(values, [*self._narrow.tags, *tags])
                if self._narrow.matches(message) and not any(filter.matches(message) for filter in self._wide):
                    return message
        return None

    def _assignments(self) -> Iterator[dict[str, Value]]:
        """Yield values of the attributes that satisfy the conditions, until the steps are used up."""
        names = list(self._options)
        checked = _last_tested(self._narrow.conditions, names)
        remaining = [iter(self._options[names[0]])] if names else []
        values: dict[str, Value] = {}
        if not names:
            yield self._fixed
        while remaining and self._steps > 0:
            index = len(remaining) - 1
            self._steps -= 1 + len(checked[index])
            value = next(remaining[-1], _NO_MORE)
            values.pop(names[index], None)
            if value is _NO_MORE:
                remaining.pop()
                continue
            if not isinstance(value, Missing):
                values[names[index]] = value
            if not all(condition.holds(values) for condition in checked[index]):
                continue
            if index + 1 == len(names):
                yield self._fixed | values
            else:
                remaining.append(iter(self._options[names[index + 1]]))

    def _values(self, name: str, conditions: Iterable[Condition]) -> _Options:
        """Return values to try for an attribute: first those near the constants that it is compared with."""
        required = self._required.get(name, [])
        constants = [value for condition in conditions if name in condition.names for value in _near(condition.test)]
        ends: list[Value] = [] if name not in self._fixed else [self._fixed[name], AttributeRange(required).last]
        listed = [member for constraint in required for member in constraint.members if member is not None]
        tried = {sort_key(value): value for value in (*ends, *listed, *constants, *_COMMON)}
        fitting = [value for value in tried.values() if _accepts(required, value)][:_MAX_VALUES]
        return fitting if required else [Missing.UNKNOWN, *fitting]


def _tested(condition: Condition) -> Iterator[str]:
    if isinstance(condition.test, Presence):
        yield condition.test.name
    yield from sorted(condition.names)


def _last_tested(conditions: Iterable[Condition], names: Sequence[str]) -> list[list[Condition]]:
    """Return for each name the conditions that can be tested once it has a value."""
    ready: list[list[Condition]] = [[] for _ in names]
    for condition in conditions:
        if condition.names and condition.names <= set(names):
            ready[max(map(names.index, condition.names))].append(condition)
    return ready


def _accepts(constraints: Iterable[Constraint], value: Value) -> bool:
    return all(constraint.accepts(value) for constraint in constraints)


def _near(test: Test) -> Iterator[Value]:
    """Yield values near the constants of a test."""
    constants = list(_constants(test))
    numbers = [value for value in constants if value_type(value) is ValueType.NUMBER][:_MAX_CONSTANTS]
    for value in constants:
        if isinstance(value, str):
            yield from (value, change_case("lower", value), change_case("upper", value), value + "a", value[:-1])
        elif value not in numbers or isinstance(value, bool):
            yield value
    for number in numbers:
        yield from _results([number], [0, 1, -1], "+")
        if isinstance(number, int) and 0 <= number <= _MAX_LENGTH:
            yield "a" * number  # for length(x)
    for op in "*+-/":
        yield from _results(numbers, numbers, op)


def _results(lefts: Iterable[Value], rights: Sequence[Value], op: str) -> Iterator[Value]:
    for left, right in product(lefts, rights):
        result = calculate(op, left, right)  # type: ignore[arg-type]
        if not isinstance(result, Missing):
            yield canonical(result)


def _constants(test: Test) -> Iterator[Value]:
    if isinstance(test, Comparison):
        yield from _constants_of(test.left)
        yield from _constants_of(test.right)
    elif isinstance(test, Membership):
        yield from test.values
        yield from _constants_of(test.operand)
    elif isinstance(test, Like):
        yield "".join("".join(char or "a" for char in piece) for piece in pieces(test.pattern))
        yield from _constants_of(test.operand)
    elif isinstance(test, AddressTest):
        yield from (str(block_of(test.block).network_address), "0.0.0.0", "::")


def _constants_of(expression: Expression) -> Iterator[Value]:
    if isinstance(expression, Constant):
        yield expression.value
    elif isinstance(expression, Arithmetic):
        yield from _constants_of(expression.left)
        yield from _constants_of(expression.right)
    elif isinstance(expression, Call):
        yield from _constants_of(expression.argument)
