"""The covering relation between filters and predicates.

`covers(wide, narrow)` promises that every message that matches `narrow` also matches `wide`, so a
router that forwards for `wide` need not keep `narrow` [2006 §2.4].

It compares the values of one binding, so it is right for messages with several values, too: the binding that
satisfies `narrow` satisfies `wide`. Between two filters without conditions the answer is exact, with several
constraints on one attribute taken together. A condition is compared only with conditions that have the same test, by
the outcomes that they accept. Between two predicates it is sound, not complete: each narrow filter must be covered by
a single wide filter, so `x < 5 or x >= 5` does not cover `x != 9`. There False means "not proved" and costs one
table entry; a wrong True would lose messages.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from cbnet.errors import InputError
from cbnet.language.condition import Comparison, Condition, Outcome, Presence, TagTest
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.formula import swapped
from cbnet.language.predicate import Predicate
from cbnet.language.relations.ranges import AttributeRange, ranges_by_name
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
    """A filter with the ranges of its attributes, and of the outcomes of its tests."""

    __slots__ = ("_outcomes", "filter", "is_satisfiable", "ranges")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        self.ranges = ranges_by_name(filter.constraints)
        self._outcomes = ranges_by_name(map(outcome_constraint, filter.conditions)) if filter.conditions else {}
        attributes = chain(self.ranges.values(), self._outcomes.values())
        self.is_satisfiable = not any(attribute.is_empty for attribute in attributes)

    def implies(self, wide: Filter) -> bool:
        """Return whether every message that matches this filter provably matches `wide`."""
        if not self.is_satisfiable:
            return True
        return (
            wide.tags <= self.filter.tags
            and all(_is_implied(constraint, self.ranges) for constraint in wide.constraints)
            and all(_is_implied(outcome_constraint(condition), self._outcomes) for condition in wide.conditions)
        )


def outcome_test(condition: Condition) -> tuple[str, Outcome]:
    """Return the name of the test of a condition, and the outcomes that it accepts.

    Comparisons that always have opposite outcomes, such as `a < b` and `b <= a`, are one test.
    """
    test, accepted = condition.test, condition.accepted
    if not isinstance(test, Comparison) or test.op not in _CANONICAL:
        return condition.text if accepted == Outcome.TRUE else str(test), accepted
    op, is_mirrored, is_opposite = _CANONICAL[test.op]
    left, right = str(test.left), str(test.right)
    if is_mirrored or (op is Op.EQ and right < left):
        left, right = right, left
    if is_opposite:
        accepted = swapped(accepted)
    return f"{left} {op} {right}", accepted


@lru_cache(maxsize=4096)
def outcome_constraint(condition: Condition) -> Constraint:
    """Return a condition as a constraint on the outcome of its test: null is unknown."""
    name, accepted = outcome_test(condition)
    outcomes = zip((True, False, None), Outcome, strict=True)
    return Constraint(name, Op.IN, [value for value, outcome in outcomes if outcome in accepted])


# By operator: the equivalent canonical one, whether the operands are exchanged, and whether the outcome is negated.
_CANONICAL = {
    Op.EQ: (Op.EQ, False, False),
    Op.NE: (Op.EQ, False, True),
    Op.LT: (Op.LT, False, False),
    Op.GT: (Op.LT, True, False),
    Op.GE: (Op.LT, False, True),
    Op.LE: (Op.LT, True, True),
}


def _is_implied(constraint: Constraint, found: dict[str, AttributeRange]) -> bool:
    attribute = found.get(constraint.name)
    return attribute is not None and attribute.implies(constraint)


def covers(wide: PredicateLike, narrow: PredicateLike) -> bool:
    """Return whether every message that matches `narrow` provably matches `wide`."""
    wide_filters = as_predicate(wide).filters
    if Filter() in wide_filters:
        return True
    return all(
        not analysis.is_satisfiable or any(map(analysis.implies, wide_filters))
        for analysis in map(FilterAnalysis, as_predicate(narrow).filters)
    )


def satisfiable(predicate: PredicateLike) -> bool:
    """Return whether a message can match. False is a proof; conditions that contradict each other may give True."""
    return any(FilterAnalysis(filter).is_satisfiable for filter in as_predicate(predicate).filters)


def overlaps(left: PredicateLike, right: PredicateLike) -> bool:
    """Return whether one message can match both. False is a proof.

    The message {"x": [1, 9]} matches both `x < 5` and `x > 5`, so only a missing attribute or tag that the other
    filter requires keeps two filters apart. For a single value that passes both, use `satisfiable(left & right)`.
    """
    lefts, rights = ([filter for filter in as_predicate(side).filters if satisfiable(filter)] for side in (left, right))
    return any(not (_excludes(f, g) or _excludes(g, f)) for f in lefts for g in rights)


def _excludes(first: Filter, second: Filter) -> bool:
    """Return whether a filter requires that a message lacks an attribute or tag which another one requires."""
    refused = [condition.test for condition in first.conditions if condition.accepted == Outcome.FALSE]
    present = {constraint.name for constraint in second.constraints}
    return any(
        (isinstance(test, Presence) and test.name in present) or (isinstance(test, TagTest) and test.tag in second.tags)
        for test in refused
    )
