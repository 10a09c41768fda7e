"""Index of ranges: candidates for being contained in another range, found without comparing all.

A range contains another only if it contains the two members that every range has at hand, `first` and
`last`. For each attribute and type the firsts are sorted:

    firsts    -3 ─── 0 ─── 0 ─── 7 ─── 12 ─── 40       one for each filter with a constraint on x
    x > 5                        └──────────────┘      only these can be covered

`x != 5` has no such ends: what it covers excludes 5 too, or is bounded otherwise. What `s *= "ab"`
covers has a first that contains "ab".
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from cbnet.language.relations.ranges import AttributeRange, FiniteRange, Range
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import Value, ValueType

Ranges: TypeAlias = Mapping[str, AttributeRange]
_KEY_LENGTH = 8  # characters; with 6 or more, few firsts contain a text by chance
_MAX_SCAN = 64  # positions cheap enough to test one by one


class RangeIndex:
    """Filters, as the ranges of their attributes, indexed by the ends of the ranges.

    None stands for a filter that no message matches: it has no members and is always a candidate.
    """

    def __init__(self, filters: Sequence[Ranges | None]) -> None:
        self._unsatisfiable = [position for position, attributes in enumerate(filters) if attributes is None]
        groups: dict[tuple[str, ValueType], list[tuple[int, Range]]] = defaultdict(list)
        for position, attributes in enumerate(filters):
            for name, attribute in (attributes or {}).items():
                if attribute.kind is not None and attribute.typed is not None:
                    groups[name, attribute.kind].append((position, attribute.typed))
        self._groups = {key: _Group(rows) for key, rows in groups.items()}

    def candidates(self, wide: Ranges | None, fallback: Callable[[], Sequence[int]]) -> Sequence[int]:
        """Return the positions of the filters that `wide` may cover.

        `fallback` returns the candidates of another index. It is called if the values of `wide` do not
        restrict the positions, or leave many.
        """
        tests: list[tuple[_Group, Range]] = [
            (self._groups.get((name, attribute.kind), _NONE), attribute.typed)
            for name, attribute in (wide or {}).items()
            if attribute.kind is not None and attribute.typed is not None
        ]
        if not tests:
            return fallback()
        positions = min((group.within(range) for group, range in tests), key=len)
        if len(positions) > _MAX_SCAN:
            positions = min(positions, fallback(), key=len)
        for group, range in tests:
            positions = range.select_within(group.firsts, group.lasts, positions)
        return [*positions, *self._unsatisfiable]


class _Group:
    """The ranges of one attribute and one type."""

    def __init__(self, rows: Sequence[tuple[int, Range]]) -> None:
        self.firsts: dict[int, Any] = {position: range.first for position, range in rows}
        self.lasts: dict[int, Any] = {position: range.last for position, range in rows}
        positions = sorted(self.firsts, key=self.firsts.__getitem__)
        self._positions = memoryview(array("I", positions))  # slices are not copied
        self._ordered = [self.firsts[position] for position in positions]
        bounded = [(position, range) for position, range in rows if range.is_bounded]
        self._scattered = [position for position, range in bounded if _is_scattered(range)]
        self._interval = [position for position, range in bounded if not _is_scattered(range)]
        self._excluding: dict[Value, list[int]] = defaultdict(list)
        for position, range in rows:
            for value in range.excluded:
                self._excluding[value].append(position)
        starts = {_start(range) for _, range in rows if isinstance(range, StringRange) and range.texts}
        self._containing = _containing(starts, self.firsts)

    def within(self, range: Range) -> Sequence[int]:
        """Return the shortest list of positions among several look-ups."""
        results: list[Sequence[int]] = [self._positions[range.span(self._ordered)]]
        if isinstance(range, StringRange) and range.texts:
            results.append(self._containing.get(_start(range), self._positions))
        if range.excluded and not range.is_bounded:
            results.append(self._lacking(next(iter(range.excluded))))
        return min(results, key=len)

    def _lacking(self, value: Any) -> list[int]:
        """Return the positions of ranges that may lack a value: they exclude it or end before it."""
        firsts, lasts = self.firsts, self.lasts
        beside = [position for position in self._interval if not firsts[position] <= value <= lasts[position]]
        return beside + self._scattered + self._excluding.get(value, [])


def _is_scattered(range: Range) -> bool:
    """Return whether a range may lack values between its ends."""
    return isinstance(range, FiniteRange) or (isinstance(range, StringRange) and bool(range.texts))


def _start(range: StringRange) -> str:
    """Return the start of a text that all members contain; short, so that there are few lengths to look up."""
    return range.texts[-1][:_KEY_LENGTH]


def _containing(texts: set[str], firsts: Mapping[int, Any]) -> dict[str, list[int]]:
    """Return, for each text, the positions of the firsts that contain it."""
    lengths = set(map(len, texts))
    containing: dict[str, list[int]] = {text: [] for text in texts}
    for position, first in firsts.items():
        spans = ((start, start + length) for length in lengths for start in range(len(first) - length + 1))
        for text in {first[start:end] for start, end in spans if first[start:end] in texts}:
            containing[text].append(position)
    return containing


_NONE = _Group([])
