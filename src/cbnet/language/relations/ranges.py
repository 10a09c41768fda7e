"""Ranges: which values may each attribute of a filter take?

The constraints on one attribute, taken together, fix its type and leave a range of values:
numbers, strings, bools, or any value at all where only `exists` is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.relations.number_range import NumberRange
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import Value, ValueType


class Range(Protocol):
    """The values that satisfy some constraints of one type."""

    @property
    def is_empty(self) -> bool:
        """Return whether there are none."""

    @property
    def first(self) -> Value | None:
        """Return one of them, if there is one."""

    @property
    def last(self) -> Value | None:
        """Return another one, far from the first if that is easy."""

    @property
    def excluded(self) -> Collection[Value]:
        """Return the constants of `!=`."""

    @property
    def is_bounded(self) -> bool:
        """Return whether more than `!=` is asked."""

    def implies(self, constraint: Constraint) -> bool:
        """Return whether they all, if there is one, satisfy a constraint of that type."""

    def span(self, ordered: Sequence[Any]) -> slice:
        """Return which part of an ordered list of values lies between the ends."""

    def holding(self, firsts: Mapping[int, Any], lasts: Mapping[int, Any], positions: Iterable[int]) -> list[int]:
        """Return the positions of ranges that may be a part of this one, judged by two members of each."""


class BoolRange:
    """The bools that satisfy some constraints."""

    __slots__ = ("_members",)
    excluded: Collection[Value] = ()
    is_bounded = True

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        asked = list(constraints)
        self._members = [value for value in (True, False) if all(c.accepts(value) for c in asked)]

    @property
    def is_empty(self) -> bool:
        """Return whether there are none."""
        return not self._members

    @property
    def first(self) -> bool | None:
        """Return one of them."""
        return next(iter(self._members), None)

    last = first

    def implies(self, constraint: Constraint) -> bool:
        """Return whether they all satisfy a constraint on bools."""
        return all(map(constraint.accepts, self._members))

    def span(self, ordered: Sequence[bool]) -> slice:
        """Return the whole of an ordered list."""
        return slice(len(ordered))

    def holding(self, firsts: Mapping[int, bool], lasts: Mapping[int, bool], positions: Iterable[int]) -> list[int]:
        """Return the positions of which both shown members are among them."""
        shown = ((place, firsts[place], lasts[place]) for place in positions if place in firsts)
        return [place for place, first, last in shown if first in self._members and last in self._members]


_RANGES: dict[ValueType, type[BoolRange | NumberRange | StringRange]] = {
    ValueType.BOOL: BoolRange,
    ValueType.NUMBER: NumberRange,
    ValueType.STRING: StringRange,
}


class AttributeRange:
    """The values of one attribute that satisfy all the constraints on it."""

    __slots__ = ("is_empty", "kind", "typed")

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        asked = [constraint for constraint in constraints if constraint.kind is not None]
        kinds = {constraint.kind for constraint in asked}
        self.kind: ValueType | None = None  # of no kind: any value, or none
        self.typed: Range | None = None
        if len(kinds) == 1:
            self.kind = asked[0].kind
            assert self.kind is not None
            self.typed = _RANGES[self.kind](asked)
        self.is_empty = len(kinds) > 1 or (self.typed is not None and self.typed.is_empty)

    def implies(self, constraint: Constraint) -> bool:
        """Return whether every value in a range that is not empty satisfies a constraint."""
        if constraint.op is Op.EXISTS:
            return True
        return self.typed is not None and constraint.kind is self.kind and self.typed.implies(constraint)


def by_name(constraints: Iterable[Constraint]) -> dict[str, list[Constraint]]:
    """Return the constraints on each attribute."""
    groups: dict[str, list[Constraint]] = defaultdict(list)
    for constraint in constraints:
        groups[constraint.name].append(constraint)
    return groups


def ranges(filter: Filter) -> dict[str, AttributeRange]:
    """Return the range of each attribute that the filter constrains."""
    return {name: AttributeRange(constraints) for name, constraints in by_name(filter.constraints).items()}
