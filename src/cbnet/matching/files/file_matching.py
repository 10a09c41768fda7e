"""Matching of whole files of messages, in parts with bounded memory, and the forms in which results are written.

| form | rows |
|---|---|
| with_rules | every message, with the names of its rules in a column of lists |
| one_per_match | a message once for each of its rules, with the name of the rule |
| matched_only | the messages that match some rule, unchanged |
| by_rule | for each rule, the messages that match it, unchanged |

Rules of a message are in the order of `CompiledTable.match`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.columnar_files import ColumnarFile
from cbnet.matching.files.compressed_files import checked_read, content_of, open_file
from cbnet.matching.files.message_files import EncodedLines, read_encoded
from cbnet.matching.row_matching import in_order, match_rows, rule_lists
from cbnet.matching.storage.arrow_leaves import LeafReader
from cbnet.matching.storage.columns import Array

RULES_COLUMN, RULE_COLUMN = "rules", "rule"
Rows: TypeAlias = pa.RecordBatch | list[bytes]  # lines of JSON Lines without their ends


@dataclass(frozen=True)
class MatchedMessages:
    """Consecutive messages of a file, and the targets of each."""

    rows: Rows
    numbers: Sequence[int]  # of the messages in the file, from 1
    offsets: Array  # int64[messages + 1], into the targets
    targets: Array
    errors: Mapping[int, InputError]  # by number; invalid lines are not among the rows, invalid rows match nothing

    @property
    def is_columnar(self) -> bool:
        """Whether the rows are a record batch, and not lines."""
        return isinstance(self.rows, pa.RecordBatch)

    @property
    def count(self) -> int:
        """The number of valid messages."""
        return len(self.numbers) - (len(self.errors) if self.is_columnar else 0)


def no_messages(schema: pa.Schema) -> MatchedMessages:
    """Return no messages, with the columns of a schema."""
    rows = pa.RecordBatch.from_pylist([], schema)
    return MatchedMessages(rows, range(0), np.zeros(1, np.int64), np.empty(0, np.int64), {})


class RuleNames:
    """The name, priority and metadata of each target of a table."""

    def __init__(self, compiled: CompiledTable) -> None:
        self.array: pa.Array = compiled.rule_names
        self.labels = compiled.labels
        self.rules = compiled.rules

    def columns(self, targets: Array, name: str) -> dict[str, pa.Array]:
        """Return the columns `NAME_priority` and `NAME_metadata` (JSON) of targets; none if no rule has either."""
        if not self.rules:
            return {}
        priorities, metadata = self.details
        chosen = pa.array(targets)
        return {f"{name}_priority": priorities.take(chosen), f"{name}_metadata": metadata.take(chosen)}

    @cached_property
    def details(self) -> tuple[pa.Array, pa.Array]:
        """The priority and the metadata (JSON, or null) of each target."""
        rules = [self.rules.get(label) for label in self.labels]
        priorities = pa.array([rule.priority if rule else 0 for rule in rules], pa.int64())
        texts = [json.dumps(rule.metadata, ensure_ascii=False) if rule and rule.metadata else None for rule in rules]
        return priorities, pa.array(texts, pa.string())


def with_rules(matched: MatchedMessages, names: RuleNames, column: str) -> Rows:
    """Return every message with the names of its rules; null for a row that is not a valid message."""
    rejected = [matched.numbers.index(number) for number in matched.errors] if matched.is_columnar else ()
    lists = rule_lists(names.array, matched.offsets, matched.targets, rejected)
    return _extended(matched.rows, {column: lists})


def one_per_match(matched: MatchedMessages, names: RuleNames, column: str) -> Rows:
    """Return each message once per rule, with the rule's name, and its priority and metadata if rules have some."""
    owner = np.repeat(np.arange(len(matched.numbers)), np.diff(matched.offsets))
    rule = names.array.take(pa.array(matched.targets))
    columns = {column: rule, **names.columns(matched.targets, column)}
    return _extended(_taken(matched.rows, owner), columns, json_column=f"{column}_metadata")


def matched_only(matched: MatchedMessages) -> Rows:
    """Return the messages that match some rule."""
    return _taken(matched.rows, np.flatnonzero(np.diff(matched.offsets)))


def by_rule(matched: MatchedMessages) -> Iterator[tuple[int, Rows]]:
    """Yield each target with the messages that match it."""
    owner = np.repeat(np.arange(len(matched.numbers)), np.diff(matched.offsets))
    order = np.argsort(matched.targets, kind="stable")
    targets, first = np.unique(matched.targets[order], return_index=True)
    if len(targets):
        for target, members in zip(targets.tolist(), np.split(owner[order], first[1:]), strict=True):
            yield target, _taken(matched.rows, members)


