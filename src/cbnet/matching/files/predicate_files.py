"""Predicate files: the predicate of each interface, in TOML, JSON Lines or Parquet.

TOML: a table `[interfaces]`; each key holds the text of a predicate, or a list of texts.
JSON Lines: one object {"interface": …, "predicate": text} per line; predicates of a repeated interface are or-ed.
Parquet: one row per constraint; see `arrow_filters`.
All mistakes of a text file are reported together, each with its line and column.
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
    """Return the predicates of a TOML or JSON Lines file by interface; for Parquet use `read_columns`."""
    _check_suffix(path, [*_READERS])
    filters: dict[Interface, list[Filter]] = {}
    errors: list[InputError] = []
    for interface, predicate in _READERS[path.suffix](read_text(path)):
        if isinstance(predicate, InputError):
            errors.append(predicate.at(file=str(path)))
        else:
            filters.setdefault(interface, []).extend(predicate.filters)
    if errors:
        raise FileError(str(path), errors)
    return {interface: Predicate(members) for interface, members in filters.items()}


def _check_suffix(path: Path, known: Sequence[str]) -> None:
    if path.suffix not in known:
        hint = f"use {', '.join(known[:-1])} or {known[-1]}"
        raise InputError(f"unknown file type {path.suffix!r}", hint=hint, file=str(path))


def _from_parquet(path: Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cbnet.matching.storage.arrow_filters import columns_from_arrow

    try:
        with path.open("rb") as file:
            table = pq.read_table(file, read_dictionary=["interface", "name", "op", "string"])
    except pa.ArrowException as error:
        raise InputError(f"not a Parquet file: {error}", file=str(path)) from None
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
            InputError("no table of interfaces", hint="begin it with a line [interfaces]", line=1),
        )
        return
    for unknown in document:
        if unknown != "interfaces":
            mistake = InputError(f"unknown key {unknown!r} beside [interfaces]", hint="remove it")
            yield "", _located(mistake, source, _key_position(source, unknown, 0))
    for interface, value in interfaces.items():
        texts = value if isinstance(value, list) else [value]
        for number, text in enumerate(texts):
            yield interface, _parse(text, source, partial(_text_start, source, interface, texts[:number]))
        if not texts:
            yield interface, Predicate()


def _text_start(source: str, interface: str, before: list[Any]) -> int:
    """Return the position from which to search for a text of an interface: after its key and the texts before."""
    table = re.search(r"^\s*\[\s*interfaces\s*\]", source, re.MULTILINE)
    at = _key_position(source, interface, table.end() if table else 0)
    equals = source.find("=", at + len(interface))
    at = equals + 1 if equals >= 0 and before else at
    for text in before:
        at = _position_in(source, at, text, len(text)) if isinstance(text, str) else at
    return at


def _key_position(source: str, key: str, start: int) -> int:
    """Return the position of a key or table after `start`; `start` if it is written in another way."""
    spellings = "|".join(map(re.escape, (key, f'"{key}"', f"'{key}'", json.dumps(key))))
    key_match = re.compile(rf"^[ \t]*\[*[ \t]*({spellings})[ \t]*[=.\]]", re.MULTILINE).search(source, start)
    return key_match.start(1) if key_match else start


def _from_json_lines(source: str) -> Iterator[tuple[Interface, Predicate | InputError]]:
    start = 0
    for number, line in enumerate(source.split("\n"), 1):
        if line.strip():
            try:
                interface, text = _row(line)
                yield interface, _parse(text, source, partial(int, start))
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


def _parse(text: Any, source: str, start: Callable[[], int]) -> Predicate | InputError:
    """Return the predicate of a text, or its error with the position in the file.

    start: called only on an error; returns the position from which to search for the text.
    """
    if isinstance(text, dict):
        error = InputError("an interface name with a dot needs quotes", hint='write "a.b" = …')
        return _located(error, source, start())
    if not isinstance(text, str):
        return _located(InputError("a predicate must be a string", hint="write it in quotes"), source, start())
    try:
        return parse(text)
    except PredicateSyntaxError as error:
        return _located(error, source, _position_in(source, start(), text, error.position))
    except InputError as error:
        return _located(error, source, start())


def _position_in(source: str, start: int, text: str, position: int) -> int:
    """Return the position in the source of a position in `text`, which the source holds as it is or with escapes."""
    for escape in (str, _escaped, _ascii_escaped):
        first = _find_value(source, escape(text), start)
        if first >= 0:
            return first + len(escape(text[:position]))
    return start


def _find_value(source: str, text: str, start: int) -> int:
    """Return the position of a text after a quote, or -1: a key may contain the same characters."""
    position = source.find(text, start)
    while position > 0 and not re.search(r"[\"'][ \t]*\n?$", source[max(0, position - 40) : position]):
        position = source.find(text, position + 1)
    return position


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _ascii_escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _located(error: InputError, source: str, position: int) -> InputError:
    line = source.count("\n", 0, position) + 1
    return error.at(line=line, column=position - source.rfind("\n", 0, position))
