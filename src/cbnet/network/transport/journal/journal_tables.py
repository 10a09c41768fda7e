"""SQLite tables of a journal, and the changes that each operation makes to them.

    entries         key = subscription · 2⁴⁰ + offset; the messages of one subscription are adjacent, in order
    subscriptions   id, definition
    offsets         id of the subscription, next offset
    losses          id of the subscription, if it has any: messages lost in total, and losses that no client knows of
    windows         publisher, floor, bitmap of the messages stored above it
    homes           owner, record

Each row ends with a checksum: of its table and its other columns; for a message, of the `Entry`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from cbnet.network.durable.journal import (
    Append,
    Discard,
    DropHome,
    DropSubscription,
    DropWindow,
    Entry,
    SaveHome,
    SaveLosses,
    SaveSubscription,
    SaveWindow,
    Write,
)
from cbnet.network.transport.journal.journal_damage import checksum, with_checksum

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
_encode = msgspec.msgpack.Encoder().encode


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
