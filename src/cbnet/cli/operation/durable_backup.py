"""`cbnet durable backup` and `restore`: backups of the journal of a router."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cbnet.cli.console import plural, print_outcome
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import JSON, argument


def backup(
    name: str | None = argument(None, "NAME", "Name of the backup; by default the time."),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Back up the journal of a router while it runs, to the folder `backups` beside the journal, at the router.

    Needs the right `manage`. A database makes its own backups.

    Example: cbnet durable backup monday
    """
    with connection.connect() as client:
        file = client.back_up_journal(name or datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ"))
        note = f"{client.router} has backed up its journal to {file}"
        print_outcome({"router": client.router, "file": file}, note, as_json=json)


def restore(
    file: Path = argument(..., "FILE", "A backup."),
    folder: Path = argument(..., "FOLDER", "Folder of the journal, which has none."),
    json: bool = JSON,
) -> None:
    """Restore a backup as the journal of a router, on its machine, before the router is started.

    Messages stored after the backup are lost, and reported as lost; messages acknowledged after it are delivered again.

    Example: cbnet durable restore journal.old/backups/monday.sqlite journal
    """
    from cbnet.network.transport.journals.journal_restore import restore as restored_in

    restored = restored_in(file, folder)
    damaged = f" ({restored.damaged:,} damaged)" if restored.damaged else ""
    counts = f"{plural(restored.subscriptions, 'durable subscription')} and {plural(restored.messages, 'message')}"
    note = f"restored the journal of {restored.router} in {folder}, with {counts}{damaged}"
    print_outcome({"folder": str(folder), **restored._asdict()}, note, as_json=json)
