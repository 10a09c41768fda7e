"""Ranges of strings: the strings that satisfy some constraints and violate others, exactly and without a search.

The domain is all strings of code points without surrogates, in the order of code points. The
string after s is s + NUL, and the strings that start with p are those from p up to `after(p)`, so
= != < <= > >= ^= together leave an interval, closed below and open above, without some points:

    low ●────○───────○────────────( high        ○ excluded by `!=`; high None: no upper end

Suffix and substring do not cut intervals. But an interval consists of some single strings, its
points, and of *fans*: a stem, one more character out of a range, and then anything at all.

    "ab" <= s < "b"     points: ab     fans: a + [c…last] + anything,  ab + [NUL…last] + anything

What follows in a fan is free. So if a fan's stem and character contain nothing forbidden, then

    stem, character, ·, substring, ·, substring, ·, suffix        · a character of no forbidden constant

contains all that is required and nothing forbidden: some fan has a member, some point is one, or there
is none. That decides every relation on one attribute, however long and many the constants are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from heapq import merge
from typing import NamedTuple, cast

from cbnet.language.constraint import OPPOSITE, Constraint, Op

_NUL = "\0"
_LAST = "\U0010ffff"
_READABLE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./"
_MAX_OVERLAP = 64  # characters; longer overlaps make no member easier to read


def after(prefix: str) -> str | None:
    """Return the smallest string above all strings that start with `prefix`; None if there is none."""
    stem = prefix.rstrip(_LAST)
    return stem[:-1] + chr(_code_from(ord(stem[-1]) + 1)) if stem else None


class StringRange:
    """The strings that satisfy the required constraints and violate the forbidden ones."""

    __slots__ = (
        "_contradicts", "_refused_suffixes", "_refused_texts", "_removed", "excluded", "high", "low", "member",
        "pieces", "suffix", "texts",
    )  # fmt: skip

    def __init__(self, required: Iterable[Constraint], forbidden: Iterable[Constraint] = ()) -> None:
        self.low = ""
        self.high: str | None = None
        self.excluded: frozenset[str] = frozenset()
        self._removed: list[str] = []  # forbidden prefixes
        self.suffix = ""
        self.pieces: list[str] = []  # substrings that every member has
        self._refused_texts: list[str] = []
        self._refused_suffixes: list[str] = []
        self._contradicts = False
        excluded: set[str] = set()
        for constraint in required:
            self._restrict(constraint.op, cast(str, constraint.value), excluded)
        for constraint in forbidden:
            self._refuse(constraint.op, cast(str, constraint.value), excluded)
        self.excluded = frozenset(excluded)
        self.texts = [text for text in (self.suffix, *self.pieces) if text]
        self.member = self._find()  # preferably a short one; None if there is none

    @property
    def is_empty(self) -> bool:
        """Return whether no string satisfies the constraints."""
        return self.member is None

    @property
    def first(self) -> str | None:
        """Return a member, the smallest if it is easily found."""
        return self.low if self._holds(self.low) else self.member

    @property
    def last(self) -> str | None:
        """Return a member, close to the upper end if one is easily found."""
        if not self.high:
            return self.member
        final = ord(self.high[-1])
        below = self.high[:-1] + (chr(_code_to(final - 1)) if final else "")
        return below if self._holds(below) else self.member

    @property
    def is_bounded(self) -> bool:
        """Return whether there are constraints other than `!=`."""
        return bool(self.low or self.high is not None or self.texts)

    def implies(self, constraint: Constraint) -> bool:
        """Return whether all members satisfy a constraint on strings, or are in its set."""
        assert self.member is not None
        if not constraint.accepts(self.member):
            return False
        if constraint.op is Op.NE:
            return not self._holds(cast(str, constraint.value))
        outside = copy(self)
        excluded: set[str] = set()
        outside._refused_texts, outside._refused_suffixes = [*self._refused_texts], [*self._refused_suffixes]
        outside._removed = [*self._removed]
        if constraint.op is Op.IN:
            excluded.update(value for value in constraint.members if isinstance(value, str))
        else:
            outside._refuse(constraint.op, cast(str, constraint.value), excluded)
        outside.excluded = self.excluded | excluded
        return outside._find() is None

    def may_lack(self, text: str) -> bool:
        """Return whether the order operators alone provably allow a member without `text`."""
        return any(
            _entry(part, [text]) is not None
            for low, high in self._gaps()
            for part in _parts(low, high)
            if isinstance(part, _Fan)
        )

    def _restrict(self, op: Op, value: str, excluded: set[str]) -> None:
        """Apply a required constraint."""
        match op:
            case Op.NE:
                excluded.add(value)
            case Op.EQ:
                self._cut(value, value + _NUL)
            case Op.PREFIX:
                self._cut(value, after(value))
            case Op.GE:
                self._cut(value, None)
            case Op.GT:
                self._cut(value + _NUL, None)
            case Op.LT:
                self._cut("", value)
            case Op.LE:
                self._cut("", value + _NUL)
            case Op.SUFFIX:
                longer, shorter = sorted((value, self.suffix), key=len, reverse=True)
                self._contradicts |= not longer.endswith(shorter)
                self.suffix = longer
            case Op.SUBSTRING if value:
                self.pieces.append(value)

    def _refuse(self, op: Op, value: str, excluded: set[str]) -> None:
        """Apply a forbidden constraint."""
        match op:
            case Op.PREFIX:
                self._removed.append(value)
            case Op.SUFFIX:
                self._refused_suffixes.append(value)
            case Op.SUBSTRING:
                self._refused_texts.append(value)
            case _:
                self._restrict(OPPOSITE[op], value, excluded)

    def _cut(self, low: str, high: str | None) -> None:
        self.low = max(self.low, low)
        if high is not None and (self.high is None or high < self.high):
            self.high = high

    def _gaps(self) -> Iterator[tuple[str, str | None]]:
        """Yield the parts of the interval between the removed prefixes."""
        low: str | None = self.low
        for prefix in sorted(self._removed):
            assert low is not None
            yield low, prefix if self.high is None else min(prefix, self.high)
            end = after(prefix)
            if end is None:
                return
            low = max(low, end)
        assert low is not None
        yield low, self.high

    def _find(self) -> str | None:
        """Return a member, preferably a short one; None proves that there is none."""
        if self._contradicts or self._is_contradictory():
            return None
        for low, high in self._gaps():
            if high is not None and low >= high:
                continue
            shared = "" if high is None else low[: _fork(low, high)]
            if any(text in shared for text in self._refused_texts):
                continue
            for part in _parts(low, high):
                candidates = self._candidates(part) if isinstance(part, _Fan) else iter([part])
                member = next(filter(self._holds, candidates), None)
                if member is not None:
                    return member
        return None

    def _is_contradictory(self) -> bool:
        if not self._refused_suffixes and not self._refused_texts:
            return False
        required = (self.suffix, *self.pieces)
        return any(self.suffix.endswith(suffix) for suffix in self._refused_suffixes) or any(
            text in piece for text in self._refused_texts for piece in required
        )

    def _candidates(self, fan: _Fan) -> Iterator[str]:
        """Yield strings of a fan that may be members: short ones first, then ones of which one must be a member."""
        entry = _entry(fan, self._refused_texts)
        if entry is None:
            return
        yield _joined([fan.stem, *self.pieces, self.suffix])
        yield _joined([entry, *self.pieces, self.suffix])
        apart = _character(0, ord(_LAST), set("".join(self._refused_texts + self._refused_suffixes)))
        for length in range(1, len(self.excluded) + 2):  # one of them is not excluded
            yield apart.join([entry + apart * (length - 1), *self.pieces, self.suffix])

    def _holds(self, text: str) -> bool:
        return (
            self.low <= text
            and (self.high is None or text < self.high)
            and text not in self.excluded
            and text.endswith(self.suffix)
            and _contains_all(text, self.pieces)
            and not any(refused in text for refused in self._refused_texts)
            and not any(map(text.endswith, self._refused_suffixes))
            and not any(map(text.startswith, self._removed))
        )


class _Fan(NamedTuple):
    """All strings that start with `stem` and a character from `first` to `last`, and continue with anything."""

    stem: str
    first: int
    last: int


def _parts(low: str, high: str | None) -> Iterator[str | _Fan]:
    """Yield the points and fans of a non-empty interval, those with the shortest stems first."""
    if high is None:
        yield from _above(low, 0)
        return
    fork = _fork(low, high)
    if fork == len(low):
        yield low
    yield from _fan(low[:fork], ord(low[fork]) + 1 if fork < len(low) else 0, ord(high[fork]) - 1)
    yield from merge(
        _above(low, fork + 1),
        _below(high, fork + 1),
        key=lambda part: len(part.stem if isinstance(part, _Fan) else part),
    )


def _fork(low: str, high: str) -> int:
    """Return the length of the common prefix of two strings."""
    if high.startswith(low):
        return len(low)
    pairs = enumerate(zip(low, high, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(low), len(high)))


def _above(low: str, start: int) -> Iterator[str | _Fan]:
    """Yield the parts at and above `low` that share at least `start` characters with it."""
    for length in range(start, len(low)):
        yield from _fan(low[:length], ord(low[length]) + 1, ord(_LAST))
    if start <= len(low):
        yield low
        yield from _fan(low, 0, ord(_LAST))


def _below(high: str, start: int) -> Iterator[str | _Fan]:
    """Yield the parts below `high` that share at least `start` characters with it."""
    for length in range(start, len(high)):
        yield high[:length]
        yield from _fan(high[:length], 0, ord(high[length]) - 1)


def _fan(stem: str, first: int, last: int) -> Iterator[_Fan]:
    first, last = _code_from(first), _code_to(last)
    if first <= last:
        yield _Fan(stem, first, last)


def _entry(fan: _Fan, refused: Sequence[str]) -> str | None:
    """Return the stem and one more character without any refused text in them."""
    if any(text in fan.stem for text in refused):
        return None
    completing = {text[-1] for text in refused if fan.stem.endswith(text[:-1])}
    char = _character(fan.first, fan.last, completing)
    return fan.stem + char if char else None


def _character(first: int, last: int, refused: Collection[str]) -> str:
    """Return a character of a range that is not refused, preferably a readable one; "" if there is none."""
    readable = (char for char in _READABLE if first <= ord(char) <= last)
    others = (chr(code) for code in range(first, last + 1) if not 0xD800 <= code <= 0xDFFF)
    for chars in (readable, others):
        for char in chars:
            if char not in refused:
                return char
    return ""


def _joined(texts: Sequence[str]) -> str:
    """Return the texts concatenated, where the end of one may overlap the start of the next."""
    joined: list[str] = []
    end = ""
    for text in texts:
        limit = min(len(end), len(text), _MAX_OVERLAP)
        overlap = next((size for size in range(limit, 0, -1) if end.endswith(text[:size])), 0)
        joined.append(text[overlap:])
        end = (end + text[overlap:])[-_MAX_OVERLAP:]
    return "".join(joined)


def _contains_all(text: str, pieces: Iterable[str]) -> bool:
    """Return whether `text` contains all pieces; fast if they occur in their order."""
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            at = text.find(piece)
        if at < 0:
            return False
    return True


def _code_from(code: int) -> int:
    """Return the first code point from `code` upwards that is not a surrogate."""
    return 0xE000 if 0xD800 <= code <= 0xDFFF else code


def _code_to(code: int) -> int:
    """Return the last code point from `code` downwards that is not a surrogate."""
    return 0xD7FF if 0xD800 <= code <= 0xDFFF else code
