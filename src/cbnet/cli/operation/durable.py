"""`cbnet durable`: durable subscriptions and their messages, and homes that will not return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cbnet.cli.command_help import command_group
from cbnet.cli.console import new_grid, plural, print_json, print_note, print_outcome, results_console
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.operation.durable_backup import backup, restore
from cbnet.cli.operation.durable_messages import ACCOUNT, NAME, described, move, peek, purge, unacknowledged
from cbnet.cli.options import (
    CONFIRM,
    JSON,
    argument,
    confirm,
    dead_letter_option,
    flag,
    limit_option,
)
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.network import Client
    from cbnet.network.protocol.durable_frames import Policy
    from cbnet.network.protocol.durable_operation_frames import AccountField, DurableReport, HistoryField, JournalField


def list_(json: bool = JSON, *, connection: ConnectionOptions) -> None:
    """List the durable subscriptions of routers and their histories, and other routers that have some.

    To list those of all accounts, you need the right `watch` or `manage`.

    Example: cbnet durable list --router 127.0.0.1:4001
    """
    connection.with_each(partial(_print_report, json=json), json)


def limit(
    name: str = NAME,
    account: str | None = ACCOUNT,
    max_messages: int | None = limit_option("--max-messages", default="no change"),
    max_bytes: int | None = limit_option("--max-bytes", default="no change"),
    max_age: float | None = limit_option("--max-age", default="no change"),
    drop_oldest: bool | None = flag(
        "Beyond a limit, drop the oldest messages, or refuse new ones.",
        name="--drop-oldest/--refuse",
        shown="no change",
        default=None,
    ),
    max_deliveries: int | None = limit_option("--max-deliveries", default="no change"),
    dead_letter: str | None = dead_letter_option("no change"),
    confirmed: list[str] | None = CONFIRM,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Change limits of a durable subscription of a router, for the next messages.

    For another account's subscription, you need the right `manage`, and must confirm with its name.

    Example: cbnet durable limit billing --max-messages 10000 --drop-oldest
    """
    from cbnet.network.protocol.frames import json_of

    policy: Policy | None = None if drop_oldest is None else "drop oldest" if drop_oldest else "refuse"
    changes = (max_messages, max_bytes, max_age, policy, max_deliveries, dead_letter)
    if all(each is None for each in changes):
        options = "--max-messages, --max-bytes, --max-age, --max-deliveries, --dead-letter, --drop-oldest or --refuse"
        raise InputError("no limit to change", hint=f"give {options}")
    with connection.connect() as client:
        if account is not None:
            confirm(name, f"the limits of {described(name, account)} at {client.router} will change", confirmed)
        limits = client.limit_durable(
            name,
            messages=max_messages,
            bytes=max_bytes,
            age=max_age,
            policy=policy,
            max_deliveries=max_deliveries,
            dead_letter=dead_letter,
            account=account,
        )
        row = {"home": client.router, "name": name, "limits": json_of(limits)}
        print_outcome(row, f"{name} at {client.router}: {limits}", as_json=json)


