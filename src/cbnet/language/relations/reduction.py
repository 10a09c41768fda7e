"""Reduction of predicates: removal of redundant constraints and filters.

`reduce` drops the constraints that the rest of their filter implies, the filters that no message
can match, and the filters that another one covers. The same messages match.

`rules="pairwise"` is the algorithm of [2006 §4.2], for comparison: it compares single constraints, so it
misses that `x = 6` covers `x >= 6 and x <= 6`, and that `x < 3 and x > 5` is empty. The full rules
include it and never keep more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.constraint_group import Rules as Rules
from cbnet.language.relations.covering import PredicateLike, as_predicate
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
    """The numbers of names, tags and shapes."""

    def __init__(self) -> None:
        self.shapes = Shapes()
        self._names: dict[str, int] = {}  # even; tags have odd ones
        self._tags: dict[str, int] = {}

    def rows(self, filters: Iterable[Filter]) -> tuple[array[int], array[int]]:
        """Return the words of filters, and the offset of each filter."""
        words, offsets = array("Q"), array("q", [0])
        for filter in filters:
            row = [self._word(constraint) for constraint in filter.constraints]
            row += [word(self._tags.setdefault(tag, 2 * len(self._tags) + 1), EXISTS) for tag in filter.tags]
            words.extend(sorted(row, key=symbol_of))
            offsets.append(len(words))
        return words, offsets

    def restrict(self, filter: Filter, words: Sequence[int]) -> Filter:
        """Return the filter with only the constraints of some words, in its own order."""
        if len(words) == len(filter.constraints) + len(filter.tags):
            return filter
        kept = set(words)
        return Filter((each for each in filter.constraints if self._word(each) in kept), filter.tags)

    def _word(self, constraint: Constraint) -> int:
        symbol = self._names.setdefault(constraint.name, 2 * len(self._names))
        return word(symbol, self.shapes.of(constraint))
