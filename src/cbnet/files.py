"""Text and TOML files, read with the position of every mistake, and TOML values, written.

A section of a `TomlDocument` becomes a msgspec struct: its members name the keys, their types the values. All mistakes
of a file are reported together, each with its line.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from cbnet.errors import FileError, InputError

T = TypeVar("T", bound=msgspec.Struct)
Keys: TypeAlias = tuple[str, ...]  # such as ("sources", "bookmarks", "path")

_HEADER = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+)((?:\s*\.\s*[\w-]+)*)\s*=""")


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; an InputError names the file if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8", file=str(path)) from None


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Return the tables of a TOML text; an InputError names the line and column of a syntax error."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        problem = str(error)[: place.start()] if place else str(error)
        raise InputError(f"not TOML: {problem}", file=file, line=line, column=column) from None
    except (RecursionError, ValueError):  # lists too deep, or a number too long, for Python
        raise InputError("TOML too deeply nested, or a number too long", file=file) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    return parse_toml(read_text(path), str(path))


def check_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse a key that means nothing."""
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"write {near[0]}" if near else "use " + ", ".join(known)
            raise InputError(f"unknown key {key!r}{where}", hint=hint)


def toml(value: Any) -> str:
    """Return a string, number, bool or flat table of them as TOML; strings are those of JSON, but for one character."""
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{toml_key(key)} = {toml(each)}" for key, each in value.items()) + " }" if value else "{}"
        )
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Return a key as TOML."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)


class TomlDocument:
    """A TOML file and the mistakes that were found in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mistakes: list[InputError] = []
        text = read_text(path)
        self.tables = parse_toml(text, str(path))
        self._lines = _lines(text)

    def section(self, kind: type[T], at: Keys, table: object = None, *, but: Sequence[str] = ()) -> T | None:
        """Return a section as a struct, or None after noting what is wrong; `but`: keys that are not its own."""
        given = self.at(at) if table is None else table
        if not isinstance(given, Mapping):
            self.note(at, "this must be a section", f"begin it with a line [{'.'.join(at)}]")
            return None
        count = len(self.mistakes)
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        members: dict[str, Any] = {}
        for key, value in given.items():
            if key in fields:
                try:
                    members[key] = msgspec.convert(value, fields[key].type)
                except msgspec.ValidationError as error:
                    self.note((*at, key), f"{key}: {_plain(error)}")
            elif key not in but:
                self.unknown((*at, key), [*fields, *but])
        for name, field in fields.items():
            if field.required and name not in given:
                self.note(at, f"{name} is missing", f"write {name} = …")
        if len(self.mistakes) > count:
            return None
        made: T | None = self.checked(at, lambda: _checked(kind(**members)))
        return made

    def checked(self, at: Keys, make: Any) -> Any:
        """Return what a function makes of a section; None after noting the error that it raises."""
        try:
            return make()
        except InputError as error:
            self.note(at, error.problem, error.hint)
            return None

    def at(self, keys: Keys) -> Any:
        """Return what stands at some keys; an empty table if nothing does."""
        found: Any = self.tables
        for key in keys:
            found = found.get(key, {}) if isinstance(found, Mapping) else {}
        return found

    def unknown(self, at: Keys, known: Sequence[str]) -> None:
        """Note a key that means nothing here."""
        near = get_close_matches(at[-1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        where = f" in [{'.'.join(at[:-1])}]" if at[:-1] else ""
        self.note(at, f"unknown key {at[-1]!r}{where}", hint)

    def note(self, at: Keys, problem: str, hint: str | None = None) -> None:
        """Note a mistake at the line of a key, or of the nearest section around it."""
        line = next((self._lines[at[:end]] for end in range(len(at), 0, -1) if at[:end] in self._lines), None)
        where = "" if line is not None or not at else f"[{'.'.join(at)}] "
        self.mistakes.append(InputError(f"{where}{problem}", hint=hint, line=line, file=str(self.path)))

    def finish(self) -> None:
        """Raise an error if there are mistakes: all of them together, in the order of the file."""
        if self.mistakes:
            raise FileError(str(self.path), sorted(self.mistakes, key=lambda mistake: mistake.line or 0))


def _checked(section: Any) -> Any:
    if hasattr(section, "check"):
        section.check()
    return section


def _lines(text: str) -> dict[Keys, int]:
    """Return the line, from 1, on which each key or section stands first, as far as this is seen without parsing."""
    found: dict[Keys, int] = {}
    section: Keys = ()
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _HEADER.match(line)) is not None:
            section = _keys(header[1])
            found.setdefault(section, number)
        elif (key := _KEY.match(line)) is not None:
            found.setdefault((*section, *_keys(key[1] + key[2])), number)
    return found


def _keys(dotted: str) -> Keys:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _plain(error: msgspec.ValidationError) -> str:
    """Return what msgspec says in the words of TOML."""
    said = str(error).partition(" - at ")[0].replace("`", "").replace("Expected", "expected")
    for word, plain in {
        "str": "a string",
        "int": "a whole number",
        "float": "a number",
        "bool": "true or false",
    }.items():
        said = re.sub(rf"\b{word}\b", plain, said)
    return said.replace("array", "a list").replace("object", "a section").replace(" | ", " or ")
