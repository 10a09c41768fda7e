"""Ranges of attributes as numbers, called shapes, for the kernel.

A shape is the range of one constraint, or of several on one attribute together, without the name. Equal
constraints on different attributes share a shape, so there are far fewer shapes than constraints. The
kernel `packed_shapes` compares them by the ranks of their values; what it cannot decide, `Shapes.contains`
does.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, NamedTuple, TypeAlias

from cbnet._kernels import packed_shapes
from cbnet.language.constraint import Constraint, Op
from cbnet.language.relations.ranges import AttributeRange
from cbnet.language.relations.string_range import StringRange
from cbnet.language.values import ValueType, value_type

_Key: TypeAlias = tuple[Any, ...]  # that of a constraint, without its name: with the types, since 1 equals True

EXISTS = 0  # the shape of `exists`, and of a tag

# The codes of the kernel.
_ALL, _BETWEEN, _AMONG, _NOT_NULL, _OTHER_THAN, _ENDS_WITH, _CONTAINS = range(7)
_FINITE = 2  # in `bounded`
_EMPTY, _ANY, _NO_TEXT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF
_ASKS = {Op.NE: _OTHER_THAN, Op.SUFFIX: _ENDS_WITH, Op.SUBSTRING: _CONTAINS}
_FIRST_NUMBER = 3  # null, false and true have the ranks 0, 1 and 2


class Shapes:
    """Distinct shapes, numbered from 0 in order of appearance."""

    def __init__(self) -> None:
        self.ranges: list[AttributeRange] = []  # by shape
        self._parts: list[_Parts] = []
        self._tests: list[Constraint | None] = []  # the constraint of a shape; None: it is a conjunction
        self._alone: dict[_Key, int] = {}
        self._together: dict[tuple[int, ...], int] = {}
        self._decided: dict[tuple[int, int], bool] = {}
        self.of(Constraint("", Op.EXISTS))

    def of(self, constraint: Constraint) -> int:
        """Return the shape of one constraint."""
        key: _Key = (constraint.op, constraint.kind, constraint.value)
        if constraint.kind is None and constraint.op is Op.IN:
            key += tuple(map(value_type, constraint.members))
        shape = self._alone.get(key)
        if shape is None:
            shape = self._alone[key] = self._append(*_alone(key), constraint)
        return shape

    def together(self, group: Iterable[int]) -> int:
        """Return the shape of the conjunction of several constraints."""
        key = tuple(group)
        shape = self._together.get(key)
        if shape is None:
            attribute = AttributeRange(map(self.test, key))
            shape = self._together[key] = self._append(attribute, _parts(attribute, None), None)
        return shape

    def test(self, shape: int) -> Constraint:
        """Return the constraint of a shape, on any attribute."""
        test = self._tests[shape]
        assert test is not None
        return test

    def contains(self, wide: int, narrow: int) -> bool:
        """Return whether the shape of a constraint contains another shape."""
        pair = (wide, narrow)
        if pair not in self._decided:
            attribute = self.ranges[narrow]
            self._decided[pair] = attribute.is_empty or attribute.implies(self.test(wide))
        return self._decided[pair]

    def packed(self) -> packed_shapes.PackedShapes:
        """Return the shapes in the form of the kernel."""
        return _packed(self._parts)

    def _append(self, attribute: AttributeRange, parts: _Parts, test: Constraint | None) -> int:
        self.ranges.append(attribute)
        self._parts.append(parts)
        self._tests.append(test)
        return len(self.ranges) - 1


class _Parts(NamedTuple):
    """A shape in values, not yet in ranks. Only strings have texts; `high` is exclusive for them, else inclusive."""

    kind: ValueType | None
    asks: int
    operand: Any = None
    first: Any = None
    last: Any = None
    low: Any = None
    high: Any = None
    bounded: int = 1
    excluded: Collection[Any] = ()
    stem: str | None = None
    suffix: str | None = None
    pieces: Collection[str] = ()

    def values(self, kind: ValueType) -> Iterator[Any]:
        """Yield all values of a type that need a rank; some may be None."""
        if self.bounded == _FINITE:
            yield from (value for value in (self.first, self.last) if value_type(value) is kind)
        elif self.kind is kind:
            yield from (self.operand, self.first, self.last, self.low, self.high, self.stem, self.suffix)
            yield from self.excluded
            yield from self.pieces


def _parts(attribute: AttributeRange, test: Constraint | None) -> _Parts:
    asks, operand = _kernel_test(test)
    typed = attribute.typed
    if attribute.is_empty:
        return _Parts(None, asks, first=_EMPTY, last=_EMPTY)
    if attribute.members is not None:
        ranked = sorted(attribute.members, key=lambda value: value is not None)  # null has the lowest rank
        return _Parts(None, asks, first=ranked[0], last=ranked[-1], bounded=_FINITE)
    if typed is None:
        return _Parts(None, asks, first=_ANY, last=_ANY, low=int(attribute.not_null))
    first, last, bounded, excluded = typed.first, typed.last, int(typed.is_bounded), typed.excluded
    if not isinstance(typed, StringRange):
        return _Parts(attribute.kind, asks, operand, first, last, first, last, bounded, excluded)
    ends = (first, last, typed.low, typed.high)
    return _Parts(
        ValueType.STRING, asks, operand, *ends, bounded, excluded, typed.stem, typed.suffix or None, typed.pieces
    )


@lru_cache(maxsize=4096)  # repeated reductions mostly see the same constraints
def _alone(key: _Key) -> tuple[AttributeRange, _Parts]:
    """Return the range of one constraint, and its parts."""
    op, _, value, *_ = key
    constraint = Constraint("", op, value)
    attribute = AttributeRange([constraint])
    return attribute, _parts(attribute, constraint)


def _kernel_test(test: Constraint | None) -> tuple[int, Any]:
    """Return the kernel's test of a narrow shape, and its constant if the ends do not imply it."""
    if test is None or test.op is Op.EXISTS:
        return _ALL, None
    if test.op is Op.IN:
        return _AMONG, None
    if test.value is None:
        return _BETWEEN if test.op is Op.EQ else _NOT_NULL, None
    asks = _ASKS.get(test.op, _BETWEEN)
    if test.kind is ValueType.BOOL or (asks != _OTHER_THAN and test.value == ""):
        asks = _BETWEEN  # `!= true` is `= false`, and every string contains ""
    return asks, None if asks == _BETWEEN else test.value


