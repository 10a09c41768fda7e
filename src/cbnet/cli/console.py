"""Output: how do commands print results and errors, for people and for programs?

With `--json` stdout carries JSON Lines and nothing else, errors included. Without it results go to
stdout and errors, progress and remarks to stderr.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Annotated, Any

import typer

from cbnet.errors import FileError, InputError, PredicateSyntaxError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines, errors too.")]


def print_json(row: dict[str, Any]) -> None:
    """Print one object to a line."""
    sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


def print_remark(remark: str) -> None:
    """Print what a person may want to know beside the result."""
    print(remark, file=sys.stderr)


def print_error(error: InputError, as_json: bool) -> None:
    """Print an error; the mistakes of a file one by one."""
    if isinstance(error, FileError):
        for mistake in error.errors:
            print_error(mistake, as_json)
    elif as_json:
        problem = f"{error.file}: {error.problem}" if error.file else error.problem
        print_json({"error": problem, "line": error.line, "column": error.column, "hint": error.hint})
    else:
        print_remark(f"error: {error.summary}")
        if isinstance(error, PredicateSyntaxError):
            print_remark("\n".join(f"  {line}" for line in error.excerpt().split("\n")))


def shown(interface: str | int) -> str:
    """Return an interface as it stands in a list; one that would be misread stands in quotes."""
    plain = isinstance(interface, int) or re.fullmatch(r"[^\W\d][\w.:/@+-]*", interface)
    return str(interface) if plain else json.dumps(interface, ensure_ascii=False)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 message, 2 messages, 3 deliveries."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
