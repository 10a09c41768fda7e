"""Recovery of a router's durable state from its journal at startup.

Everything is checked except the content of messages, whose check takes as long as all the rest: it is checked when it
is read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from math import isfinite
from typing import Any, TypeVar

import msgspec

from cbnet.network.durable.journal import Loss, RecoveredState, SavedSubscription, SaveLosses, SaveWindow, StockItem
from cbnet.network.protocol.frames import HomeRecord
from cbnet.network.transport.journal.journal_damage import JournalDamageError, Row, without_checksum
from cbnet.network.transport.journal.journal_tables import OFFSETS

_Decoded = TypeVar("_Decoded")


def recover(file: sqlite3.Connection) -> RecoveredState:
    """Return the content of a journal; raise `JournalDamageError`, or a `sqlite3.Error`, if it is damaged."""
    state = RecoveredState(owner(file)[1])
    state.next_offsets.update(_rows(file, "offsets"))
    for id, definition in _rows(file, "subscriptions"):
        if id not in state.next_offsets:
            raise JournalDamageError(f"table offsets has no row {id}")
        state.subscriptions.append(_decoded(definition, SavedSubscription, "subscriptions", id))
        state.losses[id] = SaveLosses(id)
        state.stock[id] = []
    for id, lost, pending in _rows(file, "losses"):
        state.losses[id] = SaveLosses(id, lost, _decoded(pending, tuple[Loss, ...], "losses", id))
    _recover_stock(file, state)
    for publisher, floor, seen in _rows(file, "windows"):
        state.windows[publisher] = SaveWindow(publisher, floor, seen)
    for name, record in _rows(file, "homes"):
        _decoded(record, HomeRecord, "homes", name)
        state.homes[name] = record
    return state


def owner(file: sqlite3.Connection) -> tuple[str, int]:
    """Return the router that a journal belongs to, and the id of the journal."""
    rows = list(_rows(file, "meta"))
    if len(rows) != 1:
        raise JournalDamageError(f"table meta has {len(rows)} rows")
    router, id = rows[0]
    return router, id


def _recover_stock(file: sqlite3.Connection, state: RecoveredState) -> None:
    time = 0.0
    for key, size, at in file.execute("SELECT key, length(content), time FROM entries ORDER BY key"):
        id, offset = divmod(key, OFFSETS)
        if id not in state.stock or offset >= state.next_offsets[id]:
            raise JournalDamageError(f"table entries has a row {key} that nobody stored")
        time = at if isinstance(at, float) and isfinite(at) else time  # else damaged: detected when it is read
        state.stock[id].append(StockItem(offset, size if isinstance(size, int) else 0, time))


def _rows(file: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Yield the rows of a table, in the order of their keys."""
    for stored in file.execute(f"SELECT * FROM {table}"):
        row = without_checksum(table, *stored)
        if row is None:
            raise JournalDamageError(f"row {stored[0]!r} of table {table} has a wrong checksum")
        yield row


def _decoded(data: Any, kind: type[_Decoded], table: str, key: Any) -> _Decoded:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise JournalDamageError(f"row {key!r} of table {table} cannot be decoded: {error}") from None
