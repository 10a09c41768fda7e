"""Text and TOML files: reading, with the position of every mistake, and writing of TOML values.

`TomlDocument` converts its sections to msgspec structs: the members of a struct name the keys, their types the values.
All mistakes of a file are reported together, each with its line.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from cbnet.errors import FileError, InputError

if TYPE_CHECKING:  # commands use this module: it loads what it needs when it needs it
    import msgspec

T = TypeVar("T")
Struct = TypeVar("Struct", bound="msgspec.Struct")
Keys: TypeAlias = tuple[str | int, ...]  # such as ("sources", "bookmarks", "path"), or ("domain", 0, "network")

_MAX_COMPARED = 100  # characters of an unknown key
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
_TOML_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a section",
}


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    return decode_text(read_bytes(path), path)


def decode_text(data: bytes, path: Path) -> str:
    """Return the text of a file's UTF-8 bytes; an InputError names the first line that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8", hint="save the file as UTF-8", file=str(path), line=line) from None


def unreadable(path: Path | str, error: Exception, kind: type[InputError] = InputError) -> InputError:
    """Return the error of a file that cannot be read."""
    return kind(f"cannot read: {_reason(error)}", file=str(path))


def unwritable(path: Path | str, error: Exception, kind: type[InputError] = InputError) -> InputError:
    """Return the error of a file that cannot be written."""
    return kind(f"cannot write: {_reason(error)}", file=str(path))


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)


def parse_toml(text: str, file: str | None = None) -> dict[str, Any]:
    """Return the tables of a TOML text; an InputError names the line and column of a syntax error."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
        position = re.search(r" \(at line (\d+), column (\d+)\)$", problem)
        line, column = (int(position[1]), int(position[2])) if position else (None, None)
        is_quoting = "Expected newline" in problem or "Unescaped" in problem
        hint = "put a string that contains double quotes in single quotes: 'dest = \"MXP\"'" if is_quoting else None
        problem = problem[: position.start()] if position else problem
        raise InputError(f"not TOML: {problem}", hint=hint, file=file, line=line, column=column) from None
    except (RecursionError, ValueError):  # lists too deep, or a number too long, for Python
        raise InputError("TOML too deeply nested, or a number too long", file=file) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    return parse_toml(read_text(path), str(path))


def check_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise an error for the first unknown key."""
    for key in table:
        if key not in known:
            raise unknown_key(key, known, where)


def unknown_key(key: str, known: Iterable[str], where: str) -> InputError:
    """Return the error of an unknown key, with the nearest known one."""
    known = [*known]
    near = get_close_matches(key, known, n=1) if len(key) <= _MAX_COMPARED else []  # it indexes every character
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return InputError(f"unknown key {key!r}{where}", hint=hint)


def toml(value: Any) -> str:
    """Return a string, number, bool or flat table of them as TOML. Strings are escaped as in JSON, and DEL too."""
    if isinstance(value, dict):
        members = ", ".join(f"{toml_key(key)} = {toml(each)}" for key, each in value.items())
        return f"{{ {members} }}" if members else "{}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Return a key as TOML."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)


