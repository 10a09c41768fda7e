"""`cbnet durable`: list, limit and remove durable subscriptions, and forget homes that will not return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.command_help import command_group
from cbnet.cli.console import new_grid, plural, print_json, print_note, results_console
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import Json, limit_option, with_options
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.network.protocol.durable_frames import DurableReport, HistoryField, Policy

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the durable subscription.", show_default=False)]
Home = Annotated[str, typer.Argument(metavar="ROUTER", help="Name of the router.", show_default=False)]


@with_options
def list_(json: Json = False, *, connection: ConnectionOptions) -> None:
    """List the durable subscriptions of a router and its history, and other routers that have some.

    Example: cbnet durable list --router 127.0.0.1:4001
    """
    from cbnet.network.protocol.frames import json_of

    with connection.connect() as client:
        report = client.durable_subscriptions()
        router = client.router
    if json:
        for each in report.subscriptions:
            print_json(json_of(each))
        if report.history is not None:
            print_json({"history": json_of(report.history)})
        return
    _print_grid(report, router)
    others = [f"{name} ({count})" for name, count in report.homes.items() if name != router]
    if others:
        print_note(f"other routers with durable subscriptions: {', '.join(others)}")
    if report.history is not None:
        print_note(_history(report.history))
    if report.problem:
        print_note(f"{router}: {report.problem}")


@with_options
def limit(
    name: Name,
    max_messages: Annotated[int | None, limit_option("--max-messages", default="no change")] = None,
    max_bytes: Annotated[int | None, limit_option("--max-bytes", default="no change")] = None,
    max_age: Annotated[float | None, limit_option("--max-age", default="no change")] = None,
    drop_oldest: Annotated[
        bool | None,
        typer.Option(
            "--drop-oldest/--refuse",
            help="Beyond a limit, drop the oldest messages, or refuse new ones.",
            show_default="no change",
        ),
    ] = None,
    *,
    connection: ConnectionOptions,
) -> None:
    """Change limits of a durable subscription of a router, for the next messages.

    Example: cbnet durable limit billing --max-messages 10000 --drop-oldest
    """
    policy: Policy | None = None if drop_oldest is None else "drop oldest" if drop_oldest else "refuse"
    if max_messages is None and max_bytes is None and max_age is None and policy is None:
        options = "--max-messages, --max-bytes, --max-age, --drop-oldest or --refuse"
        raise InputError("no limit to change", hint=f"give {options}")
    with connection.connect() as client:
        limits = client.limit_durable(
            name, messages=max_messages, bytes=max_bytes, age=max_age, policy=policy
        )  # fmt: skip
        print_note(f"{name} at {client.router}: {limits}")


@with_options
def remove(name: Name, *, connection: ConnectionOptions) -> None:
    """Remove a durable subscription of a router, with the messages that it keeps.

    Example: cbnet durable remove billing
    """
    with connection.connect() as client:
        client.remove_durable(name)
        print_note(f"removed {name} at {client.router}")


@with_options
def forget(home: Home, *, connection: ConnectionOptions) -> None:
    """Forget the durable subscriptions of a router that will not return, so that no publisher waits for it.

    Example: cbnet durable forget r7
    """
    with connection.connect() as client:
        client.forget_home(home)
        print_note(f"{client.router} has told all routers to forget the durable subscriptions of {home}")


durable = command_group(
    "List, limit and remove durable subscriptions, and forget routers that will not return.",
    list=list_,
    limit=limit,
    remove=remove,
    forget=forget,
)


def _history(history: HistoryField) -> str:
    predicate = f" of {history.predicate}" if history.predicate else ""
    if not history.messages:
        return f"history{predicate}: no messages"
    span = f"offsets {history.first:,} to {history.next - 1:,}"
    return f"history{predicate}: {plural(history.messages, 'message')}, {history.bytes:,} bytes, {span}"


def _print_grid(report: DurableReport, router: str) -> None:
    if not report.subscriptions:
        print(f"router {router} has no durable subscriptions")
        return
    title = f"{plural(len(report.subscriptions), 'durable subscription')} of router {router}"
    rows = []
    for each in report.subscriptions:
        name = f"{each.account}/{each.name}" if each.account else each.name
        counts = (f"{count:,}" for count in (each.messages, each.bytes, each.unacknowledged, each.clients, each.lost))
        rows.append((name, *counts, each.limits, each.predicate))
    heads = ("name", "messages", "bytes", "sent", "clients", "lost", "limits", "predicate")
    results_console().print(new_grid(title, *heads, rows=rows))
