"""`cbnet pub`: publish a message, or those that stand in lines on standard input."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, counted, print_error, print_json, print_remark
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
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.language import Message


def pub(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE | '#TAG']...",
            help="The message. Without it, JSON Lines are read from standard input.",
            show_default=False,
        ),
    ] = None,
    payload: Annotated[str, typer.Option("--payload", help="Text that goes with every message.")] = "",
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.001, help="At most so many messages in a second.", show_default=False),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Publish the message so many times.")] = 1,
    router: AnyRouter = None,
    network: Folder = None,
    network_name: NetworkName = "cbnet",
    tls_authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    token: TokenOption = None,
    json: AsJson = False,
) -> None:
    """Publish a message; end when the router has it.

    Values are numbers, true, false, or text: price=300 dest=MXP; text that looks like a number stands in quotes:
    code='"7"'.

    Example: cbnet pub price=300 dest=MXP '#upgradeable' --payload 'seat 7A'
    """
    from cbnet.cli.network.message_argument import spoken_message

    messages: Iterable[Message | InputError]
    messages = [spoken_message(words)] * count if words else _lines()
    published = mistakes = 0
    with connected(router, network, network_name, Identity(tls_authority, certificate, key, token)) as client:
        for message in _paced(messages, rate):
            if isinstance(message, InputError):
                mistakes += 1
                print_error(message, json)
                continue
            client.publish(message, payload.encode())
            if rate is not None:
                client.flush()
            published += 1
        client.flush()
        client.status()  # its answer comes after the router has taken all before it
        name, refused, refusal = client.router, client.refused, client.refusal
    if json:
        print_json({"published": published - refused, "router": name})
    elif published > refused or not refused:
        print_remark(f"published {counted(published - refused, 'message')} at {name}")
    if refused:
        raise CbnetError(f"{name} has not taken {counted(refused, 'message')}: {refusal}")
    if mistakes:
        raise typer.Exit(2)


def _lines() -> Iterator[Message | InputError]:
    """Yield the messages on standard input, and what is wrong with other lines."""
    from cbnet.matching.files.message_files import message_from_line

    for number, line in enumerate(sys.stdin.buffer, 1):
        message = message_from_line(line.rstrip(b"\r\n").removeprefix(b"\xef\xbb\xbf" if number == 1 else b""))
        if message is not None:
            yield message.at(line=number) if isinstance(message, InputError) else message


def _paced(messages: Iterable[Message | InputError], rate: float | None) -> Iterator[Message | InputError]:
    """Yield messages, so many in a second and no more."""
    began = time.monotonic()
    for number, message in enumerate(messages):
        if rate is not None:
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
        yield message
