"""Ranges of the attributes of a filter.

The constraints on one attribute, taken together, fix its type and leave a range of values:
numbers, strings, bools, a finite set of values, every value but null, or any value if there is only `exists`.
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
        """Return whether the range has no members."""

    @property
    def first(self) -> Value | None:
        """Return a member, if there is one."""

    @property
    def last(self) -> Value | None:
        """Return another member, far from the first if it is easily found."""

    @property
    def only_members(self) -> Sequence[Value] | None:
        """Return all members of a very small range; None if there are more, or it is not known."""

    @property
    def excluded(self) -> Collection[Value]:
        """Return the constants of `!=`."""

    @property
    def is_bounded(self) -> bool:
        """Return whether there are constraints other than `!=`."""

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all members of a non-empty range satisfy a constraint of its type."""

    def span(self, ordered: Sequence[Any]) -> slice:
        """Return the slice of an ordered list of values between the ends."""

    def select_within(self, firsts: Mapping[int, Any], lasts: Mapping[int, Any], positions: Iterable[int]) -> list[int]:
        """Return the positions of the ranges that this one may contain, judged by two members of each."""


class BoolRange:
    """The bools that satisfy some constraints."""

    __slots__ = ("_members",)
    excluded: Collection[Value] = ()
    is_bounded = True

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        tests = list(constraints)
        self._members = [value for value in (True, False) if all(test.accepts(value) for test in tests)]

    @property
    def is_empty(self) -> bool:
        """Return whether the range has no members."""
        return not self._members

    @property
    def first(self) -> bool | None:
        """Return a member."""
        return next(iter(self._members), None)

    last = first

    @property
    def only_members(self) -> Sequence[bool]:
        """Return all members."""
        return self._members

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all members satisfy a constraint on bools."""
        return all(map(constraint.accepts, self._members))

    def span(self, ordered: Sequence[bool]) -> slice:
        """Return the slice of a whole ordered list."""
        return slice(len(ordered))

    def select_within(
        self, firsts: Mapping[int, bool], lasts: Mapping[int, bool], positions: Iterable[int]
    ) -> list[int]:
        """Return the positions whose first and last members are members here."""
        pairs = ((position, {firsts[position], lasts[position]}) for position in positions if position in firsts)
        return [position for position, ends in pairs if ends <= {*self._members}]


_RANGES: dict[ValueType, type[BoolRange | NumberRange | StringRange]] = {
    ValueType.BOOL: BoolRange,
    ValueType.NUMBER: NumberRange,
    ValueType.STRING: StringRange,
}


class AttributeRange:
    """The values of one attribute that satisfy all constraints on it."""

    __slots__ = ("is_empty", "kind", "members", "not_null", "typed")

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        tests = [constraint for constraint in constraints if constraint.op is not Op.EXISTS]
        self.kind: ValueType | None = None  # None: any value, no value, or members of several types
        self.typed: Range | None = None
        self.members: Sequence[Value] | None = None  # where `in` or null leaves a finite set
        self.not_null = bool(tests)
        finite = [test for test in tests if test.op is Op.IN or (test.op is Op.EQ and test.value is None)]
        if finite:
            fewest = min((test.members for test in finite), key=len)
            self.members = [value for value in fewest if all(test.accepts(value) for test in tests)]
            self.not_null = None not in self.members
            self.is_empty = not self.members
            return
        typed = [test for test in tests if test.value is not None]
        kinds = {test.kind for test in typed}
        if len(kinds) == 1:
            self.kind = typed[0].kind
            assert self.kind is not None
            self.typed = _RANGES[self.kind](typed)
        self.is_empty = len(kinds) > 1 or (self.typed is not None and self.typed.is_empty)

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all values of a non-empty range satisfy a constraint."""
        if constraint.op is Op.EXISTS:
            return True
        if self.members is not None:
            return all(map(constraint.accepts, self.members))
        if constraint.op is Op.NE and constraint.value is None:
            return self.not_null
        if self.typed is None or constraint.value is None:
            return False
        if constraint.op is Op.IN:
            only = self.typed.only_members
            return only is not None and all(map(constraint.accepts, only))
        return constraint.kind is self.kind and self.typed.implies(constraint)


def by_name(constraints: Iterable[Constraint]) -> dict[str, list[Constraint]]:
    """Return the constraints on each attribute."""
    groups: dict[str, list[Constraint]] = defaultdict(list)
    for constraint in constraints:
        groups[constraint.name].append(constraint)
    return groups


def ranges(filter: Filter) -> dict[str, AttributeRange]:
    """Return the range of each attribute that the filter constrains."""
    return {name: AttributeRange(constraints) for name, constraints in by_name(filter.constraints).items()}
