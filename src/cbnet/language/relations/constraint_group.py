"""Reduction of the constraints on one attribute of a filter: those that the others imply are dropped.

The full rules take the others together; the pairwise rules take each of them alone [2006 §4.2].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from cbnet.language.constraint import Op
from cbnet.language.relations.range_encoding import Shapes
from cbnet.language.relations.range_index import RangeIndex
from cbnet.language.relations.ranges import AttributeRange
from cbnet.language.relations.string_range import StringRange

Rules = Literal["full", "pairwise"]
_MAX_UNINDEXED = 16  # constraints compared pairwise without an index


class ConstraintGroup(NamedTuple):
    """The constraints on one attribute, by their shapes."""

    needed: Sequence[int]
    whole: int | None  # the shape of their conjunction; None: it is empty


def reduce_group(shapes: Shapes, group: Sequence[int], rules: Rules) -> ConstraintGroup:
    """Return the needed constraints on one attribute, and the shape of their conjunction."""
    whole = group[0] if len(group) == 1 else shapes.together(group)
    needed = _not_implied_by_one(shapes, group)
    if shapes.ranges[whole].is_empty:
        return ConstraintGroup(needed, None)
    if rules == "full":
        needed = _not_implied(shapes, needed, whole)
    return ConstraintGroup(needed, needed[0] if len(needed) == 1 else whole)


def _not_implied_by_one(shapes: Shapes, group: Sequence[int]) -> Sequence[int]:
    """Return the constraints that no other single one implies; of equal ones, the last."""
    if len(group) == 1:
        return group
    others = _others(shapes, group)
    alive = bytearray(b"\1") * len(group)
    for position, wide in enumerate(group):
        alive[position] = 0  # not implied by itself
        alive[position] = not any(alive[other] and shapes.contains(wide, group[other]) for other in others(position))
    return [shape for shape, is_alive in zip(group, alive, strict=True) if is_alive]


def _others(shapes: Shapes, group: Sequence[int]) -> Callable[[int], Iterable[int]]:
    """Return a function from a position to the constraints that may imply the one there."""
    everything = range(len(group))
    if len(group) <= _MAX_UNINDEXED:
        return lambda _: everything
    attributes = [shapes.ranges[shape] for shape in group]
    if any(attribute.members is not None for attribute in attributes):
        return lambda _: everything
    index = RangeIndex(attributes)
    return lambda position: index.candidates(attributes[position])


def _not_implied(shapes: Shapes, group: Sequence[int], whole: int) -> Sequence[int]:
    """Return the constraints that the others together do not imply.

    No constraint of the group implies another, and some value satisfies all. So there is at most one
    lower and one upper bound, one prefix, one suffix and one equality; only `!=` and `*=` can be many.
    The others together imply `!= v` only if one of them rejects v. (Sets of values are exceptions.)
    """
    kept, typed = group, shapes.ranges[whole].typed
    is_finite = shapes.ranges[whole].members is not None
    if is_finite and len(group) > _MAX_UNINDEXED:  # a redundant one may stay: comparing all takes long
        return group
    for shape in group if len(group) > 2 else ():  # two have been compared with each other
        test = shapes.test(shape)
        is_needed = test.op is Op.NE or (
            # most substrings are needed, which this cheap test shows
            test.op is Op.SUBSTRING and isinstance(typed, StringRange) and typed.may_lack(str(test.value))
        )
        if is_needed and not is_finite:
            continue
        others = [other for other in kept if other != shape]
        if AttributeRange(map(shapes.test, others)).implies(test):
            kept = others
    return kept
