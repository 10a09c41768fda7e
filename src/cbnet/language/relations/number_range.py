"""Ranges of numbers: the numbers that satisfy several constraints at once.

The domain is the set of numbers of messages: the 64-bit ints and the finite 64-bit floats, one ordered
set. It is discrete, so every bound can be closed: `x > 5` is `x >= successor(5)`, with
successor(5) = 5.000000000000001. A set of constraints leaves a closed interval without some points
inside it, which makes every relation exact:

    low ●────○───────○────────────● high        ○ excluded by `!=`, strictly inside
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import chain
from typing import cast

from cbnet.language.constraint import Constraint, Op
from cbnet.language.values import INT_MAX, INT_MIN, Value, ValueType, canonical, value_type

Number = int | float
MAX_FLOAT = sys.float_info.max


def successor(number: Number) -> Number | None:
    """Return the smallest number of the domain above `number`; None above the largest."""
    above = float(number)
    if above <= number:  # the nearest float may be below or above an int
        above = math.nextafter(above, math.inf)
    whole = math.floor(number) + 1
    candidates: list[Number] = [whole] if INT_MIN <= whole <= INT_MAX else []
    if math.isfinite(above):
        candidates.append(above)
    return _canonical(min(candidates)) if candidates else None


def predecessor(number: Number) -> Number | None:
    """Return the largest number of the domain below `number`; None below the smallest."""
    mirrored = successor(-number)  # -(2**63) has no opposite among the ints, but one among the floats
    return None if mirrored is None else _canonical(-mirrored)


class NumberRange:
    """The numbers that satisfy some constraints; `low` and `high` are members unless it is empty."""

    __slots__ = ("excluded", "high", "low")

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        self.low: Number | None = -MAX_FLOAT
        self.high: Number | None = MAX_FLOAT
        self.excluded: set[Number] = set()
        for constraint in constraints:
            self._restrict(constraint.op, cast(Number, constraint.value))
        self._trim()

    @property
    def is_empty(self) -> bool:
        """Return whether no number satisfies the constraints."""
        return self.low is None or self.high is None or self.low > self.high

    @property
    def first(self) -> Number | None:
        """Return the smallest member."""
        return self.low

    @property
    def last(self) -> Number | None:
        """Return the largest member."""
        return self.high

    @property
    def is_bounded(self) -> bool:
        """Return whether there are constraints other than `!=`."""
        return (self.low, self.high) != (-MAX_FLOAT, MAX_FLOAT)

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all members of a non-empty range satisfy a constraint on numbers, or are in its set."""
        if constraint.op is Op.IN:
            return self._has_only(constraint.members)
        assert self.low is not None
        assert self.high is not None
        value = cast(Number, constraint.value)
        match constraint.op:
            case Op.EQ:
                return self.low == self.high == value
            case Op.NE:
                return value in self.excluded or not self.low <= value <= self.high
            case Op.LT | Op.LE:
                return constraint.accepts(self.high)
            case _:
                return constraint.accepts(self.low)

    def witness(self) -> Number | None:
        """Return a member, an integer if there is one nearby; None if the range is empty."""
        if self.is_empty:
            return None
        assert self.low is not None
        assert self.high is not None
        start = min(max(self.low, 0), self.high)
        near = _integers_near(start, len(self.excluded) + 2)
        between = [self.low * (1 - part) + self.high * part for part in (0.5, 0.25, 0.75)]
        round_ones = [_canonical(round(number, digits)) for digits in (1, 2, 3) for number in between]
        return next(filter(self._holds, chain(near, round_ones, [self.low])))

    def _has_only(self, values: Iterable[Value]) -> bool:
        rest = copy(self)
        rest.excluded = {
            *self.excluded,
            *(cast(Number, each) for each in values if value_type(each) is ValueType.NUMBER),
        }
        rest._trim()
        return rest.is_empty

    def _holds(self, number: Number) -> bool:
        assert self.low is not None
        assert self.high is not None
        return self.low <= number <= self.high and number not in self.excluded

    def _restrict(self, op: Op, value: Number) -> None:
        match op:
            case Op.NE:
                self.excluded.add(value)
            case Op.EQ:
                self._raise_low(value)
                self._lower_high(value)
            case Op.GE:
                self._raise_low(value)
            case Op.LE:
                self._lower_high(value)
            case Op.GT:
                self._raise_low(successor(value))
            case Op.LT:
                self._lower_high(predecessor(value))

    def _raise_low(self, bound: Number | None) -> None:
        if self.low is not None:
            self.low = None if bound is None else max(self.low, bound)

    def _lower_high(self, bound: Number | None) -> None:
        if self.high is not None:
            self.high = None if bound is None else min(self.high, bound)

    def _trim(self) -> None:
        """Move the ends inwards until both are members."""
        if not self.excluded:
            return
        while not self.is_empty and self.low in self.excluded:
            self._raise_low(successor(self.low))
        while not self.is_empty and self.high in self.excluded:
            self._lower_high(predecessor(self.high))


def _canonical(number: Number) -> Number:
    return cast(Number, canonical(number))


def _integers_near(start: Number, count: int) -> Iterator[int]:
    """Yield integers at and around `start`, upwards first."""
    whole = math.ceil(start)
    numbers = chain(range(whole, whole + count), range(whole - 1, whole - count, -1))
    return (number for number in numbers if INT_MIN <= number <= INT_MAX)