def _packed(shapes: Sequence[_Parts]) -> packed_shapes.PackedShapes:
    numbers, strings = _sorted_values(shapes, ValueType.NUMBER), _sorted_values(shapes, ValueType.STRING)
    first_string = _FIRST_NUMBER + len(numbers)
    ranks: dict[ValueType | None, dict[Any, int]] = {
        ValueType.NULL: {None: 0},
        ValueType.BOOL: {False: 1, True: 2},
        ValueType.NUMBER: {number: rank for rank, number in enumerate(numbers, _FIRST_NUMBER)},
        ValueType.STRING: {string: rank for rank, string in enumerate(strings, first_string)},
        None: {_EMPTY: _EMPTY, _ANY: _ANY},
    }
    end = first_string + len(strings)
    rows = [
        _finite_ranks(parts, ranks) if parts.bounded == _FINITE else _ranked(parts, ranks[parts.kind], end)
        for parts in shapes
    ]
    *columns, excluded, pieces = zip(*rows, strict=True)
    names = ("operands", "firsts", "lasts", "lows", "highs", "stems", "suffixes")
    texts = [string.encode() for string in strings]
    arrays: dict[str, array[int]] = {
        "asks": array("B", [parts.asks for parts in shapes]),
        "bounded": array("B", [parts.bounded for parts in shapes]),
        **{name: array("I", column) for name, column in zip(names, columns, strict=True)},
        "excluded": array("I", chain.from_iterable(excluded)),
        "excluded_offsets": array("I", accumulate(map(len, excluded), initial=0)),
        "pieces": array("I", chain.from_iterable(pieces)),
        "piece_offsets": array("I", accumulate(map(len, pieces), initial=0)),
        "text_data": array("B", b"".join(texts) + b"\0"),  # never empty
        "text_offsets": array("Q", accumulate(map(len, texts), initial=0)),
    }
    return packed_shapes.PackedShapes(arrays, _FIRST_NUMBER, first_string)


def _sorted_values(shapes: Iterable[_Parts], kind: ValueType) -> list[Any]:
    values = set(chain.from_iterable(parts.values(kind) for parts in shapes))
    return sorted(values - {None})


def _ranked(parts: _Parts, ranks: Mapping[Any, int], end: int) -> tuple[Any, ...]:
    """Return the ranks of all values; those of a collection as a list."""
    rank = ranks.__getitem__
    low, high = parts.low or 0, 0
    if parts.kind is ValueType.STRING:
        low, high = rank(parts.low), end if parts.high is None else rank(parts.high)
    elif parts.kind is not None:
        low, high = rank(parts.low), rank(parts.high) + 1
    return (
        0 if parts.operand is None else rank(parts.operand), rank(parts.first), rank(parts.last), low, high,
        _NO_TEXT if parts.stem is None else rank(parts.stem), _NO_TEXT if parts.suffix is None else rank(parts.suffix),
        [rank(value) for value in parts.excluded], [rank(piece) for piece in parts.pieces],
    )  # fmt: skip


def _finite_ranks(parts: _Parts, ranks: Mapping[ValueType | None, Mapping[Any, int]]) -> tuple[Any, ...]:
    """Return the ranks of the ends of a finite set, in the form of `_ranked`."""
    first, last = (ranks[value_type(end)][end] for end in (parts.first, parts.last))
    return 0, first, last, first, last + 1, _NO_TEXT, _NO_TEXT, [], []
