r"""Patterns of `like`: `%` is any run of characters, `_` any one, and `\` escapes the next.

A string is matched from left to right, each piece between two `%` at its first occurrence, so the time is bounded
by the product of the lengths, without backtracking.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from cbnet.errors import ValueDomainError
from cbnet.language.constraint import Op

_ANY_ONE: Final = None
Piece: TypeAlias = tuple[str | None, ...]  # characters; None is any one

MAX_PATTERN = 1_024  # characters


@lru_cache(maxsize=1024)
def pieces(pattern: str) -> tuple[Piece, ...]:
    """Return the pieces of a pattern between its runs of `%`; the first and last are empty beside a `%`."""
    found: list[list[str | None]] = [[]]
    escaped = False
    for char in pattern:
        if escaped or char not in "%_\\":
            found[-1].append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "_":
            found[-1].append(_ANY_ONE)
        elif len(found) == 1 or found[-1]:
            found.append([])
    return tuple(map(tuple, found))


def validate_pattern(pattern: str) -> str:
    """Return the canonical spelling of a pattern; raise an error if it is not valid."""
    if len(pattern) > MAX_PATTERN:
        raise ValueDomainError(f"a pattern of more than {MAX_PATTERN} characters", hint="shorten it")
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise ValueDomainError("a pattern must not end with a single `\\`", hint="write `\\\\` for a backslash")
    return pattern_text(pieces(pattern))


def pattern_text(parts: tuple[Piece, ...]) -> str:
    """Return the pattern of some pieces."""
    return "%".join("".join(map(_escape, piece)) for piece in parts)


def escape_pattern(text: str) -> str:
    """Return the pattern that matches exactly a text."""
    return "".join(map(_escape, text))


def like(text: str, pattern: str) -> bool:
    """Return whether a text matches a pattern."""
    first, *rest = pieces(pattern)
    if not rest:
        return len(text) == len(first) and _matches_at(text, 0, first)
    *middle, last = rest
    end = len(text) - len(last)
    if len(first) > end or not _matches_at(text, 0, first) or not _matches_at(text, end, last):
        return False
    position = len(first)
    for piece in middle:
        while position + len(piece) <= end and not _matches_at(text, position, piece):
            position += 1
        if position + len(piece) > end:
            return False
        position += len(piece)
    return True


def equivalent(pattern: str) -> tuple[Op, str] | None:
    """Return the operator and constant that test exactly what a pattern does, if there are any."""
    parts = pieces(pattern)
    if any(_ANY_ONE in piece for piece in parts):
        return None
    texts = [_text(piece) for piece in parts]
    match texts:
        case [whole]:
            return Op.EQ, whole
        case [prefix, ""]:
            return Op.PREFIX, prefix
        case ["", suffix]:
            return Op.SUFFIX, suffix
        case ["", middle, ""]:
            return Op.SUBSTRING, middle
    return None


def implied(pattern: str) -> list[tuple[Op, str]]:
    """Return tests that every matching text passes: a prefix, a suffix and substrings."""
    first, *rest = pieces(pattern)
    tests = [(Op.PREFIX, _text(first[: _plain_length(first)]))]
    if rest:
        last = rest.pop()
        tests.append((Op.SUFFIX, _text(last[len(last) - _plain_length(last[::-1]) :])))
    tests += [(Op.SUBSTRING, _text(piece)) for piece in rest if _ANY_ONE not in piece]
    return [(op, text) for op, text in tests if text]


def _plain_length(piece: Piece) -> int:
    return piece.index(_ANY_ONE) if _ANY_ONE in piece else len(piece)


def _text(piece: Piece) -> str:
    return "".join(char for char in piece if char is not None)


def _matches_at(text: str, position: int, piece: Piece) -> bool:
    return all(char is None or text[position + index] == char for index, char in enumerate(piece))


def _escape(char: str | None) -> str:
    if char is _ANY_ONE:
        return "_"
    return "\\" + char if char in "%_\\" else char
