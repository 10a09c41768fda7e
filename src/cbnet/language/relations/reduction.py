"""Reduction: what can a predicate do without?

`reduce` drops the constraints that the rest of their filter implies, the filters that no message
can match, and the filters that another one covers. The messages that match stay the same.

`rules="pairwise"` is the algorithm of [2006 §4.2], for comparison: it sets one constraint against
one, so it does not see that `x = 6` covers `x >= 6 and x <= 6`, nor that `x < 3 and x > 5` is
empty. The full rules begin with it and never keep more.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.constraint_group import Rules as Rules
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.language.relations.filter_encoding import FilterRows, symbol_of, word
from cbnet.language.relations.range_encoding import EXISTS, Shapes


def reduce(predicate: PredicateLike, rules: Rules = "full") -> Predicate:
    """Return a predicate that matches the same messages with no redundant constraint or filter."""
    if rules not in ("full", "pairwise"):
        raise InputError(f"unknown rules {rules!r}", hint='use "full" or "pairwise"')
    filters = as_predicate(predicate).filters
    coder = _Coder()
    words, offsets = coder.rows(filters)
    rows = FilterRows(words, offsets, coder.shapes, rules)
    needed = rows.needed()
    return Predicate(coder.only(filter, rows.words(row)) for row, filter in enumerate(filters) if needed[row])


def plain_needed(order: Sequence[int], covers: Callable[[int, int], bool]) -> set[int]:
    """Return which filters no other one covers; of those that cover each other, the first in order.

    The specification of the kernel behind `FilterRows.needed`: it asks every pair.
    """
    kept = list(order)
    for wide in order:
        if wide in kept:
            kept = [narrow for narrow in kept if narrow == wide or not covers(wide, narrow)]
    return set(kept)


class _Coder:
    """The numbers that stand for names, tags and shapes."""

    def __init__(self) -> None:
        self.shapes = Shapes()
        self._names: dict[str, int] = {}  # even, so that no tag has the same
        self._tags: dict[str, int] = {}

    def rows(self, filters: Iterable[Filter]) -> tuple[array[int], array[int]]:
        """Return the words of filters, and where those of each begin."""
        words, offsets = array("Q"), array("q", [0])
        for filter in filters:
            row = [self._word(constraint) for constraint in filter.constraints]
            row += [word(self._tags.setdefault(tag, 2 * len(self._tags) + 1), EXISTS) for tag in filter.tags]
            words.extend(sorted(row, key=symbol_of))
            offsets.append(len(words))
        return words, offsets

    def only(self, filter: Filter, words: Sequence[int]) -> Filter:
        """Return the filter with the constraints that some words say, in its own order."""
        if len(words) == len(filter.constraints) + len(filter.tags):
            return filter
        kept = set(words)
        return Filter((said for said in filter.constraints if self._word(said) in kept), filter.tags)

    def _word(self, constraint: Constraint) -> int:
        symbol = self._names.setdefault(constraint.name, 2 * len(self._names))
        return word(symbol, self.shapes.of(constraint))
