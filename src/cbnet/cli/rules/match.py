"""`cbnet match`: match a file or stream of messages against rules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from cbnet.cli.console import print_note
from cbnet.cli.options import DIALECT, JSON, RULES, STRICT, argument, flag, key_values, option, output_option
from cbnet.errors import InputError
from cbnet.processors import available_processors

if TYPE_CHECKING:
    from io import BufferedReader

    from cbnet.matching.files.columnar_files import ColumnarFile
    from cbnet.matching.files.file_matching import FileMatcher, MatchedMessages, Rows, RuleNames
    from cbnet.matching.files.output_files import MatchSink
    from cbnet.matching.files.rule_files import RuleFile

_MAX_THREADS = 8


@dataclass(frozen=True)
class ResultOptions:
    """The destination and the form of the results."""

    output: Path | None = output_option(
        None, "File for the messages with the names of their rules: .parquet, .csv, .arrow, .jsonl.", "FILE"
    )
    column: str | None = option(None, "NAME", "Column of rule names in the file.", shown="rules")
    rows: bool = flag("Write one row per match, in place of a list of rules.")
    events: bool = flag("Write only the messages that match, unchanged.")
    split: Path | None = option(None, "FOLDER", "Write the messages of each rule to a file of its own.")
    explain: list[str] | None = option(
        None, "RULE", "Explain one rule by name, or every rule with `all`.", name="--explain -e"
    )

    def check(self) -> None:
        """Refuse options that contradict each other."""
        forms = [name for name in ("rows", "events", "split") if getattr(self, name)]
        if len(forms) > 1:
            raise InputError(f"--{forms[0]} and --{forms[1]} exclude each other")
        if self.output is None and (self.rows or self.column):
            raise InputError(f"{'--rows' if self.rows else '--column'} needs a file", hint="add --output FILE")
        if self.column and (self.events or self.split):
            raise InputError(f"--column has no meaning with --{forms[0]}", hint="remove it")
        if self.split and self.output:
            raise InputError("--split and --output exclude each other", hint="write --split FOLDER alone")
        if self.explain and (self.output or forms):
            raise InputError("--explain prints its results", hint="remove the options that write files or events")


def match(
    rules: Path = RULES,
    messages: list[str] = argument(
        ["-"],
        "[MESSAGES]...",
        "Message files or patterns: JSON Lines, .parquet, .csv or .arrow, or text as .gz, .bz2 or .zst;"
        " - is standard input.",
    ),
    *,
    options: ResultOptions,
    types: list[str] | None = option(
        None, "NAME=TYPE", "Type of a CSV column: int, float, bool or string; `all`: of the others; repeatable."
    ),
    strict: bool = STRICT,
    verify: bool = flag("Verify every byte of a compiled table first."),
    dialect: str = DIALECT,
    json: bool = JSON,
) -> None:
    """Print the rules that each message matches, or write them to a file.

    Invalid messages are reported and skipped; the exit code is then 2.

    Example: cbnet match --rules rules.toml trades.parquet -o tagged.parquet
    """
    from cbnet.matching.files.compressed_files import expand_patterns
    from cbnet.matching.files.rule_files import open_rule_file

    options.check()
    table = open_rule_file(rules, verify=verify or bool(options.explain), dialect=dialect)
    if types and "-" in messages:
        raise InputError("only the columns of a CSV file have types to state", file="standard input")
    inputs = _Inputs(table, key_values("--types", types), strict=strict)
    _match(table, expand_patterns(messages), options, inputs, json)


class _Inputs:
    """Opens files, and checks that the rules fit their columns."""

    def __init__(self, table: RuleFile, types: Mapping[str, str], *, strict: bool) -> None:
        self._compiled, self._types, self._strict = table.compiled, types, strict
        self._warning: str | None = None  # the last one

    def open(self, name: str) -> ColumnarFile | None:
        """Return an open file of columns; None if the messages are lines."""
        from cbnet.matching.column_check import check_columns
        from cbnet.matching.files.columnar_files import open_columnar

        file = None if name == "-" else open_columnar(Path(name), self._types)
        if file is not None:
            strict = self._strict
            report = check_columns([self._compiled], file.attributes, strict=strict, has_nulls=file.has_nulls)
            if self._strict:
                report.check(name)
            if report.warning and report.warning != self._warning:
                print_note(f"warning: {name}: {report.warning}")
            self._warning = report.warning
        return file


def _match(table: RuleFile, files: Sequence[str], options: ResultOptions, inputs: _Inputs, as_json: bool) -> None:
    from cbnet.cli.rules.match_output import MatchReport, printer
    from cbnet.matching.files.file_matching import FileMatcher, RuleNames

    names = RuleNames(table.compiled)
    matcher = FileMatcher(table.compiled, threads=1 if files == ["-"] else _threads())
    first = inputs.open(files[0])
    report = MatchReport(names, "row" if first else "line", is_explained=bool(options.explain), as_json=as_json)
    sink = _sink(names, options, files[0], first)
    skipped: list[InputError] = []
    try:
        for name in files:
            file = first if name == files[0] else inputs.open(name)
            if sink:
                _check_columns(name, file, files[0], first)
            print_rows = None if sink else printer(table, names, options, as_json, name if len(files) > 1 else None)
            for matched in _groups(matcher, name, file, options):
                report.add(matched, print_rows(matched) if print_rows else ())
                if sink:
                    sink.write(matched)
            skipped += file.skipped.values() if file else ()
        if sink:
            sink.finish()
    except BaseException:
        if sink:
            sink.abandon()
        raise
    report.finish(skipped)
    raise typer.Exit(2 if report.errors else 0)


def _check_columns(name: str, file: ColumnarFile | None, first_name: str, first: ColumnarFile | None) -> None:
    """Raise an error if the rows of two files cannot be in one result."""
    if (file and file.schema) != (first and first.schema):
        hint = "write one result for each, or state the types of CSV columns with --types"
        raise InputError(f"its columns are not those of {first_name}", hint=hint, file=name)


def _threads() -> int:
    return min(available_processors(), _MAX_THREADS)


def _sink(names: RuleNames, options: ResultOptions, messages: str, file: ColumnarFile | None) -> MatchSink | None:
    """Return the destination of the results; None if they are printed."""
    from cbnet.matching.files.compressed_files import content_path
    from cbnet.matching.files.file_matching import (
        RULE_COLUMN,
        RULES_COLUMN,
        matched_only,
        no_messages,
        one_per_match,
        with_rules,
    )
    from cbnet.matching.files.output_files import FileSink, FolderSink, open_output

    if options.split is not None:
        return FolderSink(options.split, content_path(Path(messages)).suffix if file else ".jsonl", names)
    if options.output is None:
        return None
    form: Callable[[MatchedMessages], Rows] = matched_only
    if not options.events:
        write, column = (one_per_match, RULE_COLUMN) if options.rows else (with_rules, RULES_COLUMN)
        form = partial(write, names=names, column=options.column or column)
    sink = FileSink(open_output(options.output, is_columnar=file is not None), form)
    if file:  # a file without rows has columns too, and a wrong --column is found at once
        sink.write(no_messages(file.schema))
    return sink


def _groups(
    matcher: FileMatcher, messages: str, file: ColumnarFile | None, options: ResultOptions
) -> Iterator[MatchedMessages]:
    """Yield the messages of a file, with a progress bar on a terminal, or of standard input."""
    if messages == "-":
        from cbnet.matching.files.compressed_files import checked_read

        yield from matcher.match_lines(checked_read(_standard_input(), "standard input"), "standard input")
        return
    is_printed = options.output is None and options.split is None
    with _progress(is_shown=not (is_printed and sys.stdout.isatty())) as show:
        only_used = is_printed and not options.events
        yield from matcher.match_file(Path(messages), file, only_used=only_used, progress=show)


@contextmanager
def _progress(*, is_shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how much of the total has been done."""
    if not is_shown:
        yield lambda _done, _total: None
        return
    from cbnet.cli.console import progress_bar

    with progress_bar() as bar:
        task = bar.add_task("Matching", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _standard_input() -> Callable[[int], bytes]:
    """Return a function that reads up to a number of bytes, and does not block while some are available."""
    if sys.stdin is None:
        raise InputError("there is no standard input", hint="give a message file")
    if sys.stdin.isatty():
        print_note("reading messages from the terminal, one JSON object per line; end with Ctrl-D")
    return cast("BufferedReader", sys.stdin.buffer).read1
