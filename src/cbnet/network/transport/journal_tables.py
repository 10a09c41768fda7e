"""SQLite tables of a journal: the changes that each operation makes to them, recovery, and detection of damage.

    entries         key = subscription · 2⁴⁰ + offset; the messages of one subscription are adjacent, in order
    subscriptions   id, definition
    offsets         id of the subscription, next offset
    losses          id of the subscription, if it has any: messages lost in total, and losses that no client knows of
    windows         publisher, floor, bitmap of the messages stored above it
    homes           owner, record

Each row ends with a checksum: of its table and its other columns; for a message, of the `Entry`. SQLite detects damage
to the structure that holds the rows. A temporary disk failure, such as a full or unreachable disk, is not damage: its
content may become available again.

At startup everything is checked except the content of messages, whose check takes as long as all the rest: it is
checked when it is read.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from zlib import crc32

import msgspec

from cbnet.errors import InputError
from cbnet.network.durable.journal import (
    Append,
    Discard,
    DropHome,
    DropSubscription,
    DropWindow,
    Entry,
    Loss,
    RecoveredState,
    SavedSubscription,
    SaveHome,
    SaveLosses,
    SaveSubscription,
    SaveWindow,
    StockItem,
    Write,
)
from cbnet.network.logs import log
from cbnet.network.protocol.frames import HomeRecord

Row: TypeAlias = tuple[Any, ...]
_Decoded = TypeVar("_Decoded")

OFFSETS: Final = 1 << 40  # of one subscription
SCHEMA: Final = (
    "CREATE TABLE meta (router TEXT, id INTEGER, checksum INTEGER)",
    "CREATE TABLE subscriptions (id INTEGER PRIMARY KEY, definition BLOB, checksum INTEGER)",
    "CREATE TABLE offsets (id INTEGER PRIMARY KEY, next INTEGER, checksum INTEGER)",
    "CREATE TABLE losses (id INTEGER PRIMARY KEY, lost INTEGER, pending BLOB, checksum INTEGER)",
    "CREATE TABLE entries (key INTEGER PRIMARY KEY, time REAL, source TEXT, life INTEGER, number INTEGER, "
    "content BLOB, checksum INTEGER)",
    "CREATE TABLE windows (publisher INTEGER PRIMARY KEY, floor INTEGER, seen BLOB, checksum INTEGER)",
    "CREATE TABLE homes (owner TEXT PRIMARY KEY, record BLOB, checksum INTEGER) WITHOUT ROWID",
)
REMEDY: Final = "restore the journal from a backup, or move its folder away: the messages in it are lost then"
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_ERROR)
_encode = msgspec.msgpack.Encoder().encode


# --- rows and their damage


class JournalDamageError(Exception):
    """A journal is damaged; the text describes the damage."""


def checksum(row: Row) -> int:
    """Return the checksum of a message, or of a table's name and a row."""
    return crc32(_encode(row))


def with_checksum(table: str, *row: Any) -> Row:
    """Return a row as it is stored in a table."""
    return *row, checksum((table, *row))


def without_checksum(table: str, *stored: Any) -> Row | None:
    """Return a stored row without its checksum; None if it is damaged, or belongs to another table."""
    row = stored[:-1]
    return row if checksum((table, *row)) == stored[-1] else None


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the content of the file is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE  # the rest is the extended code


def damage_error(path: Path, what: str) -> InputError:
    """Return the error of a router that cannot start because its journal is damaged."""
    return InputError(f"the journal is damaged: {what}", hint=REMEDY, file=str(path))


def log_damage(path: Path, what: str, **members: Any) -> None:
    """Log damage found while a router is running."""
    log(logging.ERROR, "journal damaged", file=str(path), reason=what, **members)


# --- writing


def key_of(subscription: int, offset: int) -> int:
    """Return the key of a message."""
    return subscription * OFFSETS + offset


def write(file: sqlite3.Connection, kind: type[Write], group: Sequence[Write]) -> None:
    """Perform operations of one kind."""
    many = file.executemany
    if kind is Append:
        _append(file, [each.entry for each in group if isinstance(each, Append)])
    elif kind is Discard:
        spans = [each for each in group if isinstance(each, Discard)]
        keys = ((key_of(of, first), key_of(of, end)) for of, first, end in spans)
        many("DELETE FROM entries WHERE key >= ? AND key < ?", keys)
    elif kind is SaveWindow:
        many("REPLACE INTO windows VALUES (?, ?, ?, ?)", (with_checksum("windows", *each) for each in group))
    elif kind is DropWindow:
        many("DELETE FROM windows WHERE publisher = ?", group)
    elif kind is SaveHome:
        many("REPLACE INTO homes VALUES (?, ?, ?)", (with_checksum("homes", *each) for each in group))
    elif kind is DropHome:
        many("DELETE FROM homes WHERE owner = ?", group)
    elif kind is SaveSubscription:
        saved = [each.saved for each in group if isinstance(each, SaveSubscription)]
        definitions = (with_checksum("subscriptions", each.id, _encode(each)) for each in saved)
        many("REPLACE INTO subscriptions VALUES (?, ?, ?)", definitions)
        many("INSERT OR IGNORE INTO offsets VALUES (?, ?, ?)", (with_checksum("offsets", each.id, 1) for each in saved))
    elif kind is SaveLosses:
        losses = [each for each in group if isinstance(each, SaveLosses)]
        rows = ((*with_checksum("losses", id, lost, _encode(pending)), id) for id, lost, pending in losses)
        many("REPLACE INTO losses SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = ?)", rows)
    else:
        for each in group:
            assert isinstance(each, DropSubscription)
            _drop(file, each.id)


def _append(file: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    rows = ((key_of(each.subscription, each.offset), *each[2:], checksum(each)) for each in entries)
    file.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    following = {each.subscription: each.offset + 1 for each in entries}  # offsets grow
    offsets = (with_checksum("offsets", *each) for each in following.items())
    file.executemany("REPLACE INTO offsets VALUES (?, ?, ?)", offsets)


def _drop(file: sqlite3.Connection, subscription: int) -> None:
    for table in ("subscriptions", "offsets", "losses"):
        file.execute(f"DELETE FROM {table} WHERE id = ?", (subscription,))
    keys = key_of(subscription, 0), key_of(subscription + 1, 0)
    file.execute("DELETE FROM entries WHERE key >= ? AND key < ?", keys)


# --- recovery


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
