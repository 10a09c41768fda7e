r"""Regular expressions in the syntax of RE2, as far as a search that only answers yes or no needs it.

    choice     = sequence { "|" sequence }
    sequence   = { atom [ ( "*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}" ) [ "?" ] ] }
    atom       = character | "." | "[" … "]" | "^" | "$" | "\" escape
               | "(" [ "?:" | "?flags:" | "?P<name>" ] choice ")" | "(?flags)"

What needs more than one pass (references to groups, lookaround, atomic groups) is refused with the reason, and so are
the Unicode classes `\pL`: their members depend on the version of Unicode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

from cbnet.errors import ValueDomainError

MAX_PATTERN = 1_024  # characters
_MAX_GROUPS = 50  # in each other
_LAST = 0x10FFFF
Ranges: TypeAlias = tuple[tuple[int, int], ...]  # of code points: sorted, disjoint, both ends included


class Place(IntEnum):
    """An assertion about a place between characters. The numbers are those of the kernel `regex_search`."""

    BEGIN_TEXT = 1
    END_TEXT = 2
    BEGIN_LINE = 3
    END_LINE = 4
    WORD_EDGE = 5
    NO_WORD_EDGE = 6


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Assertion:
    """A test of a place, without a character."""

    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A part several times; `most` is None without a limit."""

    part: Node
    least: int
    most: int | None


_FLAGS: Final = Sequence(())  # as in (?i): no part of the pattern
Node: TypeAlias = Chars | Assertion | Sequence | Choice | Repetition


def read_regex(pattern: str) -> Node:
    """Return the syntax tree of a pattern; raise an error if it is not valid."""
    if len(pattern) > MAX_PATTERN:
        raise ValueDomainError(f"a regular expression of more than {MAX_PATTERN:,} characters", hint="shorten it")
    return _Reader(pattern).read()


def ranges_of(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges in order, those that touch joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def _pairs(text: str) -> Ranges:
    """Return the ranges of a text of pairs, as in `azAZ`."""
    return ranges_of((ord(first), ord(last)) for first, last in zip(text[::2], text[1::2], strict=True))


def _without(ranges: Ranges) -> Ranges:
    ends = [-1, *(end for pair in ranges for end in pair), _LAST + 1]
    found = ((ends[index] + 1, ends[index + 1] - 1) for index in range(0, len(ends), 2))
    return tuple((first, last) for first, last in found if first <= last)


_CLASSES: Final = {"d": _pairs("09"), "w": _pairs("09AZ__az"), "s": _pairs("\t\n\f\r  ")}
_POSIX: Final = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ", "cntrl": "\0\x1f\x7f\x7f", "digit": "09",
    "graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ",
    "word": "09AZ__az", "xdigit": "09AFaf",
}  # fmt: skip
_PLACES = {"A": Place.BEGIN_TEXT, "z": Place.END_TEXT, "b": Place.WORD_EDGE, "B": Place.NO_WORD_EDGE}
_CHARACTERS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_REFUSED_ESCAPES = {
    **dict.fromkeys("123456789", ("references to groups are not regular", "write the text that must be repeated")),
    **dict.fromkeys("pP", ("Unicode classes depend on the version of Unicode", "write ranges, as in [a-zà-öø-ÿ]")),
    "0": ("octal numbers are not supported", "write \\x00"),
    "Z": ("`\\Z` is not supported", "write \\z for the end of the text, (?:\\n)?\\z before a last newline too"),
    "Q": ("`\\Q` is not supported", "write a backslash before each special character"),
}
_REFUSED_GROUPS = {
    "?=": "lookahead", "?!": "lookahead", "?<=": "lookbehind", "?<!": "lookbehind", "?>": "an atomic group",
    "?#": "a comment", "?P=": "a reference to a group", "?(": "a condition",
}  # fmt: skip
_DOTLESS_I = 0x131  # its upper case is I, but it is not another case of i
_COUNTS = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}", re.ASCII)
_GROUP = re.compile(r"\((?:\?(?:P?<([A-Za-z_][A-Za-z0-9_]*)>|([imsU]*(?:-[imsU]+)?)([:)])))?", re.ASCII)
_HEX = re.compile(r"x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})")
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")


@lru_cache(maxsize=1)
def _cases() -> dict[int, set[int]]:
    """Return the characters that differ only in case, for each that has any: `k`, `K` and the Kelvin sign."""
    cases: dict[int, set[int]] = {}
    for code in range(0x1F000):  # no letter beyond has a case
        for other in {chr(code).lower(), chr(code).upper()} - {chr(code)}:
            if len(other) == 1 and code != _DOTLESS_I:
                group = cases.get(code, {code}) | cases.get(ord(other), {ord(other)})
                cases.update(dict.fromkeys(group, group))
    return cases


def _with_cases(ranges: Ranges) -> Ranges:
    cases = _cases()
    few = sum(last - first for first, last in ranges) < len(cases)
    found = (code for first, last in ranges for code in range(first, last + 1)) if few else cases
    added = (
        other
        for code in found
        if few or any(first <= code <= last for first, last in ranges)
        for other in cases.get(code, ())
    )
    return ranges_of([*ranges, *((code, code) for code in added)])


