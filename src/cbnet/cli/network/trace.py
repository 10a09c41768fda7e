"""`cbnet trace`: show the path of a message through the network."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import print_json
from cbnet.cli.network.connection_options import ConnectionOptions, with_connection
from cbnet.cli.network.pub import PAYLOAD
from cbnet.cli.options import Json, text_or_file
from cbnet.errors import InputError


@with_connection
def trace(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE | '#TAG'...",
            help="Attributes and tags of the message, or its JSON.",
            show_default=False,
        ),
    ],
    dry: Annotated[bool, typer.Option("--dry", help="Deliver nothing, only report.")] = False,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            metavar="PREDICATE",
            help="Report whether a subscriber with this predicate would get the message.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="NAME", help="Router of the --of subscriber.", show_default="the connected router"
        ),
    ] = None,
    payload: Annotated[str, typer.Option("--payload", "-p", metavar="TEXT", help=PAYLOAD, show_default=False)] = "",
    json: Json = False,
    *,
    connection: ConnectionOptions,
) -> None:
    """Publish a message and show its path: at each router, the filters that match or the closest ones.

    Example: cbnet trace price=700 --dry --of 'price < 500'
    """
    from cbnet.cli.network.message_text import parse_message
    from cbnet.cli.network.trace_output import print_trace
    from cbnet.language import parse
    from cbnet.network.protocol.frames import json_of

    if at is not None and of is None:
        raise InputError("--at needs --of", hint="give the subscriber's predicate with --of")
    message, data = parse_message(words), text_or_file("--payload", payload)
    if of is not None:
        parse(of)  # report errors before connecting
    with connection.connect() as client:
        traced = client.trace(message, data, is_dry=dry or of is not None, of=of, at=at or "")
        router = at or client.router
    if json:
        for hop in traced.hops:
            print_json(json_of(hop))
        print_json({"missing": traced.missing})
    else:
        print_trace(traced, message, is_dry=dry or of is not None, hypothetical=None if of is None else (of, router))
