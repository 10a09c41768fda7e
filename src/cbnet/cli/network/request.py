"""`cbnet request`: ask for an item by its content, and print the reply of one holder or of a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson
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

if TYPE_CHECKING:
    from cbnet.network import Client, NoReply, Reply, Timeout


def request(
    text: Annotated[
        str, typer.Argument(metavar="REQUEST", help="Tags and values, in quotes, joined by `and`.", show_default=False)
    ],
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for a reply.")] = 5.0,
    max_holders: Annotated[
        int, typer.Option("--max-holders", min=1, max=64, help="Ask at most so many, one after the other.")
    ] = 8,
    fresh: Annotated[bool, typer.Option("--fresh", help="Take no reply from a cache.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show which way the request took, and who was asked.")] = False,
    router: AnyRouter = None,
    network: Folder = None,
    network_name: NetworkName = "cbnet",
    tls_authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    token: TokenOption = None,
    json: AsJson = False,
) -> None:
    """Ask for what has these values and tags; print the reply.

    Example: cbnet request 'symbol = "A" and #quote' --trace
    """
    from cbnet.cli.network.request_output import print_answer, print_answer_json
    from cbnet.network import Timeout
    from cbnet.network.protocol.request_codec import as_request

    asked = as_request(text)  # before anybody waits for a router
    with connected(router, network, network_name, Identity(tls_authority, certificate, key, token)) as client:
        answer = _answer(client, text, timeout, max_holders, fresh=fresh, trace=trace)
        place = client.router
    if not json:
        print_answer(answer, asked, place, is_traced=trace)
    elif not isinstance(answer, Timeout):
        print_answer_json(answer, is_traced=trace)
    if isinstance(answer, Timeout):
        raise answer


def _answer(
    client: Client, text: str, timeout: float, max_holders: int, *, fresh: bool, trace: bool
) -> Reply | NoReply | Timeout:
    """Return the reply, or that there is none: that is an answer too."""
    from cbnet.network import NoReply, Timeout

    try:
        return client.request(text, timeout=timeout, max_holders=max_holders, fresh=fresh, trace=trace)
    except (NoReply, Timeout) as error:
        return error
