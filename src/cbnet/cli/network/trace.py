"""`cbnet trace`: what happens to a message on its way, and why does it not arrive?"""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import AsJson, print_json
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


def trace(
    words: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE | '#TAG'...", help="The message, or its JSON.", show_default=False),
    ],
    dry: Annotated[bool, typer.Option("--dry", help="Deliver nothing; only say what would happen.")] = False,
    of: Annotated[
        str | None,
        typer.Option("--of", help="Would a subscriber with this predicate get it?", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="The router of that subscriber.", show_default="the one that is connected to"),
    ] = None,
    payload: Annotated[str, typer.Option("--payload", help="Text that goes with the message.")] = "",
    router: AnyRouter = None,
    network: Folder = None,
    network_name: NetworkName = "cbnet",
    tls_authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    token: TokenOption = None,
    json: AsJson = False,
) -> None:
    """Publish a message and show its way: at each router who wants it and by which filter, or what came closest.

    Example: cbnet trace price=700 --dry --of 'price < 500'
    """
    from cbnet.cli.network.message_argument import spoken_message
    from cbnet.cli.network.trace_output import print_trace, trace_row
    from cbnet.language import parse

    if at is not None and of is None:
        raise InputError("--at says where, but not who", hint="say what the subscriber asks for, with --of")
    message = spoken_message(words)
    if of is not None:
        parse(of)  # before anybody waits for a router
    with connected(router, network, network_name, Identity(tls_authority, certificate, key, token)) as client:
        traced = client.trace(message, payload.encode(), is_dry=dry or of is not None, of=of, at=at or "")
        place = at or client.router
    if json:
        for hop in traced.hops:
            print_json(trace_row(hop))
        print_json({"missing": traced.missing})
    else:
        print_trace(traced, message, is_dry=dry or of is not None, supposed=None if of is None else (of, place))
