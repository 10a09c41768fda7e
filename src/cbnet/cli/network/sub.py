"""`cbnet sub`: print the messages that match a predicate, as they arrive."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import plural, print_json, print_note
from cbnet.cli.network.connection_options import ConnectionOptions, confirmed_text
from cbnet.cli.options import (
    DIALECT,
    JSON,
    argument,
    count_option,
    dead_letter_option,
    flag,
    limit_option,
    option,
    timeout_option,
)
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.network import DurableLimits, Subscription

_DURABLE = "Durable subscriptions"


def _limit(name: str) -> Any:
    return limit_option(name, default="no limit, or that of an existing subscription", panel=_DURABLE)


def sub(
    predicate: str | None = argument(None, "PREDICATE", "Predicate, in quotes."),
    initial: bool = flag("Subscribe to the initial predicate of the router's node."),
    count: int | None = count_option(None, "Stop after N messages."),
    wait: bool = flag("Report when messages of every reachable router arrive.", name="--wait -w"),
    timeout: float = timeout_option(5.0, "Timeout for --wait, in seconds."),
    queue: int = option(1_000, "N", "Maximum messages queued for printing.", least=1),
    when_full: str = option("block", "POLICY", "Policy when the queue is full: block, drop oldest or disconnect."),
    durable: str | None = option(
        None,
        "NAME",
        "Durable subscription: the router keeps its messages while no client is connected. "
        "Without a predicate, an existing one. Printed messages are acknowledged.",
        panel=_DURABLE,
    ),
    ack_wait: float | None = option(
        None,
        "S",
        "Seconds after which a message that is not acknowledged is sent again.",
        shown="30",
        panel=_DURABLE,
        least=0.001,
        most=86_400,
    ),
    max_messages: int | None = _limit("--max-messages"),
    max_bytes: int | None = _limit("--max-bytes"),
    max_age: float | None = _limit("--max-age"),
    drop_oldest: bool = flag("At a limit, drop the oldest messages instead of refusing new ones.", panel=_DURABLE),
    max_deliveries: int | None = _limit("--max-deliveries"),
    dead_letter: str | None = dead_letter_option("none, or that of an existing subscription", _DURABLE),
    group: str | None = option(None, "NAME", "Queue group: each message goes to one of its members.", shown="none"),
    since: str | None = option(
        None,
        "START",
        "Begin in the past, with what the router has in its history: some time ago (90s, 15m, 1h, 2d), "
        "an offset, or first.",
        name="--from",
        shown="now",
    ),
    dialect: str = DIALECT,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Subscribe to a predicate and print the messages that match it.

    Example: cbnet sub 'price < 500 and #upgradeable' --from 1h
    """
    from cbnet.language.dialects import CBNET, parse
    from cbnet.network.client.async_subscription import history_start

    if initial and (predicate is not None or durable):
        raise InputError("--initial has no predicate of its own, and cannot be durable")
    if predicate is None and not initial and not durable:
        raise InputError("give either a predicate, in quotes, or --initial")
    if initial and group:
        raise InputError("--initial has no queue group")
    if initial and since:
        raise InputError("--initial cannot begin in the past")
    if since is not None:
        history_start(since)  # reports errors before connecting
    if predicate is not None:
        translated = parse(predicate, dialect=dialect)  # reports errors before connecting
        predicate = predicate if dialect == CBNET else str(translated)
    durable_options = {
        "--ack-wait": ack_wait,
        "--max-messages": max_messages,
        "--max-bytes": max_bytes,
        "--max-age": max_age,
        "--drop-oldest": drop_oldest or None,
        "--max-deliveries": max_deliveries,
        "--dead-letter": dead_letter,
    }
    given = [name for name, value in durable_options.items() if value is not None]
    if given and not durable:
        raise InputError(f"only a durable subscription has {', '.join(given)}", hint="add --durable NAME")
    limits = _limits(
        drop_oldest=drop_oldest,
        messages=max_messages,
        bytes=max_bytes,
        age=max_age,
        max_deliveries=max_deliveries,
        dead_letter=dead_letter,
    )
    policy: Any = when_full
    with connection.connect() as client:
        client.on_event = lambda event: print_note(event.text)
        if initial:
            subscription = client.subscribe_initial(timeout=timeout, queue=queue, when_full=policy)
        else:
            subscription = client.subscribe(
                predicate or "",
                wait=wait,
                timeout=timeout,
                queue=queue,
                when_full=policy,
                durable=durable or "",
                ack_wait=ack_wait,
                limits=limits,
                since=since,
                group=group or "",
            )
        if durable and since is not None and subscription.history is None:
            print_note(f"durable subscription {durable} exists: it resumes where it was, and --from has no effect")
        if wait or durable:
            print_note(_start(client.router, subscription, durable))
        try:
            _print_all(subscription, count, as_json=json)
        finally:
            if subscription.dropped:
                print_note(
                    f"{plural(subscription.dropped, 'message')} dropped: they arrived faster than they were read"
                )
            if not client.is_connected and count is None:
                raise CbnetError("the connection was closed")


def _start(router: str, subscription: Subscription, durable: str | None) -> str:
    """Return a note that a subscription is active."""
    confirmed = confirmed_text(subscription.confirmation) if subscription.confirmation[0] else ""
    if durable:
        return f"durable subscription {durable} at {router}{confirmed}"
    initial = "" if subscription.predicate else " to its initial predicate"
    return f"subscribed at {router}{initial}{confirmed}"


def _limits(*, drop_oldest: bool, **members: Any) -> DurableLimits | None:
    """Return the limits of a durable subscription; None: those that it has."""
    from cbnet.network import DurableLimits

    given = {name: value for name, value in members.items() if value is not None}
    if drop_oldest and not any(given.get(name) for name in ("messages", "bytes", "age")):
        raise InputError("--drop-oldest needs a limit", hint="add --max-messages, --max-bytes or --max-age")
    return DurableLimits(**given, policy="drop oldest" if drop_oldest else "refuse") if given else None


def _print_all(subscription: Subscription, count: int | None, *, as_json: bool) -> None:
    from cbnet.cli.network.message_text import message_line
    from cbnet.network import DurableDelivery
    from cbnet.network.client.message_json import delivery_members

    for printed, delivery in enumerate(subscription, 1):
        if as_json:
            print_json(delivery_members(delivery))
        else:
            print(message_line(delivery.message, delivery.payload))
        sys.stdout.flush()
        if isinstance(delivery, DurableDelivery):
            delivery.acknowledge()
        if printed == count:
            return
