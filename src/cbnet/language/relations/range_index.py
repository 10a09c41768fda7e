"""Candidates: which of many ranges may be a part of a given one? Found without asking each.

A range that is a part of another lies in it with all its members, so with the two that every range
shows, `first` and `last`. Per attribute and type the firsts stand in order:

    firsts    -3 ─── 0 ─── 0 ─── 7 ─── 12 ─── 40       one for each filter that bears on x
    x > 5                        └──────────────┘      only these can be covered

`x != 5` has no such ends. What it covers excludes 5 itself, or is bounded by something else. And
what `s *= "ab"` covers shows a first that contains "ab".
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from cbnet.language.relations.ranges import AttributeRange, Range
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import Value, ValueType

Ranges: TypeAlias = Mapping[str, AttributeRange]
_LOOKED_UP = 8  # characters; with 6 or more, few firsts contain a text by chance
_FEW = 64  # positions that are looked at one by one without regret


class Candidates:
    """Filters, given by the ranges of their attributes, arranged so that few are asked.

    None stands for a filter that no message matches: it has no member to show and is always asked.
    """

    def __init__(self, filters: Sequence[Ranges | None]) -> None:
        self._unsatisfiable = [position for position, attributes in enumerate(filters) if attributes is None]
        groups: dict[tuple[str, ValueType], list[tuple[int, Range]]] = defaultdict(list)
        for position, attributes in enumerate(filters):
            for name, attribute in (attributes or {}).items():
                if attribute.kind is not None and attribute.typed is not None:
                    groups[name, attribute.kind].append((position, attribute.typed))
        self._groups = {key: _Group(rows) for key, rows in groups.items()}

    def of(self, wide: Ranges | None, others: Callable[[], Sequence[int]]) -> Sequence[int]:
        """Return the positions of the filters that `wide` may cover.

        `others` gives the positions that another way of looking finds. It is asked where the values
        of `wide` do not tell, or leave many.
        """
        asked: list[tuple[_Group, Range]] = [
            (self._groups.get((name, attribute.kind), _NONE), attribute.typed)
            for name, attribute in (wide or {}).items()
            if attribute.kind is not None and attribute.typed is not None
        ]
        if not asked:
            return others()
        positions = min((group.within(range) for group, range in asked), key=len)
        if len(positions) > _FEW:
            positions = min(positions, others(), key=len)
        for group, range in asked:
            positions = range.holding(group.firsts, group.lasts, positions)
        return [*positions, *self._unsatisfiable]


class _Group:
    """The ranges of one attribute and one type."""

    def __init__(self, rows: Sequence[tuple[int, Range]]) -> None:
        self.firsts: dict[int, Any] = {position: range.first for position, range in rows}
        self.lasts: dict[int, Any] = {position: range.last for position, range in rows}
        positions = sorted(self.firsts, key=self.firsts.__getitem__)
        self._positions = memoryview(array("I", positions))  # a part of it is no copy
        self._ordered = [self.firsts[position] for position in positions]
        bounded = [(position, range) for position, range in rows if range.is_bounded]
        self._patterned = [position for position, range in bounded if _has_texts(range)]
        self._interval = [position for position, range in bounded if not _has_texts(range)]
        self._excluding: dict[Value, list[int]] = defaultdict(list)
        for position, range in rows:
            for value in range.excluded:
                self._excluding[value].append(position)
        starts = {_start(range) for _, range in rows if isinstance(range, StringRange) and range.texts}
        self._containing = _containing(starts, self.firsts)

    def within(self, range: Range) -> Sequence[int]:
        """Return the positions that one look finds, the fewest of several looks."""
        found: list[Sequence[int]] = [self._positions[range.span(self._ordered)]]
        if isinstance(range, StringRange) and range.texts:
            found.append(self._containing.get(_start(range), self._positions))
        if range.excluded and not range.is_bounded:
            found.append(self._lacking(next(iter(range.excluded))))
        return min(found, key=len)

    def _lacking(self, value: Any) -> list[int]:
        """Return the positions that may lack a value: those that exclude it, and those that end before it."""
        firsts, lasts = self.firsts, self.lasts
        beside = [place for place in self._interval if not firsts[place] <= value <= lasts[place]]
        return beside + self._patterned + self._excluding.get(value, [])


def _has_texts(range: Range) -> bool:
    return isinstance(range, StringRange) and bool(range.texts)


def _start(range: StringRange) -> str:
    """Return the start of a text that all members contain; short, so that few lengths are looked up."""
    return range.texts[-1][:_LOOKED_UP]


def _containing(texts: set[str], firsts: Mapping[int, Any]) -> dict[str, list[int]]:
    """Return for each text the positions of the firsts that contain it."""
    lengths = set(map(len, texts))
    found: dict[str, list[int]] = {text: [] for text in texts}
    for position, first in firsts.items():
        places = ((at, at + length) for length in lengths for at in range(len(first) - length + 1))
        for text in {first[start:end] for start, end in places if first[start:end] in texts}:
            found[text].append(position)
    return found


_NONE = _Group([])
