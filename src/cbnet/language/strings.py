"""Strings: which strings satisfy several constraints at once?

The domain is all strings of code points without surrogates, in the order of code points. The
string after s is s + NUL, and the strings that start with p are those from p up to `after(p)`, so
= != < <= > >= ^= together leave an interval, closed below and open above, without some points:

    low ●────○───────○────────────( high        ○ excluded by `!=`; high None: no upper end

Suffix and substring do not cut intervals: a range that has them asks `patterns.find`, which is
exact too, but gives up on very large questions; then "not proved" is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from cbnet.language.constraint import Constraint, Op
from cbnet.language.patterns import UNDECIDED, find

_NUL = "\0"
_LAST = "\U0010ffff"
_UNORDERED = frozenset({Op.SUFFIX, Op.SUBSTRING})


def after(prefix: str) -> str | None:
    """Return the smallest string above all that start with `prefix`; None if there is none."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)


class StringRange:
    """The strings that satisfy some constraints; `low` is in the interval unless that is empty."""

    __slots__ = ("_constraints", "_member", "_patterned", "excluded", "high", "low")

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.low = ""
        self.high: str | None = None
        self.excluded: set[str] = set()
        for constraint in constraints:
            self._restrict(constraint.op, cast(str, constraint.value))
        self._trim()
        self._constraints = constraints
        self._patterned = any(constraint.op in _UNORDERED for constraint in constraints)
        self._member = find(constraints) if self._patterned and not self._is_interval_empty else None

    @property
    def is_empty(self) -> bool:
        """Return whether it is proved that no string satisfies the constraints."""
        return self._is_interval_empty or (self._patterned and self._member is None)

    @property
    def _is_interval_empty(self) -> bool:
        return self.high is not None and self.low >= self.high

    def implies(self, constraint: Constraint) -> bool:
        """Return whether it is proved that all members satisfy a constraint on strings."""
        if not self._patterned and constraint.op not in _UNORDERED:
            return self._interval_implies(constraint)
        if isinstance(self._member, str) and not constraint.accepts(self._member):
            return False
        # The member refutes most questions, the interval proves some: both cost far less than a search.
        if constraint.op not in _UNORDERED and self._interval_implies(constraint):
            return True
        return find(self._constraints, [constraint]) is None

    def witness(self) -> str | None:
        """Return a member, a short one if it can be found; None if none is found."""
        member = self._member if self._patterned else find(self._constraints)
        if member is UNDECIDED:
            return None if self._patterned else self.low
        return member if isinstance(member, str) else None

    def _interval_implies(self, constraint: Constraint) -> bool:
        value = cast(str, constraint.value)
        match constraint.op:
            case Op.EQ:
                return self.low == value and self._is_below(value + _NUL)
            case Op.NE:
                return value in self.excluded or value < self.low or self._is_below(value)
            case Op.LT:
                return self._is_below(value)
            case Op.LE:
                return self._is_below(value + _NUL)
            case Op.GT:
                return self.low > value
            case Op.GE:
                return self.low >= value
            case _:
                return self.low >= value and self._is_below(after(value))

    def _is_below(self, bound: str | None) -> bool:
        return bound is None or (self.high is not None and self.high <= bound)

    def _restrict(self, op: Op, value: str) -> None:
        if op is Op.NE:
            self.excluded.add(value)
        if op in (Op.EQ, Op.GE, Op.PREFIX):
            self.low = max(self.low, value)
        if op is Op.GT:
            self.low = max(self.low, value + _NUL)
        if op in (Op.EQ, Op.LE):
            self._lower_high(value + _NUL)
        if op is Op.LT:
            self._lower_high(value)
        if op is Op.PREFIX:
            self._lower_high(after(value))

    def _lower_high(self, bound: str | None) -> None:
        if bound is not None and (self.high is None or bound < self.high):
            self.high = bound

    def _trim(self) -> None:
        """Move the ends inwards past excluded points; only s + NUL has a string just below it."""
        while not self._is_interval_empty and self.low in self.excluded:
            self.low += _NUL
        while self.high is not None and self.high.endswith(_NUL) and self.high[:-1] in self.excluded:
            self.high = self.high[:-1]
