"""`cbnet match`: print the interfaces that each message matches."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from cbnet.cli.console import plural, print_error, print_note, quote_interface
from cbnet.cli.options import Json, Rules
from cbnet.errors import InputError
from cbnet.files import unreadable

if TYPE_CHECKING:
    from io import BufferedReader

    from cbnet.language import Message
    from cbnet.matching import Explanation
    from cbnet.matching.files.message_files import EncodedLines
    from cbnet.matching.files.rule_files import RuleFile

Read: TypeAlias = Callable[[int], bytes]


def match(
    rules: Rules,
    messages: Annotated[
        str, typer.Argument(metavar="[MESSAGES]", help="Message file (JSON Lines); - is standard input.")
    ] = "-",
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Explain the result for every interface.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Verify every byte of a compiled table first.")] = False,
    json: Json = False,
) -> None:
    """Print the interfaces that each message matches, one line per message.

    Invalid lines are reported and skipped; the exit code is then 2.

    Example: cbnet match --rules rules.toml messages.jsonl
    """
    from cbnet.matching.files.message_files import read_encoded
    from cbnet.matching.files.rule_files import open_rule_file

    answers = _Answers(open_rule_file(rules, verify=verify or explain), explain=explain, as_json=json)
    source = "standard input" if messages == "-" else messages
    with _opened(messages) as read:
        for lines in read_encoded(_checked(read, source), answers.symbols):
            _print(answers.rows(lines), None if json else source)
    if not json:
        counts = ((answers.matched, "message"), (answers.delivered, "delivery"), (answers.bad, "bad line"))
        print_note(", ".join(plural(*count) for count in counts))
    raise typer.Exit(2 if answers.bad else 0)


class _Answers:
    """Matches lines, formats the results and counts them."""

    def __init__(self, table: RuleFile, *, explain: bool, as_json: bool) -> None:
        self._table = table
        self._explain = explain
        self._row = _json_row if as_json else _text_row
        self._written = cache(_as_json if as_json else quote_interface)  # the same interface is printed many times
        self.symbols = table.compiled.symbols
        self.matched = self.delivered = self.bad = 0

    def rows(self, lines: EncodedLines) -> Iterator[str | InputError]:
        """Yield the row, or the error, of each line in order."""
        offsets, targets, _ = self._table.compiled.match_batch(lines.batch)
        labels, ends = self._table.compiled.labels, offsets.tolist()
        names = [self._written(labels[target]) for target in targets.tolist()]
        for number, line, outcome in zip(lines.numbers, lines.lines, lines.outcomes, strict=True):
            if isinstance(outcome, InputError):
                self.bad += 1
                yield outcome
            else:
                interfaces = names[ends[outcome] : ends[outcome + 1]]
                self.matched += 1
                self.delivered += len(interfaces)
                yield self._row(number, interfaces, self._reasons(line) if self._explain else None)

    def _reasons(self, line: bytes) -> list[Explanation]:
        from cbnet.matching.explain import explain
        from cbnet.matching.files.message_files import message_from_line

        message = cast("Message", message_from_line(line))  # valid: it has been read before
        return [explain(message, interface, predicate) for interface, predicate in self._table.predicates.items()]


def _text_row(number: int, interfaces: list[str], reasons: list[Explanation] | None) -> str:
    row = f"{number}: {', '.join(interfaces) or '(none)'}"
    if reasons is None:
        return row
    return "\n".join([row, *(f"    {line}" for reason in reasons for line in str(reason).split("\n"))])


def _json_row(number: int, interfaces: list[str], reasons: list[Explanation] | None) -> str:
    more = "" if reasons is None else f', "explain": {_as_json([_reason_members(reason) for reason in reasons])}'
    return f'{{"message": {number}, "interfaces": [{", ".join(interfaces)}]{more}}}'


def _as_json(value: Any) -> str:
    return json_text.dumps(value, ensure_ascii=False)


def _reason_members(explanation: Explanation) -> dict[str, Any]:
    closest = [
        {"filter": str(near_miss.filter), "failures": list(map(str, near_miss.failures))}
        for near_miss in explanation.near_misses
    ]
    matched_by = None if explanation.filter is None else str(explanation.filter)
    return {"interface": explanation.interface, "filter": matched_by, "closest": closest}


def _print(rows: Iterable[str | InputError], source: str | None) -> None:
    """Print rows and errors in order; errors are printed as JSON if `source` is None."""
    for is_error, group in groupby(rows, lambda row: isinstance(row, InputError)):
        if is_error:
            for error in cast("Iterator[InputError]", group):
                print_error(error.at(file=source), as_json=source is None)
        else:
            sys.stdout.write("\n".join([*cast("Iterator[str]", group), ""]))
    sys.stdout.flush()  # for a reader at the other end of a pipe


@contextmanager
def _opened(name: str) -> Iterator[Read]:
    """Open a file, with a progress bar on a terminal, or standard input.

    The function reads up to a number of bytes, and does not block while some are available.
    """
    if name == "-":
        if sys.stdin is None:
            raise InputError("there is no standard input", hint="give a message file")
        if sys.stdin.isatty():
            print_note("reading messages from the terminal, one JSON object per line; end with Ctrl-D")
        yield cast("BufferedReader", sys.stdin.buffer).read1
        return
    with _file(name) as file:
        if sys.stderr.isatty() and not sys.stdout.isatty():
            from cbnet.cli.console import progress_bar

            with (
                progress_bar() as bar,
                bar.wrap_file(file, Path(name).stat().st_size, description="Matching") as watched,
            ):
                yield watched.read
        else:
            yield file.read1


def _checked(read: Read, source: str) -> Read:
    """Return `read` with errors that name the source."""

    def checked(count: int) -> bytes:
        try:
            return read(count)
        except OSError as error:
            raise unreadable(source, error) from None

    return checked


def _file(name: str) -> BufferedReader:
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise unreadable(name, error) from None
