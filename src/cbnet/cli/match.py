"""`cbnet match`: which interfaces does each message go to?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from cbnet.cli.output import AsJson, counted, print_error, print_json, print_remark, shown
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.matching import Explanation


def match(
    table: Annotated[
        Path, typer.Option("--table", help="Predicates by interface: .toml or .jsonl.", show_default=False)
    ],
    messages: Annotated[str, typer.Option("--messages", help="Messages as JSON Lines; - is standard input.")] = "-",
    explain: Annotated[bool, typer.Option("--explain", help="Say why, for every interface.")] = False,
    json: AsJson = False,
) -> None:
    """Print, a line per message, the interfaces that it goes to.

    A bad line is reported and counted, and the rest goes on; the exit code is then 2.

    Example: cbnet match --table predicates.toml --messages messages.jsonl
    """
    from cbnet.matching import Table
    from cbnet.matching.message_files import read_messages
    from cbnet.matching.predicate_files import read_predicates

    forwarding = Table.build(read_predicates(table))
    matched = delivered = bad = 0
    with _opened(messages) as lines:
        for number, message in read_messages(lines):
            if isinstance(message, InputError):
                print_error(message.at(file=None if json else messages), json)
                bad += 1
                continue
            interfaces = forwarding.match(message)
            matched += 1
            delivered += len(interfaces)
            explanations = list(map(partial(forwarding.explain, message), forwarding)) if explain else None
            (_print_row if json else _print_line)(number, interfaces, explanations)
    if not json:
        remarks = (counted(matched, "message"), counted(delivered, "delivery"), counted(bad, "bad line"))
        print_remark(", ".join(remarks))
    raise typer.Exit(2 if bad else 0)


def _print_line(number: int, interfaces: list[Any], explanations: list[Explanation] | None) -> None:
    print(f"{number}: {', '.join(map(shown, interfaces)) or '(none)'}")
    for explanation in explanations or ():
        print("\n".join(f"    {line}" for line in str(explanation).split("\n")))


def _print_row(number: int, interfaces: list[Any], explanations: list[Explanation] | None) -> None:
    row: dict[str, Any] = {"message": number, "interfaces": interfaces}
    if explanations is not None:
        row["explain"] = [_explanation_members(explanation) for explanation in explanations]
    print_json(row)


def _explanation_members(explanation: Explanation) -> dict[str, Any]:
    closest = [
        {"filter": str(near_miss.filter), "failures": list(map(str, near_miss.failures))}
        for near_miss in explanation.near_misses
    ]
    matched_by = None if explanation.filter is None else str(explanation.filter)
    return {"interface": explanation.interface, "filter": matched_by, "closest": closest}


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open a file, with a progress bar where a person waits for it, or standard input."""
    if name == "-":
        if sys.stdin.isatty():
            print_remark("reading messages from the terminal, one JSON object to a line; end with Ctrl-D")
        yield sys.stdin.buffer
        return
    with _file(name) as file:
        if sys.stderr.isatty() and not sys.stdout.isatty():
            from rich.console import Console
            from rich.progress import wrap_file

            size = Path(name).stat().st_size
            with wrap_file(
                file, total=size, description="Matching", console=Console(stderr=True), transient=True
            ) as watched:
                yield watched
        else:
            yield file


def _file(name: str) -> BinaryIO:
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", file=name) from None
