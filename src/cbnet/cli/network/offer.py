"""`cbnet offer`: answer requests that match a predicate, from a file of items or by a command."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, counted, print_json, print_remark
from cbnet.cli.network.connection_options import (
    AnyRouter,
    Authority,
    Certificate,
    Folder,
    Identity,
    Key,
    NetworkName,
    TokenOption,
    connected,
)
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network import Item, Offer

    Handler = Callable[[Message], Item | None]
    Answered = Queue[tuple[Message, Item | None]]

_LOOK = 0.5  # seconds, after which it is looked whether the offer still stands


def offer(
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help="In quotes.", show_default=False)],
    items: Annotated[
        Path | None,
        typer.Option(
            "--items", help="JSON Lines, each with a message and a payload: the first that matches is the reply."
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--exec",
            help="Run by the shell for each request, which it reads as JSON; what it prints is the payload of the "
            "reply. If it fails, it has not got the item.",
        ),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep",
            min=0,
            help="Seconds for which routers may keep a reply of --exec; 0: not at all.",
            show_default="any",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="End after so many replies.", show_default=False)
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Say when every router that can be reached has the offer.")
    ] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for that.")] = 5.0,
    router: AnyRouter = None,
    network: Folder = None,
    network_name: NetworkName = "cbnet",
    tls_authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    token: TokenOption = None,
    json: AsJson = False,
) -> None:
    """Answer requests that match a predicate, until Ctrl-C; print each, and whether there was an item for it.

    Example: cbnet offer 'symbol ^= "" and #quote' --items quotes.jsonl --wait
    """
    from cbnet.language import parse

    parse(predicate)  # before anybody waits for a router
    handler = _handler(items, command, keep)
    answered: Answered = Queue()

    def answer(request: Message) -> Item | None:
        item = handler(request)
        answered.put((request, item))
        return item

    with connected(router, network, network_name, Identity(tls_authority, certificate, key, token)) as client:
        offered = client.offer(predicate, answer, wait=wait, timeout=timeout)
        if wait:
            _, routers, missing = offered.confirmation
            away = f"; out of reach: {', '.join(missing)}" if missing else ""
            print_remark(f"offered at {client.router}; known by {counted(routers, 'router')}{away}")
        _print_all(offered, answered, count, as_json=json)
        while count is not None and offered.answered < count:
            time.sleep(0.01)
        client.status()  # its answer comes after the router has taken the last reply


def _handler(items: Path | None, command: str | None, keep: float | None) -> Handler:
    from cbnet.cli.network.item_file import first_item, read_items

    if (items is None) == (command is None):
        raise InputError("answer with what?", hint="give either --items FILE or --exec COMMAND")
    if items is not None:
        if keep is not None:
            raise InputError("--keep goes with --exec", hint='write "keep" beside the message of an item')
        found = read_items(items)
        return lambda request: first_item(found, request)
    return lambda request: _printed(command or "", request, keep)


def _printed(command: str, request: Message, keep: float | None) -> Item | None:
    """Return what a command prints for a request; None if it fails."""
    import json

    from cbnet.network import Item

    said = json.dumps(request.to_dict(), ensure_ascii=False).encode() + b"\n"
    outcome = subprocess.run(command, shell=True, input=said, stdout=subprocess.PIPE, check=False)
    return None if outcome.returncode else Item(request, outcome.stdout, keep)


def _print_all(offered: Offer, answered: Answered, count: int | None, *, as_json: bool) -> None:
    replies = 0
    while count is None or replies < count:
        try:
            request, item = answered.get(timeout=_LOOK)
        except Empty:
            if offered.failure is not None:
                raise offered.failure from None
            continue
        replies += item is not None
        if as_json:
            print_json({"request": request.to_dict(), "answered": item is not None})
        else:
            print(f"{str(request) or '(an empty request)'}  {'answered' if item is not None else 'none'}")
        sys.stdout.flush()
