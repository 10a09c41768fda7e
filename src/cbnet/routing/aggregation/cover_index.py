"""Index of filters for the covering relation: the rows that dominate a filter, and the rows that it dominates.

A filter dominates another if it covers it and, if they cover each other, comes first in the canonical order: fewer
parts, then smaller bytes. That is the order of the encoded filters, which begin with the number of their parts.

    x > 5        dominates   x > 7 and #a,  x in (6, 8)
    x = 6        dominates   x >= 6 and x <= 6, which covers it too

The kernel finds the rows that cover another: nearly all with certainty, the others as candidates that `FilterAnalysis`
decides. The answers are exact, with one exception: after MAX_FAILED negative decisions about the dominators of one
filter the remaining candidates are skipped, and the filter may be announced although it is covered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from cbnet._kernels.cover_index import CoverRows
from cbnet._kernels.cover_range import CoverRange
from cbnet._kernels.filter_rows import FilterRows
from cbnet.language.condition import Outcome
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.relations.covering import FilterAnalysis, outcome_constraint
from cbnet.language.relations.number_range import NumberRange
from cbnet.language.relations.ranges import AttributeRange, by_name
from cbnet.language.relations.string_range import StringRange, after
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.language.values import Value, ValueType, value_type

MAX_FAILED = 2000  # failed comparisons per filter: some 40 ms
_FEW = 32  # dominators to look up first; they usually suffice
_NO_LIMIT = (1 << 32) - 1
_NO, _YES = 0, 1  # answers of the kernel; any other value means undecided
_MIXED, _OUTCOMES, _NOT_NULL, _ANY = range(4, 8)  # kinds of ranges in the kernel, after those of ValueType
_POINT, _FINITE, _EXCLUDED, _LOOSE, _WITHOUT_NULL, _INEXACT_LOW, _INEXACT_HIGH, _ONE_EXCLUDED, _UNBOUNDED = (
    1 << bit for bit in range(9)
)
_WORD = (1 << 64) - 1
_BITS: dict[Value, int] = {True: Outcome.TRUE, False: Outcome.FALSE, None: Outcome.UNKNOWN}


class CoverIndex:
    """Rows of filters; filters that no message can match are left out."""

    def __init__(self, filters: Sequence[bytes] | FilterRows) -> None:
        self._filters = filters  # by row
        self._rows = CoverRows()
        self.candidates = 0  # rows compared in the last search for dominated rows

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row: int) -> bool:
        return row in self._rows

    def add(self, row: int) -> None:
        """Add a row, unless no message can match its filter."""
        if not self._rows.add_plain(row, self._filters[row]):
            self.analyse(row)

    def analyse(self, row: int) -> None:
        """Add a row, analysed in Python; the result is that of the kernel if the kernel can read the filter."""
        filter = filter_from_bytes(self._filters[row])
        attributes = _attributes(filter)
        if attributes is not None:
            self._rows.add(row, attributes, sorted([_symbol("tag", tag) for tag in filter.tags]))

    def discard(self, row: int) -> None:
        """Remove a row if it is present."""
        if row in self._rows:
            self._rows.remove(row)

    def describe(self, row: int) -> tuple[list[int], list[tuple[Any, ...]]]:
        """Return the symbols of a row, and its ranges."""
        return self._rows.describe(row)

    def dominates(self, wide: int, row: int) -> bool:
        """Return whether the row `wide`, which may be absent, dominates `row`."""
        if wide == row or wide not in self._rows or not self._covers(wide, row):
            return False
        return self._filters[wide] < self._filters[row] or not self._covers(row, wide)

    def dominators(self, row: int) -> Iterable[int]:
        """Return the rows that dominate a row, possibly with repetitions."""
        sure, possible = self._rows.wide(row, _FEW)
        return self._dominating(row, sure, possible) if sure or possible else ()

    def _dominating(self, row: int, sure: list[int], possible: list[int]) -> Iterator[int]:
        filter = self._filters[row]
        if len(sure) >= _FEW:
            yield from (wide for wide in sure if self._filters[wide] < filter or not self._covers(row, wide))
            sure, possible = self._rows.wide(row, 0)
        covering = [*sure, *self._decided(row, possible)] if possible else sure
        for wide in covering:
            if self._filters[wide] < filter or not self._covers(row, wide):
                yield wide

    def covering(self, row: int) -> Iterator[int]:
        """Yield the rows that cover a row."""
        sure, possible = self._rows.wide(row, 0)
        yield from sure
        yield from self._decided(row, possible)

    def dominated(self, row: int, limit: int = _NO_LIMIT) -> Iterable[int] | None:
        """Return the rows that a row dominates.

        None if there are more than `limit` candidates: `dominated_among` finds them in slices.
        """
        found = self._rows.narrow(row, limit)
        if found is None:
            self.candidates = limit
            return None
        sure, possible = found
        self.candidates = len(sure) + len(possible)
        return self._dominated(row, sure, possible) if sure or possible else ()

    def dominated_among(self, row: int, start: int, end: int, limit: int) -> tuple[Iterable[int], int]:
        """Return at most `limit` rows from `start` to `end` that a row dominates, and the next row to visit."""
        sure, possible, stop = self._rows.narrow_among(row, start, end, limit)
        return self._dominated(row, sure, possible), stop

    def _dominated(self, row: int, sure: list[int], possible: list[int]) -> Iterator[int]:
        filter = self._filters[row]
        for narrow in [*sure, *(each for each in possible if self._implies(row, each))]:
            if filter < self._filters[narrow] or not self._covers(narrow, row):
                yield narrow

    def _decided(self, row: int, possible: list[int]) -> Iterator[int]:
        """Yield the rows that cover a row, from undecided candidates."""
        failed = 0
        for wide in possible:
            if self._implies(wide, row):
                yield wide
            else:
                failed += 1
                if failed == MAX_FAILED:
                    return

    def _covers(self, wide: int, narrow: int) -> bool:
        answer = self._rows.covers(wide, narrow)
        return answer == _YES or (answer != _NO and self._implies(wide, narrow))

    def _implies(self, wide: int, narrow: int) -> bool:
        return _analysis(self._filters[narrow]).implies(_analysis(self._filters[wide]).filter)


@lru_cache(maxsize=1024)  # a few MB: few filters need it, but each is compared many times
def _analysis(filter: bytes) -> FilterAnalysis:
    return FilterAnalysis(filter_from_bytes(filter))


def _symbol(kind: str, name: str) -> int:
    """Return the symbol of a name, a test or a tag: a 64-bit hash, randomised so that nobody can choose collisions."""
    return hash((kind, name)) & _WORD


def _attributes(filter: Filter) -> list[tuple[int, CoverRange]] | None:
    """Return the symbol and the range of each attribute and test, in order; None if a range is empty."""
    found: list[tuple[int, CoverRange]] = []
    for name, constraints in by_name(filter.constraints).items():
        attribute = _range(constraints)
        if attribute is None:
            return None
        found.append((_symbol("name", name), attribute))
    outcomes: dict[str, int] = {}
    for condition in filter.conditions:
        outcome = outcome_constraint(condition)
        bits = sum(_BITS[value] for value in outcome.members)
        outcomes[outcome.name] = outcomes.get(outcome.name, bits) & bits
    for name, bits in outcomes.items():
        if not bits:
            return None
        found.append((_symbol("test", name), CoverRange(_OUTCOMES, 0, bits, bits, 0, None, 0)))
    found.sort(key=itemgetter(0))
    return found


def _range(constraints: Sequence[Constraint]) -> CoverRange | None:
    """Return the range of one attribute; None if it is empty."""
    first = constraints[0]
    if len(constraints) == 1 and first.kind is not None:
        return _range_of(first.op, first.kind, first.value)
    return _cover_range(AttributeRange(constraints), constraints)


@lru_cache(maxsize=4096)  # the type is part of the key, since 1 equals True
def _range_of(op: Op, kind: ValueType, value: Any) -> CoverRange | None:
    if op is Op.EQ:
        return _listed([value])
    if op is Op.PREFIX:  # AttributeRange would take 20 µs
        low, high = value.encode(), after(value)
        return CoverRange(
            kind, _WITHOUT_NULL, low, high and high.encode(), 0, (low, high and high.encode(), low, b"", ()), 0
        )
    constraint = Constraint("", op, value)
    return _cover_range(AttributeRange([constraint]), [constraint])


def _cover_range(attribute: AttributeRange, constraints: Sequence[Constraint]) -> CoverRange | None:
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
    return CoverRange(kind, flags, 0, 0, 0, None, 0)


def _number_range(numbers: NumberRange) -> CoverRange:
    low, high = numbers.low, numbers.high
    assert low is not None
    assert high is not None
    if low == high:
        return _listed([low])
    excluded = [each for each in numbers.excluded if low < each < high]
    flags = _WITHOUT_NULL | _inexact(low, high) | _excluded(excluded, is_bounded=numbers.is_bounded)
    return CoverRange(ValueType.NUMBER, flags, low, high, _only_hash(ValueType.NUMBER, excluded), None, 0)


def _inexact(low: float, high: float) -> int:
    """Return the flags of bounds that no float represents exactly: large ints."""
    return (_INEXACT_LOW if float(low) != low else 0) | (_INEXACT_HIGH if float(high) != high else 0)


def _string_range(strings: StringRange, constraints: Sequence[Constraint]) -> CoverRange:
    if strings.high is not None and strings.high.rstrip("\0") == strings.low.rstrip("\0"):  # finite: "a", "a\0", …
        between = (strings.low + "\0" * extra for extra in range(len(strings.high) - len(strings.low)))
        return _listed([text for text in between if all(test.accepts(text) for test in constraints)])
    assert strings.member is not None
    flags = _WITHOUT_NULL | _excluded(strings.excluded, is_bounded=strings.is_bounded)
    if strings.excluded or strings.texts:
        flags |= _LOOSE
    low, high = strings.low.encode(), None if strings.high is None else strings.high.encode()
    member = strings.member.encode() if flags & _LOOSE else low
    pieces = tuple(piece.encode() for piece in strings.pieces)
    text = (low, high, member, strings.suffix.encode(), pieces)
    return CoverRange(ValueType.STRING, flags, low, high, _only_hash(ValueType.STRING, strings.excluded), text, 0)


def _excluded(values: Collection[Value], *, is_bounded: bool) -> int:
    """Return the flags of a range from which values are excluded."""
    flags = (_EXCLUDED if values else 0) | (_ONE_EXCLUDED if len(values) == 1 else 0)
    return flags | (0 if is_bounded else _UNBOUNDED)


def _only_hash(kind: ValueType, values: Collection[Value]) -> int:
    return hash((int(kind), *values)) & _WORD if len(values) == 1 else 0


def _listed(values: Sequence[Value]) -> CoverRange:
    """Return the range that consists of these values."""
    kinds = {value_type(value) for value in values}
    members, flags = _bloom(values), 0 if None in values else _WITHOUT_NULL
    if len(kinds) > 1:
        return CoverRange(_MIXED, flags | _FINITE, 0, 0, members, None, 0)
    kind, is_point = kinds.pop(), len(values) == 1
    flags |= _POINT if is_point else 0 if kind is ValueType.BOOL else _FINITE
    value = (hash((int(kind), values[0])) & _WORD or 1) if is_point else 0
    ends: tuple[Any, Any] = (min(values), max(values)) if not is_point else (values[0], values[0])  # type: ignore[type-var]
    if kind is ValueType.STRING:
        low, high = ends[0].encode(), ends[1].encode() + b"\0"
        return CoverRange(kind, flags, low, high, members, low if is_point else (low, high, low, b"", ()), value)
    if kind is ValueType.NUMBER:
        return CoverRange(kind, flags | _inexact(*ends), *ends, members, None, value)
    return CoverRange(kind, flags, int(ends[0] or 0), int(ends[1] or 0), members, None, value)


def _bloom(values: Iterable[Value]) -> int:
    members = 0
    for value in values:
        members |= 1 << (hash((int(value_type(value)), value)) & 63)
    return members
