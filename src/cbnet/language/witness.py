"""Witness: which message shows that a predicate can be matched, or that one does not cover another?

Found by construction: a message that gives values to exactly the attributes and tags that a narrow
filter names leaves out all others, so it can match only the wide filters that name no others. If
it matches one of those, some constraint of that filter must be violated too: each is tried in
turn, with a value chosen anew. The search is exhaustive up to a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cbnet.language.constraint import Constraint, Op
from cbnet.language.covering import PredicateLike, as_predicate
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.numbers import NumberRange
from cbnet.language.patterns import UNDECIDED, find
from cbnet.language.ranges import BoolRange
from cbnet.language.strings import StringRange
from cbnet.language.values import Kind, Value

DEFAULT_BUDGET = 1_000  # values chosen
_OPPOSITE = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}


def witness(predicate: PredicateLike) -> Message | None:
    """Return a message that matches, if one is found."""
    return counterexample("false", predicate)


def counterexample(wide: PredicateLike, narrow: PredicateLike, budget: int = DEFAULT_BUDGET) -> Message | None:
    """Return a message that matches `narrow` and not `wide`, if one is found.

    None where `wide` covers `narrow`. It may also be None where `covers` says False, because the
    filters of `wide` cover a narrow one together, or because the search was given up.
    """
    wide_filters = as_predicate(wide).filters
    for filter in as_predicate(narrow).filters:
        message = _Search(wide_filters, filter, budget).run()
        if message is not None:
            return message
    return None


@dataclass(frozen=True)
class _Demand:
    """What the value of one attribute must satisfy, and what it must not."""

    wanted: tuple[Constraint, ...] = ()
    unwanted: tuple[Constraint, ...] = ()

    def without(self, constraint: Constraint) -> _Demand:
        return _Demand(self.wanted, (*self.unwanted, constraint))


class _Search:
    """The search for a message that matches one filter and none of the others."""

    def __init__(self, wide: Sequence[Filter], narrow: Filter, budget: int) -> None:
        self._narrow = narrow
        self._budget = budget
        names = {constraint.name for constraint in narrow.constraints}
        self._rivals = [
            filter
            for filter in wide
            if filter.tags <= narrow.tags and names.issuperset(c.name for c in filter.constraints)
        ]

    def run(self) -> Message | None:
        """Search depth first, with a stack of our own: a wide predicate may have thousands of filters."""
        demands: dict[str, _Demand] = {}
        for constraint in self._narrow.constraints:
            wanted = demands.get(constraint.name, _Demand()).wanted
            demands[constraint.name] = _Demand((*wanted, constraint))
        chosen = {name: self._choose(demand) for name, demand in demands.items()}
        values = {name: value for name, value in chosen.items() if value is not None}
        stack = [(demands, values)] if len(values) == len(demands) else []
        while stack:
            demands, values = stack.pop()
            message = Message(values, self._narrow.tags)
            rival = next((filter for filter in self._rivals if filter.matches(message)), None)
            if rival is None:
                return message
            for constraint in reversed(rival.constraints):
                demand = demands[constraint.name].without(constraint)
                value = self._choose(demand)
                if value is not None:
                    stack.append(({**demands, constraint.name: demand}, {**values, constraint.name: value}))
        return None

    def _choose(self, demand: _Demand) -> Value | None:
        self._budget -= 1
        if self._budget < 0 or any(constraint.op is Op.EXISTS for constraint in demand.unwanted):
            return None
        return next((value for kind in _kinds(demand) if (value := _value(kind, demand)) is not None), None)


def _kinds(demand: _Demand) -> Iterator[Kind]:
    """Yield the types that the value may have, those that nothing is said of first."""
    wanted = {constraint.kind for constraint in demand.wanted if constraint.kind is not None}
    refused = {constraint.kind for constraint in demand.unwanted}
    for kind in sorted((Kind.NUMBER, Kind.STRING, Kind.BOOL), key=lambda kind: kind in refused):
        if wanted <= {kind}:
            yield kind


def _value(kind: Kind, demand: _Demand) -> Value | None:
    """Return a value of this type that meets the demand."""
    wanted = [constraint for constraint in demand.wanted if constraint.op is not Op.EXISTS]
    unwanted = [constraint for constraint in demand.unwanted if constraint.kind is kind]
    if kind is Kind.STRING:
        found = find(wanted, unwanted)
        if found is not UNDECIDED:
            return found
        return None if unwanted else StringRange(wanted).witness()
    constraints = wanted + [_opposite(constraint) for constraint in unwanted]
    return NumberRange(constraints).witness() if kind is Kind.NUMBER else BoolRange(constraints).witness()


def _opposite(constraint: Constraint) -> Constraint:
    return Constraint(constraint.name, _OPPOSITE[constraint.op], constraint.value)
