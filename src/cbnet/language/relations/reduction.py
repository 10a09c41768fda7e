"""Reduction of predicates: removal of redundant constraints and filters.

`reduce` drops the constraints that the rest of their filter implies, the filters that no message
can match, and the filters that another one covers. The same messages match. Conditions are compared as by
`covers`, so a redundant one may stay.

`rules="pairwise"` is the algorithm of [2006 §4.2], for comparison: it compares single constraints, so it
misses that `x = 6` covers `x >= 6 and x <= 6`, and that `x < 3 and x > 5` is empty. The full rules
include it and never keep more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from cbnet.errors import InputError
from cbnet.language.condition import Condition
from cbnet.language.constraint import Constraint
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.constraint_group import Rules as Rules
from cbnet.language.relations.covering import PredicateLike, as_predicate, outcome_constraint
from cbnet.language.relations.filter_encoding import FilterRows, symbol_of, word
from cbnet.language.relations.range_encoding import EXISTS, Shapes


def reduce(predicate: PredicateLike, rules: Rules = "full") -> Predicate:
    """Return an equivalent predicate without redundant constraints and filters."""
    if rules not in ("full", "pairwise"):
        raise InputError(f"unknown rules {rules!r}", hint='use "full" or "pairwise"')
    filters = as_predicate(predicate).filters
    encoder = FilterEncoder()
    words, offsets = encoder.rows(filters)
    rows = FilterRows(words, offsets, encoder.shapes, rules)
    needed = rows.needed()
    return Predicate(encoder.restrict(filter, rows.words(row)) for row, filter in enumerate(filters) if needed[row])


class FilterEncoder:
    """The numbers of names, tags, tests and shapes.

    A condition has a number for its test, and the shape of the outcomes that it accepts.
    """

    def __init__(self) -> None:
        self.shapes = Shapes()
        self._names: dict[str, int] = {}
        self._tags: dict[str, int] = {}
        self._tests: dict[str, int] = {}

    def rows(self, filters: Iterable[Filter]) -> tuple[array[int], array[int]]:
        """Return the words of filters, and the offset of each filter."""
        words, offsets = array("Q"), array("q", [0])
        for filter in filters:
            words.extend(sorted(self._words(filter), key=symbol_of))
            offsets.append(len(words))
        return words, offsets

    def restrict(self, filter: Filter, words: Sequence[int]) -> Filter:
        """Return the filter with only the constraints and conditions of some words, in its own order."""
        kept = set(words)
        constraints = [each for each in filter.constraints if self._word(each) in kept]
        conditions = [each for each in filter.conditions if self._condition_word(each) in kept]
        if len(constraints) + len(conditions) == len(filter.constraints) + len(filter.conditions):
            return filter
        return Filter(constraints, filter.tags, conditions)

    def _words(self, filter: Filter) -> Iterator[int]:
        yield from map(self._word, filter.constraints)
        for tag in filter.tags:
            yield word(3 * self._tags.setdefault(tag, len(self._tags)) + 1, EXISTS)
        yield from map(self._condition_word, filter.conditions)

    def _word(self, constraint: Constraint) -> int:
        symbol = 3 * self._names.setdefault(constraint.name, len(self._names))
        return word(symbol, self.shapes.of(constraint))

    def _condition_word(self, condition: Condition) -> int:
        outcome = outcome_constraint(condition)
        symbol = 3 * self._tests.setdefault(outcome.name, len(self._tests)) + 2
        return word(symbol, self.shapes.of(outcome))
