"""Reduction of predicates: removal of redundant constraints and filters; their size, and the advantage of reduction.

`reduce` drops the constraints that the rest of their filter implies, the filters that no message
can match, and the filters that another one covers. The same messages match. Conditions are compared as by
`covers`, so a redundant one may stay.

`rules="pairwise"` is the algorithm of [2006 §4.2], for comparison: it compares single constraints, so it
misses that `x = 6` covers `x >= 6 and x <= 6`, and that `x < 3 and x > 5` is empty. The full rules
include it and never keep more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.cover_index import CoverIndex
from cbnet.language.relations.covering import PredicateLike, as_predicate, outcome_constraint
from cbnet.language.relations.ranges import AttributeRange, by_name
from cbnet.language.relations.string_range import StringRange

Rules = Literal["full", "pairwise"]
_FEW = 8  # filters that are compared in less time than it takes to find the covered ones among them
_MANY = 16  # constraints on one attribute, with a finite set of values, that are not compared with all others together


def reduce(predicate: PredicateLike, rules: Rules = "full") -> Predicate:
    """Return an equivalent predicate without redundant constraints and filters."""
    if rules not in ("full", "pairwise"):
        raise InputError(f"unknown rules {rules!r}", hint='use "full" or "pairwise"')
    reduction = Reduction(as_predicate(predicate).filters, rules)
    (needed,) = reduction.needed_of_first([len(reduction.filters)])
    return Predicate(reduction.filters[row] for row in sorted(needed))


def size(predicate: PredicateLike) -> int:
    """Return the number of constraints in all filters; a tag or a condition counts 1 [2006 §4.2]."""
    return sum(map(filter_size, as_predicate(predicate).filters))


def filter_size(filter: Filter) -> int:
    """Return the number of constraints, tags and conditions of a filter."""
    return len(filter.constraints) + len(filter.tags) + len(filter.conditions)


def disjunction_advantage(predicates: Iterable[PredicateLike], rules: Rules = "full") -> float:
    """Return α [2006 §2.4]: the size of the reduced disjunction over the sum of the original sizes.

    It is 1 if the original sizes are 0.
    """
    if isinstance(predicates, str):
        raise InputError("expected a list of predicates", hint="put the text in a list")
    originals = [as_predicate(predicate) for predicate in predicates]
    together = Predicate(chain.from_iterable(original.filters for original in originals))
    total = sum(map(size, originals))
    return size(reduce(together, rules)) / total if total else 1.0


class Reduction:
    """The filters of a disjunction, each reduced on its own, and the needed ones among the first of them."""

    def __init__(self, filters: Iterable[Filter], rules: Rules = "full") -> None:
        self.filters = [_without_implied(filter, rules) for filter in filters]
        self._index = CoverIndex(self.filters)
        self._is_full = rules == "full"
        self._contradictory: list[int] = []  # rows that no message matches, which only the full rules detect
        self._constraints = _ConstraintIndex()  # of these

    def needed_of_first(self, counts: Iterable[int]) -> Iterator[Collection[int]]:
        """Yield the rows of the needed ones among the first `count` filters, for ascending counts.

        Of filters that cover each other, the first of the smallest is needed. A filter redundant among few is
        redundant among more: each step starts from the result of the last.
        """
        needed: set[int] = set()
        first = 0
        for count in counts:
            needed.update(row for row in range(first, count) if self._add(row))
            first = count
            for row in sorted(needed, key=lambda row: (filter_size(self.filters[row]), row)):
                if row in needed:
                    for narrow in self._covered(row):
                        needed.discard(narrow)
                        self._index.discard(narrow)
            yield needed

    def _add(self, row: int) -> bool:
        """Add a row; return whether a message may match it, by these rules."""
        self._index.add(row)
        if row in self._index:
            return True
        if not self._is_full:
            self._contradictory.append(row)
            self._constraints.add(row, self.filters[row].constraints)
        return not self._is_full

    def _covered(self, row: int) -> Iterator[int]:
        """Yield the other rows that a row covers."""
        wide = self.filters[row]
        if row in self._index:
            found = self._index.covered(row)
            yield from found if self._is_full else (each for each in found if self._is_covered_singly(wide, each))
        if self._contradictory:
            constraints = wide.constraints
            for narrow in self._constraints.candidates(constraints) if constraints else self._contradictory:
                if narrow != row and _covers_singly(wide, self.filters[narrow]):
                    yield narrow

    def _is_covered_singly(self, wide: Filter, narrow: int) -> bool:
        """Return whether a row that a filter covers is covered by single constraints, too."""
        constraints = self.filters[narrow].constraints
        is_simple = not self.filters[narrow].conditions and len(constraints) == len({each.name for each in constraints})
        return is_simple or _covers_singly(wide, self.filters[narrow])


class _ConstraintIndex:
    """Rows by their single constraints; one that no value satisfies implies all others on its attribute."""

    def __init__(self) -> None:
        self._filters: list[Filter] = []  # of one constraint each
        self._index = CoverIndex(self._filters)
        self._numbers: dict[Constraint, int] = {}
        self._rows: dict[int, set[int]] = defaultdict(set)  # by the number of a constraint
        self._by_name: dict[str, set[int]] = defaultdict(set)
        self._empty: dict[str, set[int]] = defaultdict(set)  # rows with a constraint that no value satisfies

    def add(self, row: int, constraints: Iterable[Constraint]) -> None:
        """Add a row."""
        for constraint in constraints:
            number = self._numbers.get(constraint)
            if number is None:
                number = self._numbers[constraint] = self._file(constraint)
            (self._rows[number] if number in self._index else self._empty[constraint.name]).add(row)
            self._by_name[constraint.name].add(row)

    def candidates(self, constraints: Sequence[Constraint]) -> set[int]:
        """Return rows, among them all of which, for each of some constraints, a single one implies it."""
        found = min((self._by_name[constraint.name] for constraint in constraints), key=len)
        for constraint in constraints:
            if len(found) <= _FEW:
                break
            found = found & self._implying(constraint)
        return found

    def _implying(self, constraint: Constraint) -> set[int]:
        number = self._numbers.get(constraint)
        asked = self._file(constraint) if number is None else number
        narrower = [asked, *self._index.covered(asked)] if asked in self._index else []
        if number is None:  # it is of no row: later questions need not compare it
            self._index.discard(asked)
            self._filters.pop()
        return self._empty[constraint.name].union(*(self._rows[each] for each in narrower if each in self._rows))

    def _file(self, constraint: Constraint) -> int:
        self._filters.append(Filter([constraint]))
        self._index.add(len(self._filters) - 1)
        return len(self._filters) - 1


def _covers_singly(wide: Filter, narrow: Filter) -> bool:
    """Return whether each constraint of a filter is implied by a single one of another [2006 §4.2]."""
    return (
        wide.tags <= narrow.tags
        and _implied_singly(wide.constraints, narrow.constraints)
        and _implied_singly(
            map(outcome_constraint, wide.conditions), [outcome_constraint(each) for each in narrow.conditions]
        )
    )


def _implied_singly(wide: Iterable[Constraint], narrow: Sequence[Constraint]) -> bool:
    return all(any(_implies(each, required) for each in narrow) for required in wide)


def _implies(narrow: Constraint, wide: Constraint) -> bool:
    return narrow.name == wide.name and (_range_of(narrow).is_empty or _range_of(narrow).implies(wide))


@lru_cache(maxsize=4096)
def _range_of(constraint: Constraint) -> AttributeRange:
    return AttributeRange([constraint])


# --- one filter


def _without_implied(filter: Filter, rules: Rules) -> Filter:
    """Return a filter without the constraints that others imply: together by the full rules, else one of them."""
    outcomes = [outcome_constraint(condition) for condition in filter.conditions]
    needed, accepted = _needed_of(filter.constraints, rules), _needed_of(outcomes, rules)
    if len(needed) + len(accepted) == len(filter.constraints) + len(outcomes):
        return filter
    conditions = [each for each, outcome in zip(filter.conditions, outcomes, strict=True) if outcome in accepted]
    return Filter([each for each in filter.constraints if each in needed], filter.tags, conditions)


def _needed_of(constraints: Sequence[Constraint], rules: Rules) -> Collection[Constraint]:
    groups = by_name(constraints)
    if len(groups) == len(constraints):
        return constraints
    return {constraint for group in groups.values() for constraint in _needed(group, rules)}


def _needed(group: Sequence[Constraint], rules: Rules) -> Sequence[Constraint]:
    """Return the constraints on one attribute that the others do not imply; of equal ones, the last."""
    if len(group) == 1:
        return group
    index = CoverIndex([Filter([constraint]) for constraint in group])
    for row in range(len(group)):
        index.add(row)
    empty = [constraint for row, constraint in enumerate(group) if row not in index]
    if empty:  # it implies all others
        return empty[-1:]
    for row in range(len(group)):
        if any(True for _ in index.covered(row)):
            index.discard(row)
    needed = [constraint for row, constraint in enumerate(group) if row in index]
    return _not_implied_together(needed) if rules == "full" and len(needed) > 2 else needed


def _not_implied_together(group: Sequence[Constraint]) -> Sequence[Constraint]:
    """Return the constraints that the others together do not imply.

    No constraint of the group implies another. If some value satisfies all, there is at most one
    lower and one upper bound, one prefix, one suffix and one equality; only `!=` and `*=` can be many.
    The others together imply `!= v` only if one of them rejects v. (Sets of values are exceptions.)
    """
    whole, kept = AttributeRange(group), group
    is_finite = whole.members is not None
    if whole.is_empty or (is_finite and len(group) > _MANY):  # a redundant one may stay: comparing all takes long
        return group
    for test in group:
        is_needed = test.op is Op.NE or (
            # most substrings are needed, which this cheap test shows
            test.op is Op.SUBSTRING and isinstance(whole.typed, StringRange) and whole.typed.may_lack(str(test.value))
        )
        if is_finite or not is_needed:
            others = [other for other in kept if other is not test]
            if AttributeRange(others).implies(test):
                kept = others
    return kept
