"""Filters of a live table that compile to the same tests.

`x != true` and `x = false` are two filters by `==`, and a table has one test for both. A live table keeps
the test as long as one of the filters exists. A table file does not store the spelling: its filters are read
as `x = false`.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from cbnet.language.constraint import Op
from cbnet.language.filter import Filter
from cbnet.language.values import ValueType
from cbnet.matching.memtable import TargetFilter
from cbnet.matching.storage.filter_encoding import EncodedFilter, decode_filter, encode_filter

_BOOL = ValueType.BOOL


class Spellings:
    """The filters of those items that are written with `!=` on a bool. Any other item is one filter."""

    def __init__(self) -> None:
        self._filters: dict[TargetFilter, set[Filter]] = {}

    def filters(self, item: TargetFilter) -> Set[Filter]:
        """Return the filters of an item that is in the table."""
        return self._filters.get(item) or {decode_filter(item[1])}

    def replace(self, item: TargetFilter, filters: Iterable[Filter]) -> None:
        """Set the filters of an item; none where the item leaves the table."""
        present = set(filters)
        if any(map(_negates_bool, present)):
            self._filters[item] = present
        else:
            self._filters.pop(item, None)

    def add(self, item: TargetFilter, filter: Filter, *, is_new: bool) -> bool:
        """Add a filter of an item, which is new in the table or not; return whether the filter was absent."""
        if not _negates_bool(filter) and item not in self._filters:
            return is_new
        present = set() if is_new else self.filters(item)
        self.replace(item, {*present, filter})
        return filter not in present

    def remove(self, item: TargetFilter, filter: Filter) -> Set[Filter] | None:
        """Remove a filter of an item; return the other filters of the item, or None if it had no such filter."""
        if item not in self._filters:  # the item is one filter, if it is in the table
            return None if _negates_bool(filter) else frozenset()
        present = self._filters[item]
        if filter not in present:
            return None
        self.replace(item, present - {filter})
        return present - {filter}


def filters_by_tests(filters: Iterable[Filter]) -> dict[EncodedFilter, list[Filter]]:
    """Return filters by the tests that they compile to."""
    by_tests: dict[EncodedFilter, list[Filter]] = {}
    for filter in filters:
        by_tests.setdefault(encode_filter(filter), []).append(filter)
    return by_tests


def _negates_bool(filter: Filter) -> bool:
    for constraint in filter.constraints:  # noqa: SIM110  # for every filter that is added: a generator takes 0.3 µs
        if constraint.kind is _BOOL and constraint.op is Op.NE:
            return True
    return False
