"""The tree of errors.

    CbnetError
    ├── InputError (also ValueError)  invalid input
    │   ├── PredicateSyntaxError      text that is not a predicate, with the position of the mistake
    │   ├── PatternError              an invalid JSON rule of a dialect, with the path of the mistake
    │   ├── ValueDomainError          a name or value that no message can hold
    │   ├── MessageFormatError        invalid JSON form of a message or a predicate
    │   ├── LimitError                input larger than a limit
    │   ├── UndecidedError            a message with too many combinations of values to decide whether rules match
    │   ├── UnknownRuleError          (also KeyError) a name that no rule of the table has
    │   ├── TableFileError            a compiled table that is damaged, of another version, or no table at all
    │   ├── FileError                 all mistakes of one file
    │   └── Refusal                   something that a router refuses to do, with a reason code
    │       └── Denied                an operation that a client's access rights do not allow
    ├── NetworkError                  failures between a client and the network (network/errors.py)
    │   ├── NotConnected              no router reached in time, or connection lost before the response
    │   ├── NotConfirmed              subscription or offer not confirmed by every reachable router in time
    │   ├── NotStored                 a home is silent or cannot write, or a durable subscription refuses
    │   ├── NoReply                   no holder offers the item, or none of those asked has it
    │   ├── Timeout                   no reply to a request in time
    │   ├── NotTrusted                failed authentication of a router or client
    │   ├── Refused                   the router rejected the request or the client, with a reason code
    │   └── TooSlow                   a subscription ended by its overflow policy
    ├── WireError                     bytes that are not a valid frame
    └── Problem                       an HTTP request that is answered with an error (network/http/problems.py)

`ColumnWarning` is the category of a warning.

An `InputError` names the problem, the location (`file`, `line`, `column`, counted from 1, or None where they do not
apply) and the remedy (`hint`). An expected outcome, such as "no rule matches", is a value and never an exception.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

Member = TypeVar("Member")

_MAX_REPORTED = 20  # errors of one file


class CbnetError(Exception):
    """Base class of all errors that cbnet raises."""


class InputError(CbnetError, ValueError):
    """Invalid input."""

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
    def location(self) -> str:
        """Return the location as "file:line:column", without the parts that do not apply."""
        parts = (self.file, self.line, self.column)
        return ":".join(str(part) for part in parts if part is not None)

    @property
    def summary(self) -> str:
        """Return location, problem and hint in one line."""
        line = f"{self.location}: {self.problem}" if self.location else self.problem
        return f"{line}; {self.hint}" if self.hint else line

    def at(self, *, file: str | None = None, line: int | None = None, column: int | None = None) -> InputError:
        """Set the location in a larger text, where it is known; return this error."""
        self.file = file or self.file
        self.line = line or self.line
        self.column = column or self.column
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return self.summary


class PredicateSyntaxError(InputError):
    """Text that is not a predicate."""

    def __init__(self, problem: str, text: str, position: int, *, length: int = 1, hint: str | None = None) -> None:
        start = text.rfind("\n", 0, position) + 1
        super().__init__(problem, hint=hint, line=text.count("\n", 0, position) + 1, column=position - start + 1)
        self.text = text
        self.position = position
        self.length = length

    def excerpt(self, width: int = 76) -> str:
        """Return the line with the mistake, and carets under it."""
        start = self.text.rfind("\n", 0, self.position) + 1
        end = self.text.find("\n", self.position)
        line = self.text[start : len(self.text) if end < 0 else end]
        first = max(0, self.position - start - width // 2)
        offset = self.position - start - first
        visible, more = line[first : first + width], len(line) > first + width
        before = ("…" if first else "") + _printable(visible[:offset])
        carets = "^" * max(1, min(self.length, len(visible) - offset))
        text = before + _printable(visible[offset:]) + ("…" if more else "")
        return f"{text}\n{' ' * _columns(before)}{carets}"

    def __str__(self) -> str:
        return f"{self.summary}\n{self.excerpt()}"


class PatternError(InputError):
    """A rule of another system, written in JSON, that is not valid or has no counterpart in the language."""

    def __init__(self, problem: str, path: tuple[str | int, ...], *, hint: str | None = None) -> None:
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
        super().__init__(f"{place.removeprefix('.')}: {problem}" if place else problem, hint=hint)
        self.path = path


class ValueDomainError(InputError):
    """A name, value or tag that no message can hold, or a value that an operator does not take."""


class MessageFormatError(InputError):
    """Invalid JSON form of a message or a predicate."""


class LimitError(InputError):
    """Input larger than a limit."""

    def __init__(self, subject: str, count: int, limit: int, *, hint: str | None = None) -> None:
        super().__init__(f"{subject}: {count:,} is over the limit of {limit:,}", hint=hint)
        self.count = count
        self.limit = limit


class UndecidedError(InputError):
    """A message with too many combinations of values to decide whether one satisfies a filter."""

    def __init__(self, undecided: Sequence[Any], rules: Sequence[Any], limit: int) -> None:
        """Initialise with the rules that are undecided, and those that the message matches."""
        more = f" and {len(undecided) - 1:,} more" if len(undecided) > 1 else ""
        of = f" for rule {undecided[0]!r}{more}" if undecided else ""
        problem = f"undecided{of}: the message has more than {limit:,} combinations of values to examine"
        super().__init__(problem, hint="give an attribute fewer values, or test fewer attributes together")
        self.undecided = undecided
        self.rules = rules
        self.limit = limit


class ColumnWarning(UserWarning):
    """Rules that test what the columns of a data frame, file or DataFrame do not have."""


class UnknownRuleError(InputError, KeyError):
    """A name that no rule of a table has."""


class TableFileError(InputError):
    """A file that is not a usable compiled table."""


class FileError(InputError):
    """All mistakes of one file, in the order of the file."""

    def __init__(self, file: str, errors: Sequence[InputError]) -> None:
        noun = "mistake" if len(errors) == 1 else "mistakes"
        super().__init__(f"{len(errors)} {noun}", file=file)
        self.errors = tuple(errors)

    @property
    def reported(self) -> tuple[InputError, ...]:
        """The first errors, and how many more there are."""
        more = len(self.errors) - _MAX_REPORTED
        if more <= 1:  # one more takes no more room than its count
            return self.errors
        rest = InputError(f"{more:,} more mistakes", hint="correct the first ones", file=self.file)
        return *self.errors[:_MAX_REPORTED], rest

    @property
    def summary(self) -> str:
        """The first error, and the number of the others, in one line."""
        more = len(self.errors) - 1
        return self.errors[0].summary + (f" (and {more:,} more)" if more else "")

    def __str__(self) -> str:
        return "\n".join([f"{self.file}: {self.problem}", *(str(error) for error in self.reported)])


def _unpickle(kind: type[InputError], arguments: tuple[Any, ...], members: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(members)
    return error


def member_of(members: Mapping[str, Member], name: str, noun: str) -> Member:
    """Return the member of a name; raise an `InputError` that lists the names if there is none."""
    if name not in members:
        raise InputError(f"unknown {noun} {name!r}", hint="use one of " + ", ".join(members))
    return members[name]


def _one_line(text: str, max_length: int = 300) -> str:
    """Return `text`, which may quote any input, shortened and with control characters escaped."""
    text = text if len(text) <= max_length else text[: max_length - 1] + "…"
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _printable(text: str) -> str:
    """Return `text` with a visible character for each unprintable one."""
    return "".join(
        char if char.isprintable() else ("·" if char.isspace() else "\N{REPLACEMENT CHARACTER}") for char in text
    )


def _columns(text: str) -> int:
    """Return the width of `text` in terminal columns."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
