"""`cbnet pub`: publish a message, or the messages of a file or standard input."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cbnet.cli.console import plural, print_error, print_json, print_note
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import JSON, argument, flag, option, text_or_file
from cbnet.errors import CbnetError, InputError
from cbnet.files import unreadable

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.network import Receipt

    MessageLine = tuple[Message, bytes] | InputError

_DURABLE_BATCH = 256  # messages whose receipts are awaited together
_TIMEOUT = 5.0  # seconds, for receipts
PAYLOAD = "Payload of every message; @FILE reads a file, @@ stands for @."


def pub(
    words: list[str] | None = argument(
        None, "[NAME=VALUE | '#TAG']...", "Attributes and tags of the message. Without them, JSON Lines are read."
    ),
    input: str | None = option(
        None, "FILE", "JSON Lines to publish; - is standard input.", name="--input -i", shown="-"
    ),
    payload: str | None = option(None, "TEXT", PAYLOAD, name="--payload -p"),
    rate: float | None = option(None, "R", "Maximum messages per second.", least=0.001),
    count: int = option(1, "N", "Publish the message N times.", name="--count -n", least=1),
    durable: bool = flag("Wait until all durable subscriptions that match have it on disk."),
    timeout: float | None = option(None, "S", "Timeout for --durable, in seconds.", shown="5", least=0.001, most=3_600),
    require: str | None = option(
        None, "ACCOUNT/NAME", "Durable subscription that must not refuse it, or `all` of them."
    ),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Publish a message, and wait until the router has received it.

    A value is JSON, or text: price=300 sizes=[1,2] dest=MXP. Quote text that looks like JSON: code='"7"'.
    Each line of a file or of standard input is a message, or an object printed by `cbnet sub --json`.

    Example: cbnet pub price=300 dest=MXP '#upgradeable' --payload 'seat 7A'
    """
    from cbnet.cli.network.message_text import parse_message
    from cbnet.network import NotStored
    from cbnet.network.client.durable.durable_publishing import parse_required

    required = () if require is None else parse_required(require)
    data = None if payload is None else text_or_file("--payload", payload)
    messages: Iterable[MessageLine]
    for name, value in (("--timeout", timeout), ("--require", require)):
        if value is not None and not durable:
            raise InputError(f"{name} needs --durable", hint="add --durable, or leave it out")
    if words and input is not None:
        raise InputError("give either attributes and tags, or --input")
    messages = [(parse_message(words), b"")] * count if words else _lines(input or "-")
    published = errors = 0
    receipts: list[Receipt] = []
    with connection.connect() as client:
        for batch in _batches(_paced(messages, rate), _DURABLE_BATCH if durable and rate is None else 1):
            errors += sum(isinstance(line, InputError) for line in batch)
            for line in batch:
                if isinstance(line, InputError):
                    print_error(line, json)
            valid = [line for line in batch if not isinstance(line, InputError)]
            payloads = [own if data is None else data for _, own in valid]
            if durable:
                sent, seconds = [message for message, _ in valid], timeout or _TIMEOUT
                try:
                    receipts += client.publish_durably(sent, payloads, timeout=seconds, require=required)
                except NotStored as error:
                    others = f" ({plural(published, 'message')} stored before)" if published else ""
                    raise CbnetError(f"{error}{others}") from None
            else:
                for (message, _), own in zip(valid, payloads, strict=True):
                    client.publish(message, own)
            if rate is not None:
                client.flush()
            published += len(valid)
        client.flush()
        client.status()  # the router answers after it has processed all messages before
        name, refused, refusal = client.router, client.refused, client.refusal
    if json:
        print_json({"published": published - refused, "router": name, **_counts(receipts)})
    elif published > refused or not refused:
        print_note(f"published {plural(published - refused, 'message')} at {name}{_stored_text(receipts)}")
    if refused:
        raise CbnetError(f"{name} refused {plural(refused, 'message')}: {refusal}")
    if errors:
        raise typer.Exit(2)


def _batches(lines: Iterable[MessageLine], size: int) -> Iterator[list[MessageLine]]:
    rest = iter(lines)
    while batch := list(islice(rest, size)):
        yield batch


def _counts(receipts: Sequence[Receipt]) -> dict[str, object]:
    """Return by how many durable subscriptions a message is stored, at least and most, and refusals of others."""
    if not receipts:
        return {}
    stored, others = [each.subscriptions for each in receipts], sum(each.refused_by_others for each in receipts)
    return {"subscriptions": [min(stored), max(stored)], **({"refused_by_others": others} if others else {})}


def _stored_text(receipts: Sequence[Receipt]) -> str:
    """Return a note on the numbers of durable subscriptions that have stored each message, or refused it."""
    if not receipts:
        return ""
    others = sum(map(bool, (each.refused_by_others for each in receipts)))
    note = f"; durable subscriptions of other accounts refused {plural(others, 'message')}" if others else ""
    least, most = (end(each.subscriptions for each in receipts) for end in (min, max))
    if not most:
        return note or "; no durable subscription matches"
    counts = f"{least:,} to {most:,}" if least < most else f"{most:,}"
    return f"; stored by {counts} durable {'subscription' if counts == '1' else 'subscriptions'}{note}"


def _lines(name: str) -> Iterator[MessageLine]:
    """Yield the messages of a file, or of standard input, and the errors of other lines."""
    from cbnet.network.client.message_json import message_and_payload

    source = None if name == "-" else name
    try:
        with nullcontext(sys.stdin.buffer) if source is None else Path(source).open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text = line.rstrip(b"\r\n").removeprefix(b"\xef\xbb\xbf" if number == 1 else b"")
                if text.strip():
                    try:
                        yield message_and_payload(text)
                    except InputError as error:
                        yield error.at(file=source, line=number)
    except OSError as error:
        raise unreadable(source or "standard input", error) from None


def _paced(messages: Iterable[MessageLine], rate: float | None) -> Iterator[MessageLine]:
    """Yield messages at no more than a rate per second."""
    began = time.monotonic()
    for number, message in enumerate(messages):
        if rate is not None:
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
        yield message
