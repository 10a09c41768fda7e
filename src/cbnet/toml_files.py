"""TOML files: reading, with the position of every mistake, and writing of values.

`TomlDocument` converts its sections to msgspec structs: the members of a struct name the keys, their types the values.
All mistakes of a file are reported together, each with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cbnet.errors import FileError, InputError
from cbnet.files import read_text
from cbnet.text_positions import Keys, TextPositions

if TYPE_CHECKING:  # commands use this module: it loads what it needs when it needs it
    import msgspec

T = TypeVar("T")
Struct = TypeVar("Struct", bound="msgspec.Struct")

_MAX_COMPARED = 100  # characters of an unknown key
_TOML_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a section",
}


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
