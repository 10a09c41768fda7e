"""Witnesses of satisfiability, and counter-examples of covering.

Found by construction: a message with exactly the attributes and tags of a narrow filter can match only
the wide filters that name no others. A wide filter with one constraint fails only if that constraint
does, so all of these are excluded first. If the message matches a larger filter, one of its constraints
must fail: each is tried in turn, with a new value. The search is exhaustive up to a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cbnet.language.constraint import OPPOSITE, Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.language.relations.number_range import NumberRange
from cbnet.language.relations.ranges import BoolRange, by_name
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import Value, ValueType

DEFAULT_BUDGET = 1_000  # new values


class Search(NamedTuple):
    """The result of a search for a counter-example; exhausted without a message, it proves that there is none."""

    message: Message | None
    is_exhausted: bool


def witness(predicate: PredicateLike) -> Message | None:
    """Return a message that matches; None if there is none."""
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
        search = _Search(wide_filters, filter, budget)
        message = search.run()
        if message is not None:
            return Search(message, True)
        is_exhausted &= not search.is_over_budget
    return Search(None, is_exhausted)


@dataclass(frozen=True)
class _Demand:
    """The constraints that the value of one attribute must satisfy, and those that it must not."""

    required: Sequence[Constraint]
    forbidden: Sequence[Constraint]

    def without(self, constraint: Constraint) -> _Demand:
        return _Demand(self.required, [*self.forbidden, constraint])


class _Search:
    """The search for a message that matches one filter and none of the others."""

    def __init__(self, wide: Sequence[Filter], narrow: Filter, budget: int) -> None:
        self._narrow = narrow
        self._budget = budget
        names = {constraint.name for constraint in narrow.constraints}
        rivals = [
            filter
            for filter in wide
            if filter.tags <= narrow.tags and names.issuperset(c.name for c in filter.constraints)
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
        values = {name: value for name, value in chosen.items() if value is not None}
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
                if value is not None:
                    stack.append(({**demands, constraint.name: demand}, {**values, constraint.name: value}))
        return None


def _choice(demand: _Demand) -> Value | None:
    """Return a value that meets the demand; None proves that there is none."""
    if any(constraint.op is Op.EXISTS for constraint in demand.forbidden):
        return None
    return next((value for kind in _kinds(demand) if (value := _value(kind, demand)) is not None), None)


def _kinds(demand: _Demand) -> Iterator[ValueType]:
    """Yield the possible types of the value, those without forbidden constraints first."""
    required = {constraint.kind for constraint in demand.required if constraint.kind is not None}
    restricted = {constraint.kind for constraint in demand.forbidden}
    for kind in sorted((ValueType.NUMBER, ValueType.STRING, ValueType.BOOL), key=lambda kind: kind in restricted):
        if required <= {kind}:
            yield kind


def _value(kind: ValueType, demand: _Demand) -> Value | None:
    """Return a value of this type that meets the demand."""
    required = [constraint for constraint in demand.required if constraint.op is not Op.EXISTS]
    forbidden = [constraint for constraint in demand.forbidden if constraint.kind is kind]
    if kind is ValueType.STRING:
        return StringRange(required, forbidden).member
    constraints = required + [_opposite(constraint) for constraint in forbidden]
    return NumberRange(constraints).witness() if kind is ValueType.NUMBER else BoolRange(constraints).first


def _opposite(constraint: Constraint) -> Constraint:
    return Constraint(constraint.name, OPPOSITE[constraint.op], constraint.value)
