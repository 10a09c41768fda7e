"""Output of `cbnet match`: a row per message, errors, and what the run found."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from heapq import merge
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from cbnet.cli.console import plural, print_error, print_json, print_note, quote_rule
from cbnet.errors import InputError
from cbnet.matching.files.file_matching import MatchedMessages, RuleNames, matched_only

if TYPE_CHECKING:
    from cbnet.cli.rules.match import ResultOptions
    from cbnet.language import Message
    from cbnet.matching import Explanation, RuleName
    from cbnet.matching.files.rule_files import RuleFile

_MAX_ERRORS = 10  # printed
_MAX_NAMES = 10  # of rules that never matched, printed
EVERY_RULE = "all"

Row: TypeAlias = tuple[int, str]  # number of a message, and the text to print
Printer: TypeAlias = Callable[[MatchedMessages], Iterable[Row]]


class MatchReport:
    """Prints rows and errors, and counts messages, matches and errors."""

    def __init__(self, names: RuleNames, noun: str, *, is_explained: bool, as_json: bool) -> None:
        self._names = names
        self._noun = noun  # of an invalid message: line or row
        self._is_explained = is_explained
        self._as_json = as_json
        self._matches = np.zeros(len(names.labels), np.int64)  # of each rule
        self.messages = self.errors = 0

    def add(self, matched: MatchedMessages, rows: Iterable[Row] = ()) -> None:
        """Count messages, and print their rows and errors in order."""
        self.messages += matched.count
        self._matches += np.bincount(matched.targets, minlength=len(self._matches))
        waiting: list[str] = []
        for number, row in merge(rows, ((number, "") for number in sorted(matched.errors))):
            if number in matched.errors:
                _write(waiting)
                self._add_error(matched.errors[number])
            else:
                waiting.append(row)
        _write(waiting)
        sys.stdout.flush()  # for a reader at the other end of a pipe

    def finish(self, skipped: Iterable[InputError]) -> None:
        """Print the errors of rows that could not be read, and the counts."""
        for error in skipped:
            self._add_error(error)
        never = [self._names.labels[target] for target in np.flatnonzero(self._matches == 0)]
        counts = {"messages": self.messages, "matches": int(self._matches.sum()), "errors": self.errors}
        if self._as_json:
            print_json({**counts, "rules": len(self._matches), "never_matched": never})
            return
        if self.errors > _MAX_ERRORS:
            print_note(f"error: {self.errors - _MAX_ERRORS:,} more bad {self._noun}s")
        if never and not self._is_explained:
            shown = ", ".join(map(quote_rule, never[:_MAX_NAMES])) + (", …" if len(never) > _MAX_NAMES else "")
            print_note(f"{len(never):,} of {plural(len(self._matches), 'rule')} never matched: {shown}")
        counted = ((self.messages, "message"), (counts["matches"], "match"), (self.errors, f"bad {self._noun}"))
        print_note(", ".join(plural(*count) for count in counted))

    def _add_error(self, error: InputError) -> None:
        self.errors += 1
        if self.errors <= _MAX_ERRORS:
            print_error(error, self._as_json)


def _write(rows: list[str]) -> None:
    if rows:
        sys.stdout.write("\n".join([*rows, ""]))
        rows.clear()


def printer(
    table: RuleFile, names: RuleNames, options: ResultOptions, as_json: bool, file: str | None = None
) -> Printer:
    """Return the function that prints messages, with the name of their file if one is given."""
    if options.events:
        return _events
    explained = _explained(table, options.explain or [])
    row = _json_row if as_json else _text_row
    details: dict[str, dict[RuleName, Any]] = {
        "priority": {label: rule.priority for label, rule in names.rules.items() if rule.priority},
        "metadata": {label: rule.metadata for label, rule in names.rules.items() if rule.metadata},
    }
    written = cache(_as_json if as_json else quote_rule)  # the same name is printed many times
    labels = names.labels
    place = "" if file is None else f'"file": {_as_json(file)}, ' if as_json else f"{file}:"

    def rows(matched: MatchedMessages) -> Iterator[Row]:
        found = [labels[target] for target in matched.targets.tolist()]
        for index, (number, (first, end)) in enumerate(
            zip(matched.numbers, pairwise(matched.offsets.tolist()), strict=True)
        ):
            if number not in matched.errors:
                reasons = _reasons(matched, index, table, explained) if explained else None
                more = {
                    key: {name: given[name] for name in found[first:end] if name in given}
                    for key, given in details.items() if given
                }  # fmt: skip
                yield number, row(place, number, [written(name) for name in found[first:end]], more, reasons)

    return rows


def _events(matched: MatchedMessages) -> Iterator[Row]:
    """Yield the messages that match, as JSON."""
    from cbnet.matching.files.output_files import json_lines

    rows = matched_only(matched)
    lines = json_lines(rows) if isinstance(rows, pa.RecordBatch) else rows
    numbers = np.asarray(matched.numbers)[np.flatnonzero(np.diff(matched.offsets))]
    return zip(numbers.tolist(), (line.decode().strip() for line in lines), strict=True)


def _explained(table: RuleFile, names: list[str]) -> list[RuleName]:
    """Return the rules to be explained."""
    labels = table.compiled.labels
    by_text = {str(label): label for label in labels}
    if EVERY_RULE in names and EVERY_RULE not in by_text:
        return labels
    for name in names:
        if name not in by_text:
            raise InputError(f"no rule {name!r}", hint=f"name one of the rules, or write --explain {EVERY_RULE}")
    return [by_text[name] for name in names]


def _reasons(matched: MatchedMessages, index: int, table: RuleFile, names: list[RuleName]) -> list[Explanation]:
    from cbnet.matching.explain import explain

    message = _message(matched.rows[index] if isinstance(matched.rows, list) else matched.rows.slice(index, 1))
    return [explain(message, name, table.predicates[name]) for name in names] if message else []


def _message(row: bytes | pa.RecordBatch) -> Message | None:
    """Return the message of a line or row; None if a value that no rule uses is not valid."""
    from cbnet.language import Message
    from cbnet.matching.files.message_files import message_from_line
    from cbnet.matching.storage.arrow_messages import messages_of_rows

    if isinstance(row, pa.RecordBatch):
        return messages_of_rows(row)[0]
    message = message_from_line(row)
    return message if isinstance(message, Message) else None


def _text_row(place: str, number: int, names: list[str], _: Any, reasons: list[Explanation] | None) -> str:
    row = f"{place}{number}: {', '.join(names) or '(none)'}"
    if reasons is None:
        return row
    return "\n".join([row, *(f"    {line}" for reason in reasons for line in str(reason).split("\n"))])


def _json_row(
    place: str, number: int, names: list[str], details: dict[str, Any], reasons: list[Explanation] | None
) -> str:
    members = [f'{place}"message": {number}', f'"rules": [{", ".join(names)}]']
    members.extend(f'"{key}": {_as_json(given)}' for key, given in details.items() if given)
    if reasons is not None:
        members.append(f'"explain": {_as_json([reason.members() for reason in reasons])}')
    return f"{{{', '.join(members)}}}"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