def remove(
    name: str = NAME,
    account: str | None = ACCOUNT,
    confirmed: list[str] | None = CONFIRM,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Remove a durable subscription of a router, with the messages that it keeps. Needs its name as a confirmation.

    For another account's subscription, you need the right `manage`.

    Example: cbnet durable remove billing --confirm billing
    """
    with connection.connect() as client:
        report = client.durable_subscriptions()
        owner = report.account if account is None else account
        for each in report.subscriptions:  # one that is not there is refused below, with the reason
            if (each.account, each.name) == (owner, name):
                what = f"{described(name, owner)} at {client.router}, with {plural(each.clients, 'client')}"
                confirm(name, f"{what} and {unacknowledged(each.messages)}, will be removed", confirmed)
        messages = client.remove_durable(name, account=account)
        row = {"home": client.router, "name": name, "messages": messages}
        print_outcome(row, f"removed {name} at {client.router}, with {unacknowledged(messages)}", as_json=json)


def forget(
    home: str = argument(..., "ROUTER", "Name of the router."),
    confirmed: list[str] | None = CONFIRM,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Forget the durable subscriptions of a router that will not return, so that no publisher waits for it.

    Needs the right `manage`, and the name of that router as a confirmation.

    Example: cbnet durable forget r7 --confirm r7
    """
    with connection.connect() as client:
        if home in (homes := client.durable_subscriptions().homes):
            durables = plural(homes[home], "durable subscription")
            confirm(home, f"messages for {durables} of {home} will not be stored until it returns", confirmed)
        client.forget_home(home)
        note = f"{client.router} has told all routers to forget the durable subscriptions of {home}"
        print_outcome({"router": client.router, "forgotten": home}, note, as_json=json)


durable = command_group(
    "Manage durable subscriptions and their messages, routers that will not return, and backups of journals.",
    list=list_,
    limit=limit,
    remove=remove,
    peek=peek,
    move=move,
    purge=purge,
    forget=forget,
    backup=backup,
    restore=restore,
)


def _history(history: HistoryField) -> str:
    predicate = f" of {history.predicate}" if history.predicate else ""
    if not history.messages:
        return f"history{predicate}: no messages"
    span = f"offsets {history.first:,} to {history.next - 1:,}"
    return f"history{predicate}: {plural(history.messages, 'message')}, {history.bytes:,} bytes, {span}"


def _print_report(client: Client, *, json: bool) -> None:
    from cbnet.network.protocol.frames import json_of

    report, router = client.durable_subscriptions(), client.router
    if json:
        for each in report.subscriptions:
            exists = each.account not in report.former_accounts
            print_json({"home": router, **json_of(each), "account_exists": exists})
        for account in _limited(report.accounts):
            print_json({"home": router, "account": json_of(account)})
        if report.history is not None:
            print_json({"home": router, "history": json_of(report.history)})
        if report.journal is not None:
            print_json({"home": router, "journal": json_of(report.journal)})
        return
    _print_grid(report, router)
    _print_accounts(report.accounts, router)
    others = [f"{name} ({count})" for name, count in report.homes.items() if name != router]
    if others:
        print_note(f"other routers with durable subscriptions: {', '.join(others)}")
    if report.history is not None:
        print_note(_history(report.history))
    if report.journal is not None:
        print_note(_journal(report.journal))
    if report.problem:
        print_note(f"{router}: {report.problem}")


def _print_accounts(accounts: Sequence[AccountField], router: str) -> None:
    """Print how much of its quotas each account uses; print nothing if no account has quotas."""
    rows = [
        (
            each.account + ("" if each.ends_in is None else f" (removed, ends in {_days(each.ends_in)})"),
            _of(each.subscriptions, each.max_subscriptions),
            _of(each.messages, each.max_messages),
            _of(each.bytes, each.max_bytes),
            "no limit" if each.max_age is None else f"{each.max_age:,} s",
        )
        for each in _limited(accounts)
    ]
    if rows:
        heads = ("account", "subscriptions", "messages", "bytes", "age")
        title = f"quotas of durable subscriptions at router {router}"
        results_console().print(new_grid(title, *heads, rows=rows, text=("account",)))


def _limited(accounts: Iterable[AccountField]) -> list[AccountField]:
    """Return the accounts, without the one that clients share where there is no list of clients."""
    return [each for each in accounts if each.account or each.max_subscriptions is not None]


def _days(seconds: float) -> str:
    return f"{seconds / 86_400:.1f} d" if seconds >= 86_400 else f"{seconds / 3_600:.1f} h"


def _of(count: int, limit: int | None) -> str:
    return f"{count:,}" if limit is None else f"{count:,} of {limit:,}"


def _journal(journal: JournalField) -> str:
    parts = [f"journal: {journal.state}"]
    if journal.bytes:
        parts.append(f"{journal.bytes:,} bytes, {journal.disk:,} free on its disk")
    if journal.commits:
        parts.append(f"99 % of {plural(journal.commits, 'transaction')} synced within {1_000 * journal.p99:,.0f} ms")
    return "; ".join(parts)


def _print_grid(report: DurableReport, router: str) -> None:
    if not report.subscriptions:
        print(f"router {router} has no durable subscriptions")
        return
    title = f"{plural(len(report.subscriptions), 'durable subscription')} of router {router}"
    rows = []
    for each in report.subscriptions:
        owner = each.account + (" (removed)" if each.account in report.former_accounts else "")
        counts = (f"{count:,}" for count in (each.messages, each.bytes, each.unacknowledged, each.clients, each.lost))
        rows.append((each.name, owner, *counts, each.limits, each.predicate))
    heads = ("name", "account", "messages", "bytes", "sent", "clients", "lost", "limits", "predicate")
    results_console().print(new_grid(title, *heads, rows=rows, text=("account", "limits", "predicate")))
