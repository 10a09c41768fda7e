"""Restoring a backup of a journal into a folder that has none.

A restored journal gets a new id, and each of its subscriptions a loss of an unknown number of messages: those that were
stored after the backup. So subscribers learn of it in any case, offsets in a history are not taken for those of other
messages, and the router compares its subscriptions with what the network knows (`ForeignRecords`).
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import HISTORY_ID, Loss, SaveLosses
from cbnet.network.transport.journals.journal_backup import sync
from cbnet.network.transport.journals.journal_tables import JournalDamageError, owner, stored_entry
from cbnet.network.transport.journals.sqlite_journal import FILE, SqliteJournal

RESTORED: Final = "the journal was restored from a backup: messages stored after it are lost"
_WORK: Final = ".restore"  # a folder, removed at the end


class Restored(NamedTuple):
    """What was restored."""

    router: str  # or home, that the journal belongs to
    subscriptions: int
    messages: int
    damaged: int  # of these


def restore(backup: Path, folder: Path) -> Restored:
    """Restore a backup as the journal of a folder, which has none; raise an `InputError` if it is damaged."""
    path = folder / FILE
    if path.exists():
        hint = "stop its router, and move the journal away, or restore into another folder"
        raise InputError("there is a journal already", hint=hint, file=str(path))
    work = folder / _WORK
    try:
        work.mkdir(parents=True)
    except FileExistsError:
        hint = "remove it, if no other `cbnet durable restore` runs"
        raise InputError("another restore was interrupted, or runs", hint=hint, file=str(work)) from None
    except OSError as error:
        raise _failure(error, backup) from None
    try:
        shutil.copyfile(backup, work / FILE)
        restored = _marked(work, backup)
        sync(work / FILE)
        (work / FILE).rename(path)
        sync(folder)
    except OSError as error:
        raise _failure(error, backup) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return restored


def _failure(error: OSError, backup: Path) -> InputError:
    return InputError(f"cannot restore the backup: {error.strerror}", file=error.filename or str(backup))


def _marked(work: Path, backup: Path) -> Restored:
    """Check a copy, and mark it as restored."""
    home = _home(work / FILE, backup)
    try:
        journal = SqliteJournal(work, home)
    except InputError as error:
        raise InputError(error.problem, hint="use another backup", file=str(backup)) from None
    try:
        state = journal.recover()
        damaged = sum(stored_entry(row) is None for row in journal.rows())
        subscriptions = [each.id for each in state.subscriptions if each.id != HISTORY_ID]
        journal.restart([with_loss(state.losses[id]) for id in subscriptions])
    finally:
        journal.close()
    return Restored(home, len(subscriptions), len(state.rows.positions), damaged)


def _home(copy: Path, backup: Path) -> str:
    try:
        with closing(sqlite3.connect(copy)) as file:
            return owner(file.execute)[0]
    except (sqlite3.Error, JournalDamageError) as error:
        raise InputError(f"not a backup of a journal: {error}", file=str(backup)) from None


def with_loss(losses: SaveLosses) -> SaveLosses:
    """Return the losses of a subscription, and one of an unknown number of messages stored after the backup."""
    number = losses.pending[-1].number + 1 if losses.pending else 1
    return losses._replace(pending=(*losses.pending, Loss(number, 0, RESTORED)))
