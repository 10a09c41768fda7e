"""`cbnet sub`: print the messages that match a predicate, as they arrive."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import plural, print_json, print_note
from cbnet.cli.network.connection_options import ConnectionOptions, with_connection
from cbnet.cli.options import Dialect, Json

if TYPE_CHECKING:
    from cbnet.network import Client, Delivery, Subscription
    from cbnet.network.client.async_subscription import WhenFull


@with_connection
def sub(
    predicate: Annotated[
        str | None, typer.Argument(metavar="PREDICATE", help="Predicate, in quotes.", show_default=False)
    ] = None,
    initial: Annotated[
        bool, typer.Option("--initial", help="Subscribe to the initial predicate of the router's node.")
    ] = False,
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", metavar="N", min=1, help="Stop after N messages.", show_default=False),
    ] = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", "-w", help="Report when messages of every reachable router arrive."),
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0.001, help="Timeout for --wait, in seconds.")
    ] = 5.0,
    queue: Annotated[
        int, typer.Option("--queue", metavar="N", min=1, help="Maximum messages queued for printing.")
    ] = 1_000,
    when_full: Annotated[
        str,
        typer.Option(
            "--when-full", metavar="POLICY", help="Policy when the queue is full: block, drop oldest or disconnect."
        ),
    ] = "block",
    dialect: Dialect = "cbnet",
    json: Json = False,
    *,
    connection: ConnectionOptions,
) -> None:
    """Subscribe to a predicate and print the messages that match it.

    Example: cbnet sub 'price < 500 and #upgradeable' --wait
    """
    from cbnet.errors import CbnetError, InputError
    from cbnet.language.dialects import CBNET, parse

    if (predicate is None) != initial:
        raise InputError("give either a predicate, in quotes, or --initial")
    if predicate is not None:
        translated = parse(predicate, dialect=dialect)  # reports errors before connecting
        predicate = predicate if dialect == CBNET else str(translated)
    policy: Any = when_full
    with connection.connect() as client:
        subscription = _subscribe(client, predicate, wait, timeout, queue, policy)
        try:
            _print_all(subscription, count, as_json=json)
        finally:
            lost = client.lost + subscription.dropped
            if lost:
                print_note(f"{plural(lost, 'message')} dropped: they arrived faster than they were read")
            if not client.is_connected and count is None:
                raise CbnetError("the connection was closed")


def _subscribe(
    client: Client, predicate: str | None, wait: bool, timeout: float, queue: int, when_full: WhenFull
) -> Subscription:
    if predicate is None:
        subscription = client.subscribe_initial(timeout=timeout, queue=queue, when_full=when_full)
        if wait:
            print_note(f"subscribed at {client.router} to its initial predicate")
        return subscription
    subscription = client.subscribe(predicate, wait=wait, timeout=timeout, queue=queue, when_full=when_full)
    if wait:
        _, routers, missing = subscription.confirmation
        unreachable = f"; unreachable: {', '.join(missing)}" if missing else ""
        print_note(f"subscribed at {client.router}; confirmed for {plural(routers, 'router')}{unreachable}")
    return subscription


def _print_all(subscription: Subscription, count: int | None, *, as_json: bool) -> None:
    for printed, delivery in enumerate(subscription, 1):
        _print(delivery, as_json=as_json)
        sys.stdout.flush()
        if printed == count:
            return


def _print(delivery: Delivery, *, as_json: bool) -> None:
    from cbnet.cli.network.message_text import message_line, payload_members

    if as_json:
        print_json({"message": delivery.message, **payload_members(delivery.payload), "source": delivery.source})
    else:
        print(message_line(delivery.message, delivery.payload))
