"""Index of ranges: candidates for being contained in another range, found without comparing all.

A range contains another only if it contains the two members that every range has at hand, `first` and
`last`. For each type the firsts are sorted:

    firsts    -3 ─── 0 ─── 0 ─── 7 ─── 12 ─── 40       one for each constraint on x
    x > 5                        └──────────────┘      only these can imply it

`x != 5` has no such ends: what implies it excludes 5 too, or is bounded otherwise. What implies `s *= "ab"`
has a first that contains "ab".
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from cbnet.language.relations.ranges import AttributeRange, FiniteRange, Range
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import Value, ValueType

_KEY_LENGTH = 8  # characters; with 6 or more, few firsts contain a text by chance


class RangeIndex:
    """Ranges of one attribute, indexed by their type and ends; an empty one is always a candidate."""

    def __init__(self, attributes: Sequence[AttributeRange]) -> None:
        self._everything = range(len(attributes))
        self._empty = [position for position, attribute in enumerate(attributes) if attribute.is_empty]
        groups: dict[ValueType, list[tuple[int, Range]]] = defaultdict(list)
        for position, attribute in enumerate(attributes):
            if not attribute.is_empty and attribute.kind is not None and attribute.typed is not None:
                groups[attribute.kind].append((position, attribute.typed))
        self._groups = {kind: _Group(rows) for kind, rows in groups.items()}

    def candidates(self, wide: AttributeRange) -> Sequence[int]:
        """Return the positions of the ranges that another one may contain."""
        if wide.is_empty or wide.kind is None or wide.typed is None:
            return self._everything
        group = self._groups.get(wide.kind, _NONE)
        positions = group.within(wide.typed)
        return [*wide.typed.select_within(group.firsts, group.lasts, positions), *self._empty]


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