def _taken(rows: Rows, indexes: Array) -> Rows:
    return rows.take(pa.array(indexes)) if isinstance(rows, pa.RecordBatch) else [rows[index] for index in indexes]


def _extended(rows: Rows, columns: dict[str, pa.Array], json_column: str | None = None) -> Rows:
    """Return rows with new columns; json_column: one whose cells are JSON, which a line contains as such."""
    if isinstance(rows, pa.RecordBatch):
        for name, column in columns.items():
            if name in rows.schema.names:
                raise _name_error(name)
            rows = rows.append_column(name, column)
        return rows
    names = [json.dumps(name) for name in columns]
    cells = [
        [cell if cell is not None and name == json_column else json.dumps(cell, ensure_ascii=False) for cell in cells]
        for name, cells in ((name, column.to_pylist()) for name, column in columns.items())
    ]
    return [_with_members(row, names, values) for row, *values in zip(rows, *cells, strict=True)]


def _with_members(line: bytes, names: list[str], values: list[str]) -> bytes:
    """Return a JSON object with more members, whose names and values are JSON."""
    for name in names:
        if name.encode() in line and json.loads(name) in msgspec.json.decode(line):
            raise _name_error(json.loads(name))
    added = ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
    members = line.strip()[1:-1].rstrip()
    return b"{" + members + (b", " if members else b"") + added.encode() + b"}"


def _name_error(name: str) -> InputError:
    return InputError(f"the messages have a column {name!r} already", hint="choose another name with --column")


@dataclass(frozen=True)
class FileMatcher:
    """A table that matches files."""

    compiled: CompiledTable
    threads: int = 1

    def match_file(
        self,
        path: Path,
        file: ColumnarFile | None,
        *,
        only_used: bool = False,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Iterator[MatchedMessages]:
        """Yield the messages of a file; file: it, if it has columns. `progress` receives what is done, and all."""
        if file is not None:
            for matched in self.match_columns(file, only_used=only_used):
                yield matched
                progress(file.position, file.size)
            return
        with open_file(path) as lines:
            size, content = path.stat().st_size, content_of(lines, path)
            for matched in self.match_lines(checked_read(content.read, str(path)), str(path)):
                yield matched
                progress(lines.tell(), size)

    def match_columns(self, file: ColumnarFile, *, only_used: bool = False) -> Iterator[MatchedMessages]:
        """Yield the rows of a file; only_used: columns that no filter uses may be left out."""
        reader = LeafReader(self.compiled.symbols)

        def uses(field: pa.Field) -> bool:
            return not only_used or field.name == RESERVED_NAME or reader.uses(field.name, field.type)

        for part in match_rows(self.compiled, file.batches(uses), threads=self.threads, reject=True):
            numbers = file.numbers(part.first, len(part.batch))
            errors = {
                numbers[row]: InputError(
                    f"row {numbers[row]}, {error.problem.partition(', ')[2]}", hint=error.hint, file=str(file.path)
                )
                for row, error in part.rejected.items()
            }
            yield MatchedMessages(part.batch, numbers, part.offsets, part.targets, errors)

    def match_lines(self, read: Callable[[int], bytes], source: str | None) -> Iterator[MatchedMessages]:
        """Yield the messages of JSON Lines; with one thread, as soon as they have been read.

        source: the name of the file in errors.
        """
        # Lines are decoded here, with the interpreter lock; the other threads match without it.
        for matched in in_order(self._match_lines, read_encoded(read, self.compiled.symbols), self.threads):
            for error in matched.errors.values():
                error.at(file=source)
            yield matched

    def _match_lines(self, encoded: EncodedLines) -> MatchedMessages:
        offsets, targets, _ = self.compiled.match_batch(encoded.batch)
        undecided = self.compiled.undecided(encoded.batch)
        rows, numbers, places, errors = [], [], [], {}
        for number, line, found in zip(encoded.numbers, encoded.lines, encoded.outcomes, strict=True):
            outcome = found if isinstance(found, InputError) else undecided.get(found, found)
            if isinstance(outcome, InputError):
                errors[number] = outcome.at(line=number)
            else:
                rows.append(line)
                numbers.append(number)
                places.append(outcome)
        if len(rows) < len(encoded.batch):  # refused and undecided messages have a place in the batch
            offsets, targets = _chosen(np.array(places, np.int64), offsets, targets)
        return MatchedMessages(rows, numbers, offsets, targets, errors)


def _chosen(places: Array, offsets: Array, targets: Array) -> tuple[Array, Array]:
    """Return the offsets and targets of some messages of a batch."""
    is_chosen = np.zeros(len(offsets) - 1, bool)
    is_chosen[places] = True
    counts = np.diff(offsets)
    return np.append(0, np.cumsum(counts[is_chosen])), targets[np.repeat(is_chosen, counts)]
