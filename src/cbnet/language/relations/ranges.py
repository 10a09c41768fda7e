"""Ranges of the attributes of a filter.

The constraints on one attribute, taken together, fix its type and leave a range of values:
numbers, strings, bools, a finite set of values, every value but null, or any value if there is only `exists`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from cbnet.language.constraint import Constraint, Op
from cbnet.language.relations.number_range import NumberRange
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import Value, ValueType, sort_key, value_type


class FiniteRange:
    """A few values of one type, listed in order."""

    __slots__ = ("_members",)

    def __init__(self, members: Sequence[Value]) -> None:
        self._members: Sequence[Any] = members

    @property
    def is_empty(self) -> bool:
        """Return whether the range has no members."""
        return not self._members

    @property
    def first(self) -> Value | None:
        """Return the smallest member."""
        return self._members[0] if self._members else None

    @property
    def last(self) -> Value | None:
        """Return the largest member."""
        return self._members[-1] if self._members else None

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all members satisfy a constraint."""
        return all(map(constraint.accepts, self._members))


Range: TypeAlias = NumberRange | StringRange | FiniteRange


class AttributeRange:
    """The values of one attribute that satisfy all constraints on it.

    Constraints that list values, by `in` or `= null`, leave a finite set; others a range of one type, every value
    but null, or any value.
    """

    __slots__ = ("is_empty", "kind", "members", "not_null", "typed")

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        tests = [constraint for constraint in constraints if constraint.op is not Op.EXISTS]
        self.kind: ValueType | None = None  # None: null, or values of several types
        self.typed: Range | None = None
        self.members: Sequence[Value] | None = None  # where there is a finite set
        self.not_null = bool(tests)
        lists = [test.members for test in tests if test.op is Op.IN or (test.op is Op.EQ and test.value is None)]
        if lists:
            self._list(_accepted(min(lists, key=len), tests))
        else:
            self._restrict([test for test in tests if test.value is not None])

    @property
    def first(self) -> Value:
        """Return a value of a non-empty range."""
        if self.members is not None:
            return self.members[0]
        return self.typed.first if self.typed is not None else True

    @property
    def last(self) -> Value:
        """Return another value, far from the first if it is easily found."""
        if self.members is not None:
            return self.members[-1]
        return self.typed.last if self.typed is not None else ""

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all values of a non-empty range satisfy a constraint."""
        if constraint.op is Op.EXISTS:
            return True
        if self.members is not None:
            return all(map(constraint.accepts, self.members))
        if constraint.value is None:
            return constraint.op is Op.NE and self.not_null
        if self.typed is None or not (constraint.op is Op.IN or constraint.kind is self.kind):
            return False
        return self.typed.implies(constraint)

    def _list(self, members: Sequence[Value]) -> None:
        self.members = members
        self.not_null = None not in members
        self.is_empty = not members
        kinds = {value_type(value) for value in members}
        if len(kinds) == 1 and self.not_null:
            self.kind = kinds.pop()
            self.typed = FiniteRange(members)

    def _restrict(self, tests: Sequence[Constraint]) -> None:
        kinds = {test.kind for test in tests}
        if len(kinds) == 1:
            self.kind = tests[0].kind
            if self.kind is ValueType.BOOL:
                accepted = (value for value in (False, True) if all(test.accepts(value) for test in tests))
                self.typed = FiniteRange([*accepted])
            else:
                self.typed = NumberRange(tests) if self.kind is ValueType.NUMBER else StringRange(tests)
        self.is_empty = len(kinds) > 1 or (self.typed is not None and self.typed.is_empty)


def _accepted(values: Sequence[Value], tests: Sequence[Constraint]) -> list[Value]:
    """Return the values that all tests accept; there may be thousands of values, and of `!=`."""
    different = [test for test in tests if test.op is Op.NE]
    excluded = {sort_key(test.members[0]) for test in different}
    kinds = {test.kind for test in different if test.value is not None}
    others = [test for test in tests if test.op is not Op.NE]
    return [
        value
        for value in values
        if sort_key(value) not in excluded
        and kinds <= {value_type(value)}
        and all(test.accepts(value) for test in others)
    ]


def by_name(constraints: Iterable[Constraint]) -> dict[str, list[Constraint]]:
    """Return the constraints on each attribute."""
    groups: dict[str, list[Constraint]] = defaultdict(list)
    for constraint in constraints:
        groups[constraint.name].append(constraint)
    return groups


def ranges_by_name(constraints: Iterable[Constraint]) -> dict[str, AttributeRange]:
    """Return the range of each attribute that is constrained."""
    return {name: AttributeRange(group) for name, group in by_name(constraints).items()}
