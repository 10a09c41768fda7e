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
from functools import partial
from typing import Literal

from cbnet._kernels import subsets
from cbnet.errors import InputError
from cbnet.language.candidates import Candidates, Ranges
from cbnet.language.constraint import Constraint, Op
from cbnet.language.covering import Analysis, PredicateLike, as_predicate
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.ranges import AttributeRange, by_name
from cbnet.language.strings import StringRange

Rules = Literal["full", "pairwise"]


def reduce(predicate: PredicateLike, rules: Rules = "full") -> Predicate:
    """Return a predicate that matches the same messages with no redundant constraint or filter."""
    filters = as_predicate(predicate).filters
    if rules == "pairwise":
        return _pairwise_reduced(filters)
    if rules != "full":
        raise InputError(f"unknown rules {rules!r}", hint='use "full" or "pairwise"')
    reduced = [filter for filter in map(reduce_filter, filters) if filter is not None]
    analyses = list(map(Analysis, reduced))
    return Predicate(
        _uncovered(
            reduced,
            [analysis.ranges for analysis in analyses],
            lambda wide, narrow: analyses[narrow].implies(reduced[wide]),
        )
    )


def reduce_filter(filter: Filter) -> Filter | None:
    """Return the filter without the constraints that its others imply; None if nothing matches it."""
    if not Analysis(filter).is_satisfiable:
        return None
    groups = by_name(filter.constraints)
    if len(groups) == len(filter.constraints):
        return filter
    return _only(filter, (_needed(_pairwise_needed(group)) for group in groups.values()))


def _only(filter: Filter, groups: Iterable[Sequence[Constraint]]) -> Filter:
    """Return the filter with these of its constraints, in their order."""
    kept = {id(constraint) for group in groups for constraint in group}
    return Filter((constraint for constraint in filter.constraints if id(constraint) in kept), filter.tags)


def _needed(group: list[Constraint]) -> list[Constraint]:
    """Return the constraints on one attribute that the others together do not imply.

    The group holds no constraint that another one implies alone, and some value satisfies it. So
    there is at most one lower and one upper bound, one prefix, one suffix and one equality; only
    `!=` and `*=` can be many. The others together imply `!= v` only if one of them refuses v.
    """
    kept = group
    whole = AttributeRange(group).typed
    for constraint in group if len(group) > 1 else ():
        if constraint.op is Op.NE or (
            # Most substrings are seen to be needed without asking all the others.
            constraint.op is Op.SUBSTRING and isinstance(whole, StringRange) and whole.may_lack(str(constraint.value))
        ):
            continue
        others = [other for other in kept if other is not constraint]
        if others and AttributeRange(others).implies(constraint):
            kept = others
    return kept


def _uncovered(
    filters: Sequence[Filter], shown: Sequence[Ranges | None], covers: Callable[[int, int], bool]
) -> list[Filter]:
    """Return the filters that no other one covers; of filters that cover each other, a smallest.

    A filter can cover only filters that bear on all its names and tags, and whose values lie in its
    own: most pairs are excluded by a 64-bit mask, or by `Candidates`, before `covers` is asked.
    """
    candidates = Candidates(shown)
    masks = array("Q", map(_mask, filters))
    alive = bytearray(b"\1") * len(filters)
    for position in sorted(range(len(filters)), key=lambda position: _size(filters[position])):
        if not alive[position]:
            continue
        alive[position] = 0  # not its own candidate
        for candidate in candidates.of(shown[position], partial(_supersets, position, masks, alive)):
            if alive[candidate] and covers(position, candidate):
                alive[candidate] = 0
        alive[position] = 1
    return [filter for filter, is_alive in zip(filters, alive, strict=True) if is_alive]


def _supersets(position: int, masks: array[int], alive: bytearray) -> array[int]:
    """Return the positions of living masks that contain the mask at `position`."""
    found = array("I", bytes(4 * len(masks)))
    return found[: subsets.supersets(masks[position], masks, alive, found)]


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


# --- one constraint against one --------------------------------------------------------------


def _pairwise_reduced(filters: Sequence[Filter]) -> Predicate:
    reduced = [_pairwise_reduced_filter(filter) for filter in filters]
    alone = [_each_alone(filter) for filter in reduced]

    def covers(wide: int, narrow: int) -> bool:
        return reduced[wide].tags <= reduced[narrow].tags and all(
            any(other.is_empty or other.implies(constraint) for other in alone[narrow].get(constraint.name, ()))
            for constraint in reduced[wide].constraints
        )

    analyses = map(Analysis, reduced)
    shown = [analysis.ranges if analysis.is_satisfiable else None for analysis in analyses]
    return Predicate(_uncovered(reduced, shown, covers))


def _each_alone(filter: Filter) -> dict[str, list[AttributeRange]]:
    """Return for each attribute the range of every constraint on it."""
    groups = by_name(filter.constraints)
    return {name: [AttributeRange([constraint]) for constraint in group] for name, group in groups.items()}


def _pairwise_reduced_filter(filter: Filter) -> Filter:
    groups = by_name(filter.constraints)
    if len(groups) == len(filter.constraints):
        return filter
    return _only(filter, map(_pairwise_needed, groups.values()))


def _pairwise_needed(group: list[Constraint]) -> list[Constraint]:
    """Return the constraints on one attribute that no other one implies alone."""
    if len(group) == 1:
        return group
    alone = [AttributeRange([constraint]) for constraint in group]
    shown = [None if attribute.is_empty else {"": attribute} for attribute in alone]
    candidates, everything = Candidates(shown), range(len(group))
    alive = bytearray(b"\1") * len(group)
    for position, constraint in enumerate(group):
        alive[position] = 0  # not implied by itself
        alive[position] = not any(
            alive[other] and (alone[other].is_empty or alone[other].implies(constraint))
            for other in candidates.of(shown[position], lambda: everything)
        )
    return [constraint for constraint, is_alive in zip(group, alive, strict=True) if is_alive]