class _Reader:
    """A reader of one pattern, from left to right; `flags` are those in force."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags = frozenset[str]()
        self._depth = 0

    def read(self) -> Node:
        node = self._choice()
        if self._at < len(self._text):
            raise self._error("unmatched `)`", "write \\) for a parenthesis")
        return node

    def _choice(self) -> Node:
        parts = [self._sequence()]
        while self._accept("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._repeated()
            if part is not _FLAGS:
                parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self) -> Node:
        if self._text[self._at] in "*+?" or _COUNTS.match(self._text, self._at):
            raise self._error("nothing to repeat", "write a character before it, or a backslash for itself")
        atom = self._atom()
        counts = None if atom is _FLAGS else self._counts()
        if counts is None:
            return atom
        self._accept("?")  # the shortest match exists where any does
        if self._text[self._at : self._at + 1] in ("*", "+", "?") or _COUNTS.match(self._text, self._at):
            raise self._error("a repetition of a repetition", "write parentheses around the first")
        return Repetition(atom, *counts)

    def _counts(self) -> tuple[int, int | None] | None:
        for char, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._accept(char):
                return counts
        match = _COUNTS.match(self._text, self._at)
        if match is None:
            return None
        least = int(match[1])
        most = (int(match[3]) if match[3] else None) if match[2] else least
        if most is not None and most < least:
            raise self._error(f"`{match[0][:24]}` is not a number of repetitions", "write {least,most}")
        self._at = match.end()
        return least, most

    def _atom(self) -> Node:
        char = self._text[self._at]
        if char == "(":
            return self._group()
        if char == "[":
            return Chars(self._class())
        if char == "\\":
            return self._escape()
        self._at += 1
        if char == ".":
            return Chars(((0, _LAST),) if "s" in self._flags else _without(_pairs("\n\n")))
        if char == "^":
            return Assertion(Place.BEGIN_LINE if "m" in self._flags else Place.BEGIN_TEXT)
        if char == "$":
            return Assertion(Place.END_LINE if "m" in self._flags else Place.END_TEXT)
        return Chars(self._cased(((ord(char), ord(char)),)))

    def _group(self) -> Node:
        opening = self._at
        match = _GROUP.match(self._text, opening)
        assert match is not None
        if match[3] is None and match[1] is None and self._text[opening + 1 : opening + 2] == "?":
            kinds = (name for start, name in _REFUSED_GROUPS.items() if self._text.startswith(start, opening + 1))
            raise self._error(f"{next(kinds, 'this group')} is not supported", "write (?:…), or \\( for a parenthesis")
        self._at = match.end()
        outer = self._flags
        if match[3] is not None:
            added, _, removed = match[2].partition("-")
            self._flags = (outer | set(added)) - set(removed)
        if match[3] == ")":
            return _FLAGS  # they hold up to the end of the group around them
        self._depth += 1
        if self._depth > _MAX_GROUPS:
            raise self._error(f"more than {_MAX_GROUPS} groups in each other", "write fewer parentheses")
        inner = self._choice()
        if not self._accept(")"):
            self._at = opening
            raise self._error("unclosed parenthesis", "write `)` at its end, or \\( for a parenthesis")
        self._depth -= 1
        self._flags = outer
        return inner

    def _escape(self) -> Node:
        place = _PLACES.get(self._text[self._at + 1 : self._at + 2])
        if place is not None:
            self._at += 2
            return Assertion(place)
        found = self._escaped()
        return Chars(found if isinstance(found, tuple) else self._cased(((found, found),)))

    def _escaped(self) -> int | Ranges:
        """Read an escape; return its character or class."""
        char = self._text[self._at + 1 : self._at + 2]
        if char in _CLASSES or (char and char.lower() in _CLASSES):
            self._at += 2
            ranges = self._cased(_CLASSES[char.lower()])
            return ranges if char in _CLASSES else _without(ranges)
        match = _HEX.match(self._text, self._at + 1)
        if match and int(match[1] or match[2], 16) <= _LAST:
            self._at = match.end()
            return int(match[1] or match[2], 16)
        if char in _CHARACTERS or (char.isascii() and char.isprintable() and char and not char.isalnum()):
            self._at += 2
            return ord(_CHARACTERS.get(char, char))
        problem, hint = _REFUSED_ESCAPES.get(
            char, (f"unknown escape `\\{char}`", "write \\\\ for a backslash, in the language twice")
        )
        raise self._error(problem, hint)

    def _class(self) -> Ranges:
        opening = self._at
        self._at += 1
        is_negated = self._accept("^")
        pairs: list[tuple[int, int]] = []
        first = self._at
        while self._at == first or not self._accept("]"):
            if self._at >= len(self._text):
                self._at = opening
                raise self._error("unclosed class", "write `]` at its end, or \\[ for a bracket")
            found = self._member()
            pairs += found if isinstance(found, tuple) else [self._range(found)]
        ranges = self._cased(ranges_of(pairs))
        return _without(ranges) if is_negated else ranges

    def _member(self) -> int | Ranges:
        posix = _POSIX_CLASS.match(self._text, self._at)
        if posix:
            if posix[2] not in _POSIX:
                raise self._error(f"unknown class `{posix[0][:24]}`", "write one of " + ", ".join(_POSIX))
            self._at = posix.end()
            ranges = self._cased(_pairs(_POSIX[posix[2]]))
            return _without(ranges) if posix[1] else ranges
        if self._text[self._at] == "\\":
            return self._escaped()
        self._at += 1
        return ord(self._text[self._at - 1])

    def _range(self, first: int) -> tuple[int, int]:
        if self._text[self._at : self._at + 1] != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return first, first
        self._at += 1
        last = self._member()
        if isinstance(last, tuple) or last < first:
            raise self._error("the range has no end, or one before its start", "write it as a-z; \\- is a minus sign")
        return first, last

    def _cased(self, ranges: Ranges) -> Ranges:
        return _with_cases(ranges) if "i" in self._flags else ranges

    def _accept(self, char: str) -> bool:
        accepted = self._text.startswith(char, self._at)
        self._at += accepted
        return accepted

    def _error(self, problem: str, hint: str) -> ValueDomainError:
        return ValueDomainError(f"regular expression, character {self._at + 1}: {problem}", hint=hint)