class TomlDocument:
    """A TOML file and the mistakes in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mistakes: list[InputError] = []
        self._text = read_text(path)
        self.tables = parse_toml(self._text, str(path))

    def section(
        self, struct: type[Struct], at: Keys, table: object = None, *, other_keys: Sequence[str] = ()
    ) -> Struct | None:
        """Return a section as a struct, or None after noting its mistakes; `other_keys` belong to other structs."""
        import msgspec

        members = self.at(at) if table is None else table
        if not isinstance(members, Mapping):
            self.note(at, "this must be a section", f"begin it with a line [{_dotted(at)}]")
            return None
        count = len(self.mistakes)
        fields = {field.name: field for field in msgspec.structs.fields(struct)}
        values: dict[str, Any] = {}
        self.check_keys(at, members, [*fields, *other_keys])
        for key, value in members.items():
            if key in fields:
                try:
                    values[key] = msgspec.convert(value, fields[key].type)
                except msgspec.ValidationError as error:
                    self.note((*at, key), f"{key}: {_in_toml_terms(error)}")
        for name, field in fields.items():
            if field.required and name not in members:
                self.note(at, f"{name} is missing", f"write {name} = …")
        return None if len(self.mistakes) > count else self.build(at, lambda: _checked(struct(**values)))

    def build(self, at: Keys, build: Callable[[], T]) -> T | None:
        """Return the result of a function, or None after noting its InputError at a section."""
        try:
            return build()
        except InputError as error:
            self.note(at, error.problem, error.hint)
            return None

    def table(self, at: Keys, build: Callable[[str, Any], T], hint: str) -> dict[str, T]:
        """Return the results of a function for the members of a table, by name, after noting their mistakes."""
        members = self.at(at)
        if not isinstance(members, Mapping):
            self.note(at, f"{at[-1]} must be a table", hint)
            return {}
        built = {name: self.build((*at, name), partial(build, name, value)) for name, value in members.items()}
        return {name: each for name, each in built.items() if each is not None}

    def only_table(self, key: str, read: Callable[[TomlDocument, Keys], T]) -> T:
        """Return what a function reads from the only table of a file, or raise its mistakes."""
        self.check_keys((), self.tables, (key,))
        value = read(self, (key,))
        self.finish()
        return value

    def at(self, keys: Keys) -> Any:
        """Return the value at some keys; an empty table if there is none."""
        value: Any = self.tables
        for key in keys:
            if isinstance(value, Mapping):
                value = value.get(key, {})
            else:
                value = value[key] if isinstance(value, list) and isinstance(key, int) else {}
        return value

    def check_keys(self, at: Keys, table: Iterable[str], known: Sequence[str]) -> None:
        """Record the unknown keys of the table at some keys."""
        for key in table:
            if key not in known:
                self.note_unknown((*at, key), known)

    def note_unknown(self, at: Keys, known: Sequence[str]) -> None:
        """Record an unknown key."""
        error = unknown_key(str(at[-1]), known, f" in [{_dotted(at[:-1])}]" if at[:-1] else "")
        self.note(at, error.problem, error.hint)

    def line(self, at: Keys) -> int | None:
        """Return the line of a key, or of the nearest section around it; None if there is none."""
        keys = self._positions.keys
        found = next((keys[at[:end]] for end in range(len(at), 0, -1) if at[:end] in keys), None)
        return None if found is None else self._positions.place(found)[0]

    def note(self, at: Keys, problem: str, hint: str | None = None) -> None:
        """Record a mistake at the line of a key, or of the nearest section around it."""
        line = self.line(at)
        where = "" if line is not None or not at else f"[{_dotted(at)}] "
        self.mistakes.append(InputError(f"{where}{problem}", hint=hint, line=line, file=str(self.path)))

    @cached_property
    def _positions(self) -> TextPositions:
        return TextPositions(self._text).read_toml()

    def finish(self) -> None:
        """Raise all mistakes together, in the order of the file, if there are any."""
        if self.mistakes:
            raise FileError(str(self.path), sorted(self.mistakes, key=lambda mistake: mistake.line or 0))


def _checked(struct: Struct) -> Struct:
    if hasattr(struct, "check"):
        struct.check()
    return struct


def _dotted(keys: Keys) -> str:
    return ".".join(str(key) for key in keys if isinstance(key, str))


def _in_toml_terms(error: msgspec.ValidationError) -> str:
    """Return a message of msgspec with the names of TOML types."""
    text = str(error).partition(" - at ")[0].replace("`", "").replace("Expected", "expected").replace(" | ", " or ")
    return re.sub(r"\b(str|int|float|bool|array|object)\b", lambda name: _TOML_TYPES[name[0]], text)


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
