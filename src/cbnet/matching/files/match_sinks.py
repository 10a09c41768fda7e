"""Destinations of matched messages: one file, or a folder with a file for each rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from cbnet.errors import InputError, LimitError
from cbnet.files import unwritable
from cbnet.matching.files.matched_messages import MatchedMessages, RuleNames, by_rule
from cbnet.matching.files.output_files import OutputFile, Rows, WriterOutput, open_output
from cbnet.matching.rule import RuleName

_MAX_WRITERS = 500  # files that are open at the same time
_MAX_WAITING = 256 << 20  # bytes of all files of a folder together
_SAFE = " !#$&'()+,;=@[]{}~"  # characters of names that file names keep, beside letters, digits and _.-


class MatchSink(Protocol):
    """A destination of matched messages."""

    def write(self, matched: MatchedMessages) -> None:
        """Write some messages, or what the form of the results keeps of them."""

    def finish(self) -> None:
        """Complete the files."""

    def abandon(self) -> None:
        """Remove what has been written."""


class FileSink:
    """One file, with the rows that a form of results has."""

    def __init__(self, file: OutputFile, form: Callable[[MatchedMessages], Rows]) -> None:
        self._file = file
        self._form = form

    def write(self, matched: MatchedMessages) -> None:
        """Write the rows of the form."""
        self._file.write(self._form(matched))

    def finish(self) -> None:
        """Complete the file."""
        self._file.finish()

    def abandon(self) -> None:
        """Remove the file."""
        self._file.abandon()


class FolderSink:
    """A folder with a file for each rule that matched: the messages themselves."""

    def __init__(self, folder: Path, suffix: str, names: RuleNames) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise InputError("the folder is not empty", hint="choose another one", file=str(folder))
        except OSError as error:
            raise unwritable(folder, error) from None
        self._folder = folder
        self._suffix = suffix
        self._names = list(_file_names(names.labels))  # of targets
        self._files: dict[int, OutputFile] = {}

    def write(self, matched: MatchedMessages) -> None:
        """Write each message to the files of its rules."""
        for target, rows in by_rule(matched):
            self._file(target, is_columnar=not isinstance(rows, list)).write(rows)
        if sum(file.bytes_waiting for file in self._files.values()) > _MAX_WAITING:
            for file in self._files.values():
                file.flush()

    def finish(self) -> None:
        """Complete the files."""
        for file in self._files.values():
            file.finish()

    def abandon(self) -> None:
        """Remove the files."""
        for file in self._files.values():
            file.abandon()

    def _file(self, target: int, *, is_columnar: bool) -> OutputFile:
        if target not in self._files:
            file = open_output(self._folder / f"{self._names[target]}{self._suffix}", is_columnar=is_columnar)
            if isinstance(file, WriterOutput) and len(self._files) == _MAX_WRITERS:
                hint = "use CSV or JSON Lines, or write one row per match with --rows"
                raise LimitError(f"{self._suffix} files", len(self._files) + 1, _MAX_WRITERS, hint=hint)
            self._files[target] = file
        return self._files[target]


def _file_names(labels: Iterable[RuleName]) -> Iterator[str]:
    """Yield a name for each rule; the second of those that differ only in type or in case ends with `%-2`."""
    seen: Counter[str] = Counter()  # some file systems ignore the case
    for label in labels:
        name = quote(str(label), safe=_SAFE) or "%"
        seen[name.lower()] += 1
        number = seen[name.lower()]
        yield name if number == 1 else f"{name}%-{number}"  # no quoted name contains %-
