"""`cbnet durable peek`, `move` and `purge`: the messages of durable subscriptions."""

from __future__ import annotations

from datetime import datetime

from cbnet.cli.console import plural, print_json, print_outcome
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import CONFIRM, JSON, argument, confirm, count_option, option

NAME = argument(..., "NAME", "Name of the durable subscription.")
ACCOUNT = option(None, "NAME", "Account of the durable subscription.", name="--account", shown="that of the client")
MATCHING = argument(None, "PREDICATE", "Only messages that match this predicate, in quotes.")
FIRST = option(1, "OFFSET", "Only messages from this offset on.", name="--first", least=1)


def peek(
    name: str = NAME,
    predicate: str | None = MATCHING,
    first: int = FIRST,
    count: int = count_option(20, "Maximum number of messages."),
    account: str | None = ACCOUNT,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Print messages that a durable subscription of a router keeps, oldest first; they are not acknowledged.

    For another account's messages, you need the right `manage`.

    Example: cbnet durable peek failed 'invoice > 5' --count 3
    """
    from cbnet.cli.network.message_text import message_line
    from cbnet.network.client.message_json import delivery_members

    with connection.connect() as client:
        messages = client.peek_durable(name, predicate or "", first=first, count=count, account=account)
    for each in messages:
        if json:
            print_json({**delivery_members(each), "time": each.time})
        else:
            stored = datetime.fromtimestamp(each.time).astimezone().isoformat(sep=" ", timespec="seconds")
            sent = plural(each.deliveries, "delivery")
            print(f"{each.offset}  {stored}  {sent}  {message_line(each.message, each.payload)}")


def move(
    name: str = NAME,
    to: str = argument(..., "TO", "Name of the durable subscription that gets the messages."),
    predicate: str | None = MATCHING,
    first: int = FIRST,
    count: int | None = count_option(None, "Maximum number of messages."),
    account: str | None = ACCOUNT,
    confirmed: list[str] | None = CONFIRM,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Move messages of a durable subscription to another one of the same router and account.

    Dead letters lose the attribute that marks them. For another account's, you need the right `manage`, and the name of
    the first durable subscription as a confirmation.

    Example: cbnet durable move failed billing
    """
    with connection.connect() as client:
        if account is not None:
            effect = f"messages of {described(name, account)} at {client.router} will be moved to {to}"
            confirm(name, effect, confirmed)
        moved = client.move_durable(name, to, predicate or "", first=first, count=count, account=account)
        row = {"home": client.router, "name": name, "to": to, "messages": moved}
        note = f"moved {plural(moved, 'message')} of {name} at {client.router} to {to}"
        print_outcome(row, note, as_json=json)


def purge(
    name: str = NAME,
    predicate: str | None = MATCHING,
    first: int = FIRST,
    count: int | None = count_option(None, "Maximum number of messages."),
    account: str | None = ACCOUNT,
    confirmed: list[str] | None = CONFIRM,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Remove messages of a durable subscription of a router. Needs its name as a confirmation.

    For another account's subscription, you need the right `manage`.

    Example: cbnet durable purge billing 'invoice < 5' --confirm billing
    """
    with connection.connect() as client:
        which = f" that match {predicate}" if predicate else ""
        whose = f"{described(name, account or '')} at {client.router}"
        confirm(name, f"unacknowledged messages{which} of {whose} will be removed", confirmed)
        purged = client.purge_durable(name, predicate or "", first=first, count=count, account=account)
        row = {"home": client.router, "name": name, "messages": purged}
        print_outcome(row, f"removed {unacknowledged(purged)} of {name} at {client.router}", as_json=json)


def described(name: str, account: str) -> str:
    """Return a durable subscription in words."""
    return f"durable subscription {name}" + (f" of account {account}" if account else "")


def unacknowledged(count: int) -> str:
    """Return a number of messages in words."""
    return plural(count, "unacknowledged message")
