"""Predicate files: which predicate does each interface have, according to a file?

TOML: a table `[interfaces]`; each key holds the text of a predicate, or a list of texts.
JSON Lines: an object {"interface": …, "predicate": text} a line; a repeated interface is or-ed.
All the mistakes of a file are reported together, each at its line and column in the file.
Parquet: one row per constraint; see `arrow_filters`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.errors import FileError, InputError, PredicateSyntaxError
from cbnet.files import parse_toml, read_text, unreadable
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.json_form import members_from_json
from cbnet.language.syntax.parser import parse
from cbnet.matching.table import Interface, checked_interface

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Columns


def read_columns(path: Path) -> Columns:
    """Return the filters of a TOML, JSON Lines or Parquet file as columns."""
    from cbnet.matching.storage.columns import columns_of

    if path.suffix == ".parquet":
        return _from_parquet(path)
    _check_suffix(path, (*_READERS, ".parquet"))
    return columns_of(read_predicates(path))


def read_predicates(path: Path) -> dict[Interface, Predicate]:
    """Return the predicates of a TOML or JSON Lines file by interface; `read_columns` takes Parquet too."""
    _check_suffix(path, [*_READERS])
    filters: dict[Interface, list[Filter]] = {}
    errors: list[InputError] = []
    for interface, found in _READERS[path.suffix](read_text(path)):
        if isinstance(found, InputError):
            errors.append(found.at(file=str(path)))
        else:
            filters.setdefault(interface, []).extend(found.filters)
    if errors:
        raise FileError(str(path), errors)
    return {interface: Predicate(said) for interface, said in filters.items()}


def _check_suffix(path: Path, known: Sequence[str]) -> None:
    if path.suffix not in known:
        hint = f"use {', '.join(known[:-1])} or {known[-1]}"
        raise InputError(f"unknown kind of file {path.suffix!r}", hint=hint, file=str(path))


def _from_parquet(path: Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cbnet.matching.storage.arrow_filters import columns_from_arrow

    try:
        with path.open("rb") as file:
            table = pq.read_table(file, read_dictionary=["interface", "name", "op", "string"])
    except pa.ArrowException as error:
        raise InputError(f"not Parquet: {error}", file=str(path)) from None
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        return columns_from_arrow(table)
    except InputError as error:
        raise error.at(file=str(path)) from None


def _from_toml(source: str) -> Iterator[tuple[Interface, Predicate | InputError]]:
    try:
        document = parse_toml(source)
    except InputError as error:
        yield "", error
        return
    interfaces = document.get("interfaces")
    if not isinstance(interfaces, dict):
        yield (
            "",
            InputError("there is no table of interfaces", hint="begin it with a line [interfaces]", line=1),
        )
        return
    for unknown in document:
        if unknown != "interfaces":
            mistake = InputError(f"unknown key {unknown!r} beside [interfaces]", hint="remove it")
            yield "", _moved(mistake, source, _key_position(source, unknown, 0))
    for interface, said in interfaces.items():
        texts = said if isinstance(said, list) else [said]
        for place, text in enumerate(texts):
            yield interface, _parsed(text, source, partial(_text_start, source, interface, texts[:place]))
        if not texts:
            yield interface, Predicate()


def _text_start(source: str, interface: str, before: list[Any]) -> int:
    """Return from where on to look for a text of an interface: behind its key and the texts before."""
    table = re.search(r"^\s*\[\s*interfaces\s*\]", source, re.MULTILINE)
    at = _key_position(source, interface, table.end() if table else 0)
    equals = source.find("=", at + len(interface))
    at = equals + 1 if equals >= 0 and before else at
    for text in before:
        at = _position_in(source, at, text, len(text)) if isinstance(text, str) else at
    return at


def _key_position(source: str, key: str, start: int) -> int:
    """Return where a key or table stands, from `start` on; `start` if it is written otherwise."""
    spellings = "|".join(map(re.escape, (key, f'"{key}"', f"'{key}'", json.dumps(key))))
    found = re.compile(rf"^[ \t]*\[*[ \t]*({spellings})[ \t]*[=.\]]", re.MULTILINE).search(source, start)
    return found.start(1) if found else start


def _from_json_lines(source: str) -> Iterator[tuple[Interface, Predicate | InputError]]:
    start = 0
    for number, line in enumerate(source.split("\n"), 1):
        if line.strip():
            try:
                interface, text = _row(line)
                yield interface, _parsed(text, source, partial(int, start))
            except InputError as error:
                yield "", error.at(line=number)
        start += len(line) + 1


def _row(line: str) -> tuple[Interface, Any]:
    members = members_from_json(line)
    if members.keys() != {"interface", "predicate"}:
        raise InputError(
            "a row needs an interface and a predicate", hint='write {"interface": "a", "predicate": "x = 1"}'
        )
    return checked_interface(members["interface"]), members["predicate"]


_READERS = {".toml": _from_toml, ".jsonl": _from_json_lines}


def _parsed(text: Any, source: str, start: Callable[[], int]) -> Predicate | InputError:
    """Return the predicate that `text` says, or its error, moved to its place in the file.

    `start` says from where on the text stands; it is asked only if there is an error.
    """
    if isinstance(text, dict):
        error = InputError("an interface's name with a dot needs quotes", hint='write "a.b" = …')
        return _moved(error, source, start())
    if not isinstance(text, str):
        return _moved(InputError("a predicate must be a string", hint="write it in quotes"), source, start())
    try:
        return parse(text)
    except PredicateSyntaxError as error:
        return _moved(error, source, _position_in(source, start(), text, error.position))
    except InputError as error:
        return _moved(error, source, start())


def _position_in(source: str, start: int, text: str, position: int) -> int:
    """Return where a place of `text` stands in the source, which holds it as it is or with escapes."""
    for spelled in (str, _escaped, _ascii_escaped):
        found = _find_value(source, spelled(text), start)
        if found >= 0:
            return found + len(spelled(text[:position]))
    return start


def _find_value(source: str, text: str, start: int) -> int:
    """Return where a text stands behind a quote, or -1: the same letters may stand in a key too."""
    found = source.find(text, start)
    while found > 0 and not re.search(r"[\"'][ \t]*\n?$", source[max(0, found - 40) : found]):
        found = source.find(text, found + 1)
    return found


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _ascii_escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _moved(error: InputError, source: str, position: int) -> InputError:
    line = source.count("\n", 0, position) + 1
    return error.at(line=line, column=position - source.rfind("\n", 0, position))
