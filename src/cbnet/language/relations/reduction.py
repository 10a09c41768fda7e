"""Reduction of predicates: removal of redundant constraints and filters.

`reduce` drops the constraints that the rest of their filter implies, the filters that no message
can match, and the filters that another one covers. The same messages match.

`rules="pairwise"` is the algorithm of [2006 §4.2], for comparison: it compares single constraints, so it
misses that `x = 6` covers `x >= 6 and x <= 6`, and that `x < 3 and x > 5` is empty. The full rules
include it and never keep more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from cbnet.errors import InputError
from cbnet.language.condition import Condition
from cbnet.language.constraint import Constraint, Op
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
    """The numbers of names, tags and shapes.

    A condition, and a constraint by `in` or on null, has no shape: like a tag, only an equal one covers it.
    """

    def __init__(self) -> None:
        self.shapes = Shapes()
        self._names: dict[str, int] = {}  # even; the others have odd ones
        self._opaque: dict[str | Constraint | Condition, int] = {}

    def rows(self, filters: Iterable[Filter]) -> tuple[array[int], array[int]]:
        """Return the words of filters, and the offset of each filter."""
        words, offsets = array("Q"), array("q", [0])
        for filter in filters:
            words.extend(sorted(self._words(filter), key=symbol_of))
            offsets.append(len(words))
        return words, offsets

    def restrict(self, filter: Filter, words: Sequence[int]) -> Filter:
        """Return the filter with only the constraints of some words, in its own order."""
        kept = set(words)
        constraints = [each for each in filter.constraints if self._word(each) in kept]
        if len(constraints) == len(filter.constraints):
            return filter
        return Filter(constraints, filter.tags, filter.conditions)

    def _words(self, filter: Filter) -> Iterator[int]:
        named = {constraint.name for constraint in filter.constraints if _has_shape(constraint)}
        for constraint in filter.constraints:
            yield self._word(constraint)
            if constraint.name not in named:  # `exists` covers it
                named.add(constraint.name)
                yield word(self._symbol(constraint.name), EXISTS)
        yield from map(self._opaque_word, filter.tags)
        yield from map(self._opaque_word, filter.conditions)

    def _word(self, constraint: Constraint) -> int:
        if not _has_shape(constraint):
            return self._opaque_word(constraint)
        return word(self._symbol(constraint.name), self.shapes.of(constraint))

    def _symbol(self, name: str) -> int:
        return self._names.setdefault(name, 2 * len(self._names))

    def _opaque_word(self, part: str | Constraint | Condition) -> int:
        return word(self._opaque.setdefault(part, 2 * len(self._opaque) + 1), EXISTS)


def _has_shape(constraint: Constraint) -> bool:
    return constraint.op is Op.EXISTS or (constraint.op is not Op.IN and constraint.value is not None)
