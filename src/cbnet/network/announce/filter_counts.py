"""Counts of filters: their load on a router for the quotas of clients, and their size for the limits of sessions.

The load is the number of filters and of their constraints.
A tag counts as one constraint, and so does each 100 characters of a condition. A condition that relates several
attributes counts 64 times as much, as it may be tested for many combinations of values. An attribute that is computed
from an array counts 16 more: it takes a few microseconds for each message with the array even when its items may not be
examined, so all that an account may have by default, 235, take about a millisecond. The program of a regular expression
counts as one for each 256 bytes: some kilobytes, of which a router has several copies. A filter counts as at least one
constraint, and as one for each KiB of its encoded form: otherwise 4,000 constants would fill a router.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from typing import Final, NamedTuple

from cbnet._kernels.plain_filter import plain_parts
from cbnet.language.computed import computed
from cbnet.language.condition import Condition, RegexTest
from cbnet.language.syntax.byte_cache import ByteCache
from cbnet.language.syntax.byte_form import LONG_KEPT_BYTES, filter_from_bytes

_CONDITION_TEXT = 100  # characters of a condition that count as one constraint
_RELATION = 64  # factor for a condition on several attributes
_COMPUTED = 16  # constraints that a computed attribute counts as, besides those on it
_PROGRAM = 256  # bytes of the program of a regular expression that count as one constraint


class FilterLoad(NamedTuple):
    """Numbers of filters and of their constraints."""

    filters: int = 0
    constraints: int = 0

    def plus(self, other: FilterLoad) -> FilterLoad:
        """Return the sum of two loads."""
        return FilterLoad(self.filters + other.filters, self.constraints + other.constraints)

    def minus(self, other: FilterLoad) -> FilterLoad:
        """Return the difference of two loads."""
        return FilterLoad(self.filters - other.filters, self.constraints - other.constraints)


NO_LOAD: Final = FilterLoad()


def total_load(loads: Iterable[FilterLoad]) -> FilterLoad:
    """Return the sum of loads."""
    total = NO_LOAD
    for load in loads:
        total = total.plus(load)
    return total


def filter_load(filters: Collection[bytes]) -> FilterLoad:
    """Return the load of encoded filters."""
    if not filters:
        return NO_LOAD
    return FilterLoad(len(filters), sum(map(_constraints, filters)))


def _constraints(encoded: bytes) -> int:
    least = max(1, len(encoded) >> 10)
    may_be_computed = b")" in encoded or b"[" in encoded
    if not may_be_computed and (parts := plain_parts(encoded)) >= 0:
        return max(least, parts)
    return max(least, _last_counted(encoded))


def _counted(encoded: bytes) -> int:
    filter = filter_from_bytes(encoded)
    return (
        len(filter.constraints)
        + len(filter.tags)
        + _COMPUTED * sum(computed(name) is not None for name in filter.used_names)
        + sum(map(_condition_load, filter.conditions))
    )


def _condition_load(condition: Condition) -> int:
    text = (1 + len(condition.text) // _CONDITION_TEXT) * (_RELATION if len(condition.names) > 1 else 1)
    return text + (len(condition.test.program) // _PROGRAM if isinstance(condition.test, RegexTest) else 0)


_last_counted = ByteCache(_counted, LONG_KEPT_BYTES)


class FilterCount(NamedTuple):
    """A number of filters, and their size in bytes."""

    filters: int
    bytes: int

    def plus(self, other: FilterCount) -> FilterCount:
        """Return the sum."""
        return FilterCount(self.filters + other.filters, self.bytes + other.bytes)

    def minus(self, other: FilterCount) -> FilterCount:
        """Return the difference, at least 0."""
        return FilterCount(max(0, self.filters - other.filters), max(0, self.bytes - other.bytes))

    def exceeds(self, limit: FilterCount) -> bool:
        """Return whether either number exceeds its limit."""
        return self.filters > limit.filters or self.bytes > limit.bytes


NOTHING = FilterCount(0, 0)


def sum_counts(counts: Iterable[FilterCount]) -> FilterCount:
    """Return the sum of several counts."""
    return reduce(FilterCount.plus, counts, NOTHING)


def count(filters: Collection[bytes]) -> FilterCount:
    """Return the number of filters, and their size in bytes."""
    return FilterCount(len(filters), sum(map(len, filters)))
