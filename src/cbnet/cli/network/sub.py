"""`cbnet sub`: print the messages that a predicate matches, as they come."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from cbnet.network import Client, Delivery, Subscription
    from cbnet.network.client.async_subscription import WhenFull


def sub(
    predicate: Annotated[str | None, typer.Argument(metavar="PREDICATE", help="In quotes.", show_default=False)] = None,
    loaded: Annotated[
        bool, typer.Option("--loaded", help="What the router's node was loaded with, in the place of a predicate.")
    ] = False,
    router: AnyRouter = None,
    network: Folder = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="End after so many messages.", show_default=False)
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Say when every router that can be reached has the subscription.")
    ] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for that.")] = 5.0,
    queue: Annotated[int, typer.Option("--queue", min=1, help="Messages that wait to be printed.")] = 1_000,
    when_full: Annotated[
        str, typer.Option("--when-full", help="What to do then: block, drop oldest or disconnect.")
    ] = "block",
    network_name: NetworkName = "cbnet",
    tls_authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    token: TokenOption = None,
    json: AsJson = False,
) -> None:
    """Subscribe to a predicate and print the messages that it matches.

    Example: cbnet sub 'price < 500 and #upgradeable' --wait
    """
    from cbnet.errors import CbnetError, InputError
    from cbnet.language import parse

    if (predicate is None) != loaded:
        raise InputError("subscribe to what?", hint="give either a predicate, in quotes, or --loaded")
    if predicate is not None:
        parse(predicate)  # before anybody waits for a router
    policy: Any = when_full
    with connected(router, network, network_name, Identity(tls_authority, certificate, key, token)) as client:
        subscription = _subscribed(client, predicate, wait, timeout, queue, policy)
        try:
            _print_all(subscription, count, as_json=json)
        finally:
            lost = client.lost + subscription.dropped
            if lost:
                print_remark(f"{counted(lost, 'message')} came faster than they were taken, and were dropped")
            if not client.is_connected and count is None:
                raise CbnetError("the connection has ended")


def _subscribed(
    client: Client, predicate: str | None, wait: bool, timeout: float, queue: int, when_full: WhenFull
) -> Subscription:
    if predicate is None:
        subscription = client.subscribe_loaded(timeout=timeout, queue=queue, when_full=when_full)
        if wait:
            print_remark(f"subscribed at {client.router} to what it was loaded with")
        return subscription
    subscription = client.subscribe(predicate, wait=wait, timeout=timeout, queue=queue, when_full=when_full)
    if wait:
        _, routers, missing = subscription.confirmation
        away = f"; out of reach: {', '.join(missing)}" if missing else ""
        print_remark(f"subscribed at {client.router}; known by {counted(routers, 'router')}{away}")
    return subscription


def _print_all(subscription: Subscription, count: int | None, *, as_json: bool) -> None:
    for printed, delivery in enumerate(subscription, 1):
        _print(delivery, as_json=as_json)
        sys.stdout.flush()
        if printed == count:
            return


def _print(delivery: Delivery, *, as_json: bool) -> None:
    from cbnet.cli.network.payload_text import message_line, payload_members

    if as_json:
        print_json({"message": delivery.message, **payload_members(delivery.payload), "source": delivery.source})
    else:
        print(message_line(delivery.message, delivery.payload))
