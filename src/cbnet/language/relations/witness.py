"""Witnesses of satisfiability, and counter-examples of covering.

Found by construction: a message with exactly the attributes and tags of a narrow filter can match only
the wide filters that name no others. A wide filter with one constraint fails only if that constraint
does, so all of these are excluded first. If the message matches a larger filter, one of its constraints
must fail: each is tried in turn, with a new value. The search is exhaustive up to a budget. Several values of an
attribute never help: if a message matches the narrow filter only, so does the one with just the values that it bound.

Conditions are ignored at first: without them the narrow filter matches more, so finding nothing is still a proof.
Where they matter, a message is searched by trial: conditions relate several attributes by arithmetic, so no
construction finds a value for each. The search tries values near the constants of the conditions, and tests each
condition once its attributes have values. It is bounded and finds what people write, as in `price * quantity > 100`;
finding nothing proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from cbnet.errors import UndecidedError
from cbnet.language.address_block import block_of
from cbnet.language.condition import (
    AddressTest,
    Condition,
    Like,
    Membership,
    Presence,
    RegexTest,
    TagTest,
    Test,
    operands_of,
)
from cbnet.language.constraint import OPPOSITE, Constraint, Op
from cbnet.language.expression import UNKNOWN, Constant, Expression, Missing, calculate, change_case, has_time, parts_of
from cbnet.language.filter import Filter
from cbnet.language.like_pattern import pieces
from cbnet.language.message import Message
from cbnet.language.regex import examples
from cbnet.language.relations.covering import FilterAnalysis, PredicateLike, as_predicate
from cbnet.language.relations.number_range import NumberRange
from cbnet.language.relations.ranges import AttributeRange, by_name
from cbnet.language.relations.string_range import StringRange
from cbnet.language.timestamps import nanoseconds, time_text
from cbnet.language.values import Value, ValueType, canonical, sort_key, value_type

DEFAULT_BUDGET = 1_000  # new values


class Search(NamedTuple):
    """The result of a search for a counter-example; exhausted without a message, it proves that there is none."""

    message: Message | None
    is_exhausted: bool


def witness(predicate: PredicateLike) -> Message | None:
    """Return a message that matches; None if there is none, or none was found for the conditions."""
    return counterexample("false", predicate)


def counterexample(wide: PredicateLike, narrow: PredicateLike, budget: int = DEFAULT_BUDGET) -> Message | None:
    """Return a message that matches `narrow` and not `wide`, or None.

    The result is None if `wide` covers `narrow`. It may also be None where `covers` returns False: the
    filters of `wide` cover a narrow one only together, or the budget ran out (see `search_counterexample`).
    """
    return search_counterexample(wide, narrow, budget).message


def search_counterexample(wide: PredicateLike, narrow: PredicateLike, budget: int = DEFAULT_BUDGET) -> Search:
    """Return a message that matches `narrow` and not `wide`, and whether the search was exhaustive."""
    wide_filters = as_predicate(wide).filters
    is_exhausted = True
    for filter in as_predicate(narrow).filters:
        found = _search(wide_filters, filter, budget)
        if found.message is not None:
            return found
        is_exhausted &= found.is_exhausted
    return Search(None, is_exhausted)


def _search(wide: Sequence[Filter], narrow: Filter, budget: int) -> Search:
    if not FilterAnalysis(narrow).is_satisfiable:
        return Search(None, True)
    search = _Search(wide, narrow, budget)
    message = search.run()
    conditional = [filter for filter in wide if filter.conditions]
    if message is None and not search.is_over_budget:
        return Search(None, True)
    if not narrow.conditions and not conditional:
        return Search(message, message is not None)
    if message is not None and _separates(message, narrow, conditional):
        return Search(message, True)
    message = ConditionSearch(wide, narrow, budget).run()
    return Search(message, message is not None)


@dataclass(frozen=True)
class _Demand:
    """The constraints that the value of one attribute must satisfy, and those that it must not."""

    required: Sequence[Constraint]
    forbidden: Sequence[Constraint]

    def without(self, constraint: Constraint) -> _Demand:
        return _Demand(self.required, [*self.forbidden, constraint])


class _Search:
    """The search for a message that matches the constraints of one filter, and no other without conditions."""

    def __init__(self, wide: Sequence[Filter], narrow: Filter, budget: int) -> None:
        self._narrow = narrow
        self._budget = budget
        names = {constraint.name for constraint in narrow.constraints}
        rivals = [
            filter
            for filter in wide
            if not filter.conditions
            and filter.tags <= narrow.tags
            and names.issuperset(c.name for c in filter.constraints)
        ]
        self._matches_always = any(not rival.constraints for rival in rivals)
        self._single = by_name(rival.constraints[0] for rival in rivals if len(rival.constraints) == 1)
        self._rivals = [rival for rival in rivals if len(rival.constraints) > 1]

    @property
    def is_over_budget(self) -> bool:
        """Return whether the budget ran out."""
        return self._budget < 0

    def run(self) -> Message | None:
        """Search depth first, with an explicit stack: a wide predicate may have thousands of filters."""
        required = by_name(self._narrow.constraints)
        demands = {name: _Demand(constraints, self._single.get(name, ())) for name, constraints in required.items()}
        chosen = {name: _choice(demand) for name, demand in demands.items()}
        values = {name: value for name, value in chosen.items() if not isinstance(value, Missing)}
        is_possible = len(values) == len(demands) and not self._matches_always
        stack = [(demands, values)] if is_possible else []
        while stack:
            demands, values = stack.pop()
            message = Message(values, self._narrow.tags)
            rival = next((filter for filter in self._rivals if filter.matches(message)), None)
            if rival is None:
                return message
            self._budget -= len(rival.constraints)
            if self.is_over_budget:
                return None
            for constraint in reversed(rival.constraints):
                demand = demands[constraint.name].without(constraint)
                value = _choice(demand)
                if not isinstance(value, Missing):
                    stack.append(({**demands, constraint.name: demand}, {**values, constraint.name: value}))
        return None


def _choice(demand: _Demand) -> Value | Missing:
    """Return a value that meets the demand; UNKNOWN proves that there is none."""
    allowed = AttributeRange(demand.required)
    if allowed.is_empty or any(constraint.op is Op.EXISTS for constraint in demand.forbidden):
        return UNKNOWN
    if allowed.members is not None:
        fitting = (value for value in allowed.members if not any(each.accepts(value) for each in demand.forbidden))
        return next(fitting, UNKNOWN)
    found = (_value(kind, demand) for kind in _kinds(allowed, demand))
    is_refused = allowed.not_null or any(constraint.accepts(None) for constraint in demand.forbidden)
    return next((value for value in found if value is not None), UNKNOWN if is_refused else None)


def _kinds(allowed: AttributeRange, demand: _Demand) -> Sequence[ValueType]:
    """Return the possible types of a value that is not null, those without forbidden constraints first."""
    if any(constraint.op is Op.NE and constraint.value is None for constraint in demand.forbidden):
        return ()
    if allowed.kind is not None:
        return (allowed.kind,)
    restricted = {constraint.kind for constraint in demand.forbidden}
    return sorted((ValueType.NUMBER, ValueType.STRING, ValueType.BOOL), key=lambda kind: kind in restricted)


def _value(kind: ValueType, demand: _Demand) -> Value:
    """Return a value of this type that meets the demand; None if there is none."""
    required = [constraint for constraint in demand.required if constraint.value is not None]
    forbidden = [each for constraint in demand.forbidden for each in _of_kind(constraint, kind)]
    if kind is ValueType.STRING:
        return StringRange(required, forbidden).member
    constraints = required + [Constraint(each.name, OPPOSITE[each.op], each.value) for each in forbidden]
    if kind is ValueType.NUMBER:
        return NumberRange(constraints).witness()
    return next((value for value in (True, False) if all(each.accepts(value) for each in constraints)), None)


def _of_kind(constraint: Constraint, kind: ValueType) -> Iterator[Constraint]:
    """Yield the part of a constraint on values of a type: that of `in` as equalities."""
    if constraint.op is Op.IN:
        for member in constraint.members:
            if value_type(member) is kind:
                yield Constraint(constraint.name, Op.EQ, member)
    elif constraint.kind is kind:
        yield constraint


_MAX_TRIED = 64  # attributes and tags; the others keep their first value
_MAX_VALUES = 24  # of one attribute
_MAX_CONSTANTS = 6  # combined by arithmetic
_MAX_LENGTH = 64  # of a string tried for a number
_STEPS = 20  # values assigned and conditions tested, per message of the budget
_COMPARED = 64  # wide filters and parts of the narrow one, per message of the budget
_SOME_DAY = 1_767_225_600 * 10**9  # 2026-01-01
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
                if _separates(message, self._narrow, self._wide):
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
        fitting = [value for value in tried.values() if all(each.accepts(value) for each in required)][:_MAX_VALUES]
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
    if any(map(has_time, operands_of(test))):
        yield from _times(constants, numbers)
    for op in "*+-/":
        yield from _results(numbers, numbers, op)


def _times(constants: Iterable[Value], durations: Iterable[Value]) -> Iterator[str]:
    """Yield times near those of a test, or near any day, and durations away from them."""
    read = (nanoseconds(value) for value in constants if isinstance(value, str))
    steps = [
        sign * each + more for each in durations if isinstance(each, int) for sign in (1, -1) for more in (0, 1, -1)
    ]
    for time in [time for time in read if isinstance(time, int)] or [_SOME_DAY, 0]:
        yield from filter(None, (time_text(time + step) for step in (0, 1, *steps)))


def _results(lefts: Iterable[Value], rights: Sequence[Value], op: str) -> Iterator[Value]:
    for left, right in product(lefts, rights):
        result = calculate(op, left, right)  # type: ignore[arg-type]
        if not isinstance(result, Missing):
            yield canonical(result)


def _constants(test: Test) -> Iterator[Value]:
    if isinstance(test, Membership):
        yield from test.values
    elif isinstance(test, Like):
        yield "".join("".join(char or "a" for char in piece) for piece in pieces(test.pattern))
    elif isinstance(test, RegexTest):
        yield from (each for text in examples(test.pattern) for each in (text, f" {text} "))
    elif isinstance(test, AddressTest):
        yield from (str(block_of(test.block).network_address), "0.0.0.0", "::")
    for operand in operands_of(test):
        yield from _constants_of(operand)


def _constants_of(expression: Expression) -> Iterator[Value]:
    if isinstance(expression, Constant):
        yield expression.value
    for operand in parts_of(expression):
        yield from _constants_of(operand)


def _separates(message: Message, narrow: Filter, wide: Iterable[Filter]) -> bool:
    """Return whether a message surely matches one filter and none of the others."""
    try:
        return narrow.matches(message) and not any(filter.matches(message) for filter in wide)
    except UndecidedError:
        return False
