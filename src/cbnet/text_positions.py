"""Positions of keys and values in TOML and JSON texts, for reports of mistakes."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import cached_property
from typing import TypeAlias

Keys: TypeAlias = tuple[str | int, ...]  # such as ("sources", "bookmarks", "path"), or ("domain", 0, "network")

_SPACE = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL
)  # a multi-line string may end with one or two quotes of its own
_BARE_KEY = re.compile(r"[\w-]+")
_BARE_VALUE = re.compile(r"[^,\]}\n#]+")
# What one character of a string is written as; a backslash at the end of a line stands for none.
_CONTINUATION = re.compile(r"\\[ \t]*\r?\n\s*")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u.{4}|\\U.{8}|\\x..|\\.|\r\n|.", re.DOTALL
)  # JSON writes some characters as a pair of surrogates


class TextPositions:
    """The position, from 0, of each key and each value of a TOML or JSON text, by its keys.

        [rules.a]             keys[("rules", "a")] = 1
        when = ["x", "y"]     keys[("rules", "a", "when")] = 10      values[("rules", "a", "when", 1)] = 23

    The text must be valid: a parser has read it before. Positions are looked up only to report mistakes.
    """

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._text = text
        self._first_line = first_line
        self._at = 0
        self.keys: dict[Keys, int] = {}
        self.values: dict[Keys, int] = {}
        self.repeated: list[tuple[str, int]] = []  # keys that occur again, and where; the first is so in its own object

    def read_toml(self) -> TextPositions:
        """Find the positions of a TOML document; return self."""
        section: Keys = ()
        tables: dict[Keys, int] = {}  # tables of each array of tables
        while self._skip() < len(self._text):
            if self._text[self._at] == "[":
                depth = 2 if self._text.startswith("[[", self._at) else 1
                self._at += depth
                section = self._key(())
                if depth == 2:
                    tables[section] = tables.get(section, -1) + 1
                    section = (*section, tables[section])
                self._skip()
                self._at += depth
            else:
                self._member(section)
        return self

    def read_json(self, start: int) -> TextPositions:
        """Find the positions of the JSON value that begins at `start`; return self."""
        self._at = start
        self._value(())
        return self

    def of(self, path: Keys) -> int:
        """Return the position of the value at `path`, or else of its key, or else of what contains it."""
        for end in range(len(path), -1, -1):
            for positions in (self.values, self.keys):
                if path[:end] in positions:
                    return positions[path[:end]]
        return 0

    def within(self, path: Keys, position: int) -> int:
        """Return the position of a character of the string at `path`."""
        at = self.of(path)
        match = _STRING.match(self._text, at)
        if match is None:
            return at
        quote = self._text[at]
        is_long = self._text.startswith(quote * 3, at) and match.end() - at >= 6
        at += 3 if is_long else 1
        if is_long and (newline := re.compile("\r?\n").match(self._text, at)):
            at = newline.end()
        for _ in range(position):
            at = self._next(at, has_escapes=quote == '"')
        return at

    def place(self, position: int) -> tuple[int, int]:
        """Return the line and the column of a position, both from 1."""
        line = bisect_right(self._line_starts, position)
        return self._first_line + line - 1, position - self._line_starts[line - 1] + 1

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(newline.end() for newline in re.finditer("\n", self._text))]

    def _next(self, at: int, *, has_escapes: bool) -> int:
        """Return the position after one character of a string."""
        if not has_escapes:
            return at + (2 if self._text.startswith("\r\n", at) else 1)
        while continuation := _CONTINUATION.match(self._text, at):
            at = continuation.end()
        character = _CHARACTER.match(self._text, at)
        return at if character is None else character.end()

    def _member(self, parent: Keys) -> None:
        """Read a key and its value."""
        path = self._key(parent)
        self._skip()
        self._at += 1  # = or :
        self._skip()
        self._value(path)

    def _key(self, parent: Keys) -> Keys:
        """Read a key with dots; return its path."""
        path = parent
        while True:
            self._skip()
            start = self._at
            path = (*path, self._key_part())
            if self.keys.setdefault(path, start) != start:
                self.repeated.append((str(path[-1]), start))
            if self._skip() == len(self._text) or self._text[self._at] != ".":
                return path
            self._at += 1

    def _key_part(self) -> str:
        match = _STRING.match(self._text, self._at) or _BARE_KEY.match(self._text, self._at)
        if match is None:
            self._at += 1
            return ""
        self._at = match.end()
        return _unquoted(match.group())

    def _value(self, path: Keys) -> None:
        self.values[path] = self._at
        opening = self._text[self._at : self._at + 1]
        if opening in ("[", "{"):
            self._at += 1
            self._members(path, "]" if opening == "[" else "}")
        else:
            match = _STRING.match(self._text, self._at) or _BARE_VALUE.match(self._text, self._at)
            self._at = self._at + 1 if match is None else match.end()

    def _members(self, path: Keys, closing: str) -> None:
        index = 0
        while self._skip() < len(self._text) and self._text[self._at] != closing:
            if closing == "]":
                self._value((*path, index))
            else:
                self._member(path)
            index += 1
        self._at += 1

    def _skip(self) -> int:
        """Skip blanks, commas and comments; return the position."""
        match = _SPACE.match(self._text, self._at)
        self._at = self._at if match is None else match.end()
        return self._at


def _unquoted(key: str) -> str:
    import tomllib

    if key[0] not in "\"'":
        return key
    try:
        return str(tomllib.loads(f"key = {key}")["key"])
    except tomllib.TOMLDecodeError:
        return str(json.loads(key))
