"""`cbnet request`: request an item by its content, and print the reply of a holder or a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.network.connection_options import ConnectionOptions, with_connection
from cbnet.cli.options import Json

if TYPE_CHECKING:
    from cbnet.network import Client, NoReply, Reply, Timeout


@with_connection
def request(
    text: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST", help="Values and tags of the item, in quotes, joined by `and`.", show_default=False
        ),
    ],
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0.001, help="Timeout for the reply, in seconds.")
    ] = 5.0,
    max_holders: Annotated[
        int,
        typer.Option("--max-holders", metavar="N", min=1, max=64, help="Maximum holders to ask, one after the other."),
    ] = 8,
    fresh: Annotated[bool, typer.Option("--fresh", help="Accept no reply from a cache.")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the path of the request, and the holders asked.")
    ] = False,
    json: Json = False,
    *,
    connection: ConnectionOptions,
) -> None:
    """Request an item with these values and tags, and print the reply.

    Example: cbnet request 'symbol = "A" and #quote' --trace
    """
    from cbnet.cli.network.request_output import print_answer, print_answer_json
    from cbnet.network import Timeout
    from cbnet.network.protocol.request_codec import as_request

    message = as_request(text)  # report errors before connecting
    with connection.connect() as client:
        answer = _answer(client, text, timeout, max_holders, fresh=fresh, trace=trace)
        router = client.router
    if not json:
        print_answer(answer, message, router, is_traced=trace)
    elif not isinstance(answer, Timeout):
        print_answer_json(answer, is_traced=trace)
    if isinstance(answer, Timeout):
        raise answer


def _answer(
    client: Client, text: str, timeout: float, max_holders: int, *, fresh: bool, trace: bool
) -> Reply | NoReply | Timeout:
    """Return the reply, or the error that there is none, which is an answer too."""
    from cbnet.network import NoReply, Timeout

    try:
        return client.request(text, timeout=timeout, max_holders=max_holders, fresh=fresh, trace=trace)
    except (NoReply, Timeout) as error:
        return error
