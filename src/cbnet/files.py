"""Text and TOML files: reading, with the position of every mistake, and writing of TOML values.

`TomlDocument` converts its sections to msgspec structs: the members of a struct name the keys, their types the values.
All mistakes of a file are reported together, each with its line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from cbnet.errors import FileError, InputError

if TYPE_CHECKING:  # commands use this module: it loads what it needs when it needs it
    import msgspec

T = TypeVar("T")
Struct = TypeVar("Struct", bound="msgspec.Struct")
Keys: TypeAlias = tuple[str, ...]  # such as ("sources", "bookmarks", "path")

_HEADER = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+)((?:\s*\.\s*[\w-]+)*)\s*=""")
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
            near = get_close_matches(key, known, n=1)
            hint = f"write {near[0]}" if near else "use " + ", ".join(known)
            raise InputError(f"unknown key {key!r}{where}", hint=hint)


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
        text = read_text(path)
        self.tables = parse_toml(text, str(path))
        self._lines = _lines(text)

    def section(
        self, struct: type[Struct], at: Keys, table: object = None, *, other_keys: Sequence[str] = ()
    ) -> Struct | None:
        """Return a section as a struct, or None after noting its mistakes; `other_keys` belong to other structs."""
        import msgspec

        members = self.at(at) if table is None else table
        if not isinstance(members, Mapping):
            self.note(at, "this must be a section", f"begin it with a line [{'.'.join(at)}]")
            return None
        count = len(self.mistakes)
        fields = {field.name: field for field in msgspec.structs.fields(struct)}
        values: dict[str, Any] = {}
        for key, value in members.items():
            if key in fields:
                try:
                    values[key] = msgspec.convert(value, fields[key].type)
                except msgspec.ValidationError as error:
                    self.note((*at, key), f"{key}: {_in_toml_terms(error)}")
            elif key not in other_keys:
                self.note_unknown((*at, key), [*fields, *other_keys])
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

    def at(self, keys: Keys) -> Any:
        """Return the value at some keys; an empty table if there is none."""
        value: Any = self.tables
        for key in keys:
            value = value.get(key, {}) if isinstance(value, Mapping) else {}
        return value

    def note_unknown(self, at: Keys, known: Sequence[str]) -> None:
        """Note an unknown key."""
        near = get_close_matches(at[-1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        where = f" in [{'.'.join(at[:-1])}]" if at[:-1] else ""
        self.note(at, f"unknown key {at[-1]!r}{where}", hint)

    def note(self, at: Keys, problem: str, hint: str | None = None) -> None:
        """Note a mistake at the line of a key, or of the nearest section around it."""
        line = next((self._lines[at[:end]] for end in range(len(at), 0, -1) if at[:end] in self._lines), None)
        where = "" if line is not None or not at else f"[{'.'.join(at)}] "
        self.mistakes.append(InputError(f"{where}{problem}", hint=hint, line=line, file=str(self.path)))

    def finish(self) -> None:
        """Raise all mistakes together, in the order of the file, if there are any."""
        if self.mistakes:
            raise FileError(str(self.path), sorted(self.mistakes, key=lambda mistake: mistake.line or 0))


def _checked(struct: Struct) -> Struct:
    if hasattr(struct, "check"):
        struct.check()
    return struct


def _lines(text: str) -> dict[Keys, int]:
    """Return the line, from 1, of each key or section, as far as regular expressions find it."""
    lines: dict[Keys, int] = {}
    section: Keys = ()
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _HEADER.match(line)) is not None:
            section = _keys(header[1])
            lines.setdefault(section, number)
        elif (key := _KEY.match(line)) is not None:
            lines.setdefault((*section, *_keys(key[1] + key[2])), number)
    return lines


def _keys(dotted: str) -> Keys:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _in_toml_terms(error: msgspec.ValidationError) -> str:
    """Return a message of msgspec with the names of TOML types."""
    text = str(error).partition(" - at ")[0].replace("`", "").replace("Expected", "expected").replace(" | ", " or ")
    return re.sub(r"\b(str|int|float|bool|array|object)\b", lambda name: _TOML_TYPES[name[0]], text)
