"""`cbnet offer`: answer requests that match a predicate, from an item file or with a command."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

from cbnet.cli.console import print_json, print_note
from cbnet.cli.network.connection_options import ConnectionOptions, confirmed_text
from cbnet.cli.options import JSON, argument, count_option, flag, option, timeout_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network import Item, Offer

    Handler = Callable[[Message], Item | None]
    AnswerQueue = Queue[tuple[Message, Item | None]]

_POLL_INTERVAL = 0.5  # seconds between two checks that the offer has not been refused


def offer(
    predicate: str = argument(..., "PREDICATE", "Predicate, in quotes."),
    items: Path | None = option(
        None, "FILE", "JSON Lines, each with a message and a payload; the first that matches is the reply."
    ),
    command: str | None = option(
        None,
        "COMMAND",
        "Shell command to run for each request: it reads the request as JSON and prints the payload of the "
        "reply. An exit code other than 0 means that there is no item.",
        name="--exec",
    ),
    keep: float | None = option(
        None, "S", "Seconds for which routers may cache a reply of --exec; 0 for no caching.", shown="no limit", least=0
    ),
    count: int | None = count_option(None, "Stop after N replies."),
    wait: bool = flag("Report when requests of every reachable router find the offer.", name="--wait -w"),
    timeout: float = timeout_option(5.0, "Timeout for --wait, in seconds."),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Answer requests that match a predicate, until Ctrl-C, and print each with its outcome.

    Example: cbnet offer 'symbol ^= "" and #quote' --items quotes.jsonl --wait
    """
    from cbnet.language import parse

    parse(predicate)  # report errors before connecting
    handler = _handler(items, command, keep)
    answers: AnswerQueue = Queue()

    def answer(request: Message) -> Item | None:
        item = handler(request)
        answers.put((request, item))
        return item

    with connection.connect() as client:
        offered = client.offer(predicate, answer, wait=wait, timeout=timeout)
        if wait:
            print_note(f"offered at {client.router}{confirmed_text(offered.confirmation)}")
        _print_all(offered, answers, count, as_json=json)
        while count is not None and offered.answered < count:
            time.sleep(0.01)
        client.status()  # the router answers after it has the last reply


def _handler(items: Path | None, command: str | None, keep: float | None) -> Handler:
    from cbnet.cli.network.message_text import first_item, read_items

    if (items is None) == (command is None):
        raise InputError("no source of replies given", hint="give exactly one of --items FILE and --exec COMMAND")
    if items is not None:
        if keep is not None:
            raise InputError("--keep needs --exec", hint='in an item file, write "keep" beside the message')
        stored = read_items(items)
        return lambda request: first_item(stored, request)
    return lambda request: _run_command(command or "", request, keep)


def _run_command(command: str, request: Message, keep: float | None) -> Item | None:
    """Return the output of a command as the item of a request; None if the command fails."""
    import json

    from cbnet.network import Item

    line = json.dumps(request.to_dict(), ensure_ascii=False).encode() + b"\n"
    process = subprocess.run(command, shell=True, input=line, stdout=subprocess.PIPE, check=False)
    return None if process.returncode else Item(request, process.stdout, keep)


def _print_all(offered: Offer, answers: AnswerQueue, count: int | None, *, as_json: bool) -> None:
    replies = 0
    while count is None or replies < count:
        try:
            request, item = answers.get(timeout=_POLL_INTERVAL)
        except Empty:
            if offered.failure is not None:
                raise offered.failure from None
            continue
        replies += item is not None
        if as_json:
            print_json({"request": request.to_dict(), "answered": item is not None})
        else:
            print(f"{str(request) or '(empty request)'}  {'answered' if item is not None else 'no item'}")
        sys.stdout.flush()
