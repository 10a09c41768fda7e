"""Index of filters for the covering relation: the filters that cover one, and the filters that it covers.

    x > 5        covers   x > 7 and #a,  x in (6, 8)
    x = 6        covers   x >= 6 and x <= 6, and is covered by it

`reduce` and the announcements of routers use it. The kernel decides nearly all pairs; `covers`, the specification,
decides the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cbnet._kernels import cover_index as kernel
from cbnet._kernels import cover_range
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.relations.covering import FilterAnalysis, outcome_test
from cbnet.language.relations.number_range import NumberRange
from cbnet.language.relations.ranges import AttributeRange, by_name
from cbnet.language.relations.string_range import StringRange
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.language.values import Value, ValueType, value_type

if TYPE_CHECKING:
    from cbnet._kernels.filter_rows import FilterRows

NO_LIMIT = (1 << 32) - 1
_NO, _YES = 0, 1  # answers of the kernel; any other value means undecided
_MIXED, _OUTCOMES, _NOT_NULL, _ANY = range(4, 8)  # kinds of ranges in the kernel, after those of ValueType
_POINT, _FINITE, _EXCLUDED, _LOOSE, _WITHOUT_NULL, _INEXACT_LOW, _INEXACT_HIGH, _ONE_EXCLUDED, _WHOLE = (
    1 << bit for bit in range(9)
)
_WORD = (1 << 64) - 1


class CoverIndex:
    """Rows of filters, or of their byte forms; filters that no message can match are left out."""

    def __init__(self, filters: Sequence[Filter] | Sequence[bytes] | FilterRows) -> None:
        self._filters: Any = filters  # by row
        self._rows = kernel.CoverRows()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row: int) -> bool:
        return row in self._rows

    def add(self, row: int) -> None:
        """Add a row, unless no message can match its filter."""
        filter = self._filters[row]
        if isinstance(filter, Filter) or not self._rows.add_plain(row, filter):
            self.analyse(row)

    def analyse(self, row: int) -> None:
        """Add a row, analysed in Python; the result is that of the kernel if the kernel can read the filter."""
        filter = self._filters[row]
        if isinstance(filter, bytes):
            filter = filter_from_bytes(filter)
        attributes = attributes_of(filter)
        if attributes is not None:
            self._rows.add(row, attributes, sorted([_symbol("tag", tag) for tag in filter.tags]))

    def discard(self, row: int) -> None:
        """Remove a row if it is present."""
        if row in self._rows:
            self._rows.remove(row)

    def describe(self, row: int) -> tuple[list[int], list[tuple[Any, ...]]]:
        """Return the symbols of a row, and its ranges."""
        return self._rows.describe(row)

    def covers(self, wide: int, narrow: int) -> bool:
        """Return whether a row covers another."""
        answer = self._rows.covers(wide, narrow)
        return answer == _YES or (answer != _NO and self._implies(wide, narrow))

    def covered(self, row: int) -> Iterator[int]:
        """Yield the other rows that a row covers."""
        found = self._rows.narrow(row, NO_LIMIT)
        assert found is not None
        sure, possible = found
        yield from sure
        yield from (narrow for narrow in possible if self._implies(row, narrow))

    def _implies(self, wide: int, narrow: int) -> bool:
        return _analysis(self._filters[narrow]).implies(_analysis(self._filters[wide]).filter)


@lru_cache(maxsize=1024)  # a few MB: few filters need it, but each is compared many times
def _analysis(filter: Filter | bytes) -> FilterAnalysis:
    return FilterAnalysis(filter if isinstance(filter, Filter) else filter_from_bytes(filter))


def _symbol(kind: str, name: str) -> int:
    """Return the symbol of a name, a test or a tag: a 64-bit hash, randomised so that nobody can choose collisions."""
    return hash((kind, name)) & _WORD


def attributes_of(filter: Filter) -> list[tuple[int, cover_range.CoverRange]] | None:
    """Return the symbol and the range of each attribute and test, in order; None if no message can match the filter."""
    found: list[tuple[int, cover_range.CoverRange]] = []
    for name, constraints in by_name(filter.constraints).items():
        attribute = _range(constraints)
        if attribute is None:
            return None
        found.append((_symbol("name", name), attribute))
    outcomes: dict[str, int] = {}
    for condition in filter.conditions:
        name, accepted = outcome_test(condition)
        bits = int(accepted)
        outcomes[name] = outcomes.get(name, bits) & bits
    for name, bits in outcomes.items():
        if not bits:
            return None
        found.append((_symbol("test", name), cover_range.CoverRange(_OUTCOMES, 0, bits, bits, 0, None, 0)))
    found.sort(key=itemgetter(0))
    return found


def _range(constraints: Sequence[Constraint]) -> cover_range.CoverRange | None:
    """Return the range of one attribute; None if it is empty."""
    first = constraints[0]
    if len(constraints) == 1 and first.kind is not None:
        return _range_of(first.op, first.kind, first.value)
    return _cover_range(AttributeRange(constraints), constraints)


@lru_cache(maxsize=4096)  # the type is part of the key, since 1 equals True
def _range_of(op: Op, kind: ValueType, value: Any) -> cover_range.CoverRange | None:
    plain = cover_range.range_of(op.rank, kind, value)  # AttributeRange would take 10 to 20 µs
    if plain is not None:
        return plain
    constraint = Constraint("", op, value)
    return _cover_range(AttributeRange([constraint]), [constraint])


def _cover_range(attribute: AttributeRange, constraints: Sequence[Constraint]) -> cover_range.CoverRange | None:
    if attribute.is_empty:
        return None
    typed = attribute.typed
    if attribute.members is not None:
        return _listed(attribute.members)
    if isinstance(typed, NumberRange):
        return _number_range(typed)
    if isinstance(typed, StringRange):
        return _string_range(typed, constraints)
    if typed is not None:
        return _listed([value for value in (False, True) if all(test.accepts(value) for test in constraints)])
    kind, flags = (_NOT_NULL, _WITHOUT_NULL) if attribute.not_null else (_ANY, 0)
    return cover_range.CoverRange(kind, flags, 0, 0, 0, None, 0)


def _number_range(numbers: NumberRange) -> cover_range.CoverRange:
    low, high = numbers.low, numbers.high
    assert low is not None
    assert high is not None
    if low == high:
        return _listed([low])
    excluded = [each for each in numbers.excluded if low < each < high]
    only = excluded[0] if len(excluded) == 1 and float(excluded[0]) == excluded[0] else None
    flags = (
        _WITHOUT_NULL | _inexact(low, high) | (_EXCLUDED if excluded else 0) | (0 if only is None else _ONE_EXCLUDED)
        | (0 if numbers.is_bounded else _WHOLE)
    )  # fmt: skip
    return cover_range.CoverRange(ValueType.NUMBER, flags, low, high, _bloom(excluded), only, 0)


def _inexact(low: float, high: float) -> int:
    """Return the flags of bounds that no float represents exactly: large ints."""
    return (_INEXACT_LOW if float(low) != low else 0) | (_INEXACT_HIGH if float(high) != high else 0)


def _string_range(strings: StringRange, constraints: Sequence[Constraint]) -> cover_range.CoverRange:
    if strings.high is not None and strings.high.rstrip("\0") == strings.low.rstrip("\0"):  # finite: "a", "a\0", …
        between = (strings.low + "\0" * extra for extra in range(len(strings.high) - len(strings.low)))
        return _listed([text for text in between if all(test.accepts(text) for test in constraints)])
    assert strings.member is not None
    only = next(iter(strings.excluded)) if len(strings.excluded) == 1 else None
    flags = _WITHOUT_NULL | (_EXCLUDED if strings.excluded else 0) | (0 if only is None else _ONE_EXCLUDED)
    flags |= 0 if strings.is_bounded else _WHOLE
    if strings.excluded or strings.texts:
        flags |= _LOOSE
    low, high = strings.low.encode(), None if strings.high is None else strings.high.encode()
    member = strings.member.encode() if flags & _LOOSE else low
    pieces = tuple(piece.encode() for piece in strings.pieces)
    excluded = None if only is None else only.encode()
    return _texts(flags, _bloom(strings.excluded), low, high, member, strings.suffix.encode(), pieces, excluded)


def _texts(
    flags: int, members: int, low: bytes, high: bytes | None, member: bytes, suffix: bytes = b"",
    pieces: tuple[bytes, ...] = (), excluded: bytes | None = None,
) -> cover_range.CoverRange:  # fmt: skip
    """Return a range of strings that is not a point."""
    text = (low, high, member, suffix, pieces, excluded)
    return cover_range.CoverRange(ValueType.STRING, flags, low, high, members, text, 0)


def _listed(values: Sequence[Value]) -> cover_range.CoverRange:
    """Return the range that consists of these values."""
    kinds = {value_type(value) for value in values}
    members, flags = _bloom(values), 0 if None in values else _WITHOUT_NULL
    if len(kinds) > 1:
        return cover_range.CoverRange(_MIXED, flags | _FINITE, 0, 0, members, None, 0)
    kind, is_point = kinds.pop(), len(values) == 1
    flags |= _POINT if is_point else 0 if kind is ValueType.BOOL else _FINITE
    value = (hash((int(kind), values[0])) & _WORD or 1) if is_point else 0
    ends: tuple[Any, Any] = (min(values), max(values)) if not is_point else (values[0], values[0])  # type: ignore[type-var]
    if kind is ValueType.STRING:
        low, high = ends[0].encode(), ends[1].encode() + b"\0"
        return (
            cover_range.CoverRange(kind, flags, low, high, members, low, value)
            if is_point
            else _texts(flags, members, low, high, low)
        )
    if kind is ValueType.NUMBER:
        return cover_range.CoverRange(kind, flags | _inexact(*ends), *ends, members, None, value)
    return cover_range.CoverRange(kind, flags, int(ends[0] or 0), int(ends[1] or 0), members, None, value)


def _bloom(values: Iterable[Value]) -> int:
    members = 0
    for value in values:
        members |= 1 << (hash((int(value_type(value)), value)) & 63)
    return members
