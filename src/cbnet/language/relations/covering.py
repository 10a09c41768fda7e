"""The covering relation between filters and predicates.

`covers(wide, narrow)` promises that every message that matches `narrow` also matches `wide`, so a
router that forwards for `wide` need not keep `narrow` [2006 §2.4].

Between two filters without conditions the answer is exact, with several constraints on one attribute taken
together. A filter with conditions covers only filters that have the same conditions, and more. Between
two predicates it is sound, not complete: each narrow filter must be covered by a single wide filter, so
`x < 5 or x >= 5` does not cover `x != 9`. There False means "not proved" and costs one table entry;
a wrong True would lose messages.
"""

from __future__ import annotations

from typing import TypeAlias

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.ranges import AttributeRange, ranges
from cbnet.language.syntax.parser import parse

PredicateLike: TypeAlias = str | Constraint | Filter | Predicate


def as_predicate(source: PredicateLike) -> Predicate:
    """Return the predicate of a text, a constraint or a filter."""
    if isinstance(source, Predicate):
        return source
    if isinstance(source, str):
        return parse(source)
    if isinstance(source, Filter):
        return Predicate([source])
    if isinstance(source, Constraint):
        return Predicate([Filter([source])])
    raise InputError(f"{source!r} is not a predicate", hint="use a text, a Constraint, a Filter or a Predicate")


class FilterAnalysis:
    """A filter with the ranges of its attributes."""

    __slots__ = ("_conditions", "filter", "is_satisfiable", "ranges")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        self._conditions = frozenset(filter.conditions)
        self.ranges: dict[str, AttributeRange] = ranges(filter)
        self.is_satisfiable = not any(attribute.is_empty for attribute in self.ranges.values())

    def implies(self, wide: Filter) -> bool:
        """Return whether every message that matches this filter matches `wide`."""
        if not self.is_satisfiable:
            return True
        if not self._conditions.issuperset(wide.conditions):
            return False
        return wide.tags <= self.filter.tags and all(
            constraint.name in self.ranges and self.ranges[constraint.name].implies(constraint)
            for constraint in wide.constraints
        )


def covers(wide: PredicateLike, narrow: PredicateLike) -> bool:
    """Return whether every message that matches `narrow` provably matches `wide`."""
    wide_filters = as_predicate(wide).filters
    return all(
        not analysis.is_satisfiable or any(map(analysis.implies, wide_filters))
        for analysis in map(FilterAnalysis, as_predicate(narrow).filters)
    )


def satisfiable(predicate: PredicateLike) -> bool:
    """Return whether a message can match."""
    return any(FilterAnalysis(filter).is_satisfiable for filter in as_predicate(predicate).filters)


def overlaps(left: PredicateLike, right: PredicateLike) -> bool:
    """Return whether one message can match both."""
    rights = as_predicate(right).filters
    return any(satisfiable(f & g) for f in as_predicate(left).filters for g in rights)
