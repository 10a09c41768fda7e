"""What can go wrong, drawn as one tree.

    CbnetError
    ├── NetworkError                      between a client and the network: drawn in network/failures.py
    └── InputError (also ValueError)      something given to cbnet is wrong
        ├── PredicateSyntaxError          the text of a predicate, with the place in it
        ├── ValueDomainError              a name or value that no message may hold
        ├── MessageFormatError            the JSON form of a message or of a predicate
        ├── LimitError                    larger than a stated limit
        ├── UnknownInterfaceError         (also KeyError) a key that is not an interface of the table
        ├── TableFileError                a compiled table that is not whole, not one, or not of this version
        └── FileError                     all the mistakes of one file, together

An `InputError` says what is wrong (`problem`), where (`file`, `line`, `column`, counted from 1,
or None where there is no such thing) and what to write instead (`hint`). An expected outcome,
such as "no interface matches", is a value and never an exception.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any


class CbnetError(Exception):
    """Anything that cbnet raises on purpose."""


class InputError(CbnetError, ValueError):
    """Something given to cbnet is wrong: its input, not its state."""

    def __init__(
        self,
        problem: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = _one_line(problem)
        self.hint = None if hint is None else _one_line(hint)
        self.file = file
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        """Return the place as "file:line:column", without the parts that do not apply."""
        parts = (self.file, self.line, self.column)
        return ":".join(str(part) for part in parts if part is not None)

    @property
    def summary(self) -> str:
        """Return place, problem and hint in one line."""
        line = f"{self.place}: {self.problem}" if self.place else self.problem
        return f"{line}; {self.hint}" if self.hint else line

    def at(self, *, file: str | None = None, line: int | None = None, column: int | None = None) -> InputError:
        """Return this error, moved to its place in a larger text."""
        self.file = file or self.file
        self.line = line or self.line
        self.column = column or self.column
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (
            type(self),
            self.args,
            self.__dict__,
        )

    def __str__(self) -> str:
        return self.summary


class PredicateSyntaxError(InputError):
    """The text of a predicate is not in the language."""

    def __init__(self, problem: str, text: str, position: int, *, length: int = 1, hint: str | None = None) -> None:
        start = text.rfind("\n", 0, position) + 1
        super().__init__(problem, hint=hint, line=text.count("\n", 0, position) + 1, column=position - start + 1)
        self.text = text
        self.position = position
        self.length = length

    def excerpt(self, width: int = 76) -> str:
        """Return the line of the text that is wrong, and a caret under the place."""
        start = self.text.rfind("\n", 0, self.position) + 1
        end = self.text.find("\n", self.position)
        line = self.text[start : len(self.text) if end < 0 else end]
        at = self.position - start
        first = max(0, at - width // 2)
        shown, more = line[first : first + width], len(line) > first + width
        before = ("…" if first else "") + _printable(shown[: at - first])
        carets = "^" * max(1, min(self.length, len(shown) - (at - first)))
        text = before + _printable(shown[at - first :]) + ("…" if more else "")
        return f"{text}\n{' ' * _columns(before)}{carets}"

    def __str__(self) -> str:
        return f"{self.summary}\n{self.excerpt()}"


class ValueDomainError(InputError):
    """A name, value or tag that no message may hold, or an operator that does not take it."""


class MessageFormatError(InputError):
    """The JSON form of a message or of a predicate is wrong."""


class LimitError(InputError):
    """The input is larger than a stated limit."""

    def __init__(self, what: str, count: int, limit: int, *, hint: str | None = None) -> None:
        super().__init__(f"{what}: {count:,} is over the limit of {limit:,}", hint=hint)
        self.count = count
        self.limit = limit


class UnknownInterfaceError(InputError, KeyError):
    """A key that is not an interface of a table."""


class TableFileError(InputError):
    """A file that cannot be used as a compiled table."""


class FileError(InputError):
    """All the mistakes of one file, in the order of the file."""

    def __init__(self, file: str, errors: Sequence[InputError]) -> None:
        noun = "mistake" if len(errors) == 1 else "mistakes"
        super().__init__(f"{len(errors)} {noun}", file=file)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join([self.summary, *(str(error) for error in self.errors)])


def _unpickled(kind: type[InputError], arguments: tuple[Any, ...], members: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(members)
    return error


def _one_line(text: str, longest: int = 300) -> str:
    """Return `text`, which may quote any input, short and without anything that breaks a line."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _printable(text: str) -> str:
    """Return `text` with one visible character for each that a terminal would not show as one."""
    return "".join(
        char if char.isprintable() else ("·" if char.isspace() else "\N{REPLACEMENT CHARACTER}") for char in text
    )


def _columns(text: str) -> int:
    """Return how many terminal columns `text` takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
