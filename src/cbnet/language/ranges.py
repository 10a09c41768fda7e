"""Ranges: which values may each attribute of a filter take?

The constraints on one attribute, taken together, fix its type and leave a range of values:
numbers, strings, bools, or any value at all where only `exists` is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.numbers import NumberRange
from cbnet.language.strings import StringRange
from cbnet.language.values import Kind, Value


class Range(Protocol):
    """The values that satisfy some constraints of one type."""

    @property
    def is_empty(self) -> bool:
        """Return whether it is proved that there are none."""

    def implies(self, constraint: Constraint) -> bool:
        """Return whether it is proved that they all satisfy a constraint of that type."""

    def witness(self) -> Value | None:
        """Return one of them."""


class BoolRange:
    """The bools that satisfy some constraints."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._members = [value for value in (True, False) if all(c.accepts(value) for c in constraints)]

    @property
    def is_empty(self) -> bool:
        """Return whether there are none."""
        return not self._members

    def implies(self, constraint: Constraint) -> bool:
        """Return whether they all satisfy a constraint on bools."""
        return all(map(constraint.accepts, self._members))

    def witness(self) -> bool | None:
        """Return one of them."""
        return next(iter(self._members), None)


_RANGES: dict[Kind, type[BoolRange | NumberRange | StringRange]] = {
    Kind.BOOL: BoolRange,
    Kind.NUMBER: NumberRange,
    Kind.STRING: StringRange,
}


class AttributeRange:
    """The values of one attribute that satisfy all the constraints on it."""

    __slots__ = ("_range", "kind")

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        typed = [constraint for constraint in constraints if constraint.op is not Op.EXISTS]
        kinds = {constraint.kind for constraint in typed}
        self.kind = kinds.pop() if len(kinds) == 1 else None  # None: any type, or none
        self._range: Range | None = None if self.kind is None else _RANGES[self.kind](typed)
        if kinds and self.kind is None:
            self._range = BoolRange([Constraint("", Op.EQ, True), Constraint("", Op.EQ, False)])  # empty

    @property
    def is_empty(self) -> bool:
        """Return whether it is proved that no value satisfies the constraints."""
        return self._range is not None and self._range.is_empty

    def implies(self, constraint: Constraint) -> bool:
        """Return whether it is proved that every value in a range that is not empty satisfies it."""
        if constraint.op is Op.EXISTS:
            return True
        return self._range is not None and constraint.kind is self.kind and self._range.implies(constraint)


def ranges(filter: Filter) -> dict[str, AttributeRange]:
    """Return the range of each attribute that the filter constrains."""
    by_name: dict[str, list[Constraint]] = defaultdict(list)
    for constraint in filter.constraints:
        by_name[constraint.name].append(constraint)
    return {name: AttributeRange(constraints) for name, constraints in by_name.items()}
