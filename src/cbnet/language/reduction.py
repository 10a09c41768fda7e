"""Reduction: what can a predicate do without?

`reduce` drops the constraints that the rest of their filter implies, the filters that no message
can match, and the filters that another one covers. The messages that match stay the same.

`rules="pairwise"` is the algorithm of [2006 §4.2], for comparison: it sets one constraint against
one, so it does not see that `x = 6` covers `x >= 6 and x <= 6`, nor that `x < 3 and x > 5` is
empty. The full rules begin with it and never keep more.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from cbnet._kernels import subsets
from cbnet.errors import InputError
from cbnet.language.constraint import Constraint
from cbnet.language.covering import Analysis, PredicateLike, as_predicate
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.ranges import AttributeRange

Rules = Literal["full", "pairwise"]


def reduce(predicate: PredicateLike, rules: Rules = "full") -> Predicate:
    """Return a predicate that matches the same messages with no redundant constraint or filter."""
    filters = as_predicate(predicate).filters
    if rules == "pairwise":
        return Predicate(_uncovered(list(map(_pairwise_reduced, filters)), _pairwise_covers))
    if rules != "full":
        raise InputError(f"unknown rules {rules!r}", hint='use "full" or "pairwise"')
    reduced = [filter for filter in map(reduce_filter, filters) if filter is not None]
    analyses = {filter: Analysis(filter) for filter in reduced}
    return Predicate(_uncovered(reduced, lambda wide, narrow: analyses[narrow].implies(wide)))


def reduce_filter(filter: Filter) -> Filter | None:
    """Return the filter without the constraints that its others imply; None if nothing matches it."""
    kept = list(_pairwise_reduced(filter).constraints)
    position = 0
    while position < len(kept):
        constraint = kept[position]
        others = [other for other in kept if other is not constraint and other.name == constraint.name]
        if others and AttributeRange(others).implies(constraint):
            del kept[position]
            position = 0  # with less to search, a question that was given up may now be answered
        else:
            position += 1
    reduced = Filter(kept, filter.tags)
    return reduced if Analysis(reduced).is_satisfiable else None


def _uncovered(filters: Sequence[Filter], covers: Callable[[Filter, Filter], bool]) -> list[Filter]:
    """Return the filters that no other one covers; of filters that cover each other, a smallest.

    A filter can cover only filters that bear on all its names and tags, so most pairs are
    excluded by a 64-bit mask of those before `covers` is asked.
    """
    masks = array("Q", map(_mask, filters))
    alive = bytearray(b"\1") * len(filters)
    narrower = array("I", bytes(4 * len(filters)))
    for position in sorted(range(len(filters)), key=lambda position: _size(filters[position])):
        if not alive[position]:
            continue
        wide = filters[position]
        alive[position] = 0  # not its own candidate
        for candidate in narrower[: subsets.supersets(masks[position], masks, alive, narrower)]:
            if covers(wide, filters[candidate]):
                alive[candidate] = 0
        alive[position] = 1
    return [filter for filter, is_alive in zip(filters, alive, strict=True) if is_alive]


def plain_supersets(wide: int, masks: Sequence[int], alive: Sequence[int]) -> list[int]:
    """Return what the kernel `subsets.supersets` writes: its specification."""
    return [place for place, mask in enumerate(masks) if alive[place] and wide & ~mask == 0]


def _size(filter: Filter) -> int:
    return len(filter.constraints) + len(filter.tags)


def _mask(filter: Filter) -> int:
    """Return a word with a bit set for each attribute name and each tag."""
    mask = 0
    for constraint in filter.constraints:
        mask |= 1 << (hash(constraint.name) & 63)
    for tag in filter.tags:
        mask |= 1 << (hash(tag) & 63)
    return mask


def _pairwise_reduced(filter: Filter) -> Filter:
    kept = list(filter.constraints)
    for constraint in filter.constraints:
        if any(other is not constraint and _constraint_covers(constraint, other) for other in kept):
            kept.remove(constraint)
    return Filter(kept, filter.tags)


def _pairwise_covers(wide: Filter, narrow: Filter) -> bool:
    return wide.tags <= narrow.tags and all(
        any(_constraint_covers(constraint, other) for other in narrow.constraints) for constraint in wide.constraints
    )


@lru_cache(maxsize=65_536)
def _constraint_covers(wide: Constraint, narrow: Constraint) -> bool:
    if wide.name != narrow.name:
        return False
    attribute = AttributeRange([narrow])
    return attribute.is_empty or attribute.implies(wide)
