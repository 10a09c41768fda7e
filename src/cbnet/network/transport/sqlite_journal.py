"""Journal of a router in a SQLite file.

    entries         key = subscription · 2⁴⁰ + offset; the messages of one subscription are neighbours, in order
    subscriptions   id, its definition
    progress        of a subscription: next offset, lost messages, losses of which no client knows
    windows         publisher, floor, bits of the messages stored above
    homes           owner, record

In WAL mode with `synchronous = FULL`, a commit appends to the log file and syncs it once, however many operations the
transaction has; a torn write at its end fails the checksum and is ignored when the file is opened. One process has the
file, exclusively.

Pages of messages that are gone are used again. Where they are most of the file, `shrink` gives them back, some at a
time: SQLite moves the last pages to free ones, and cuts the file at the next checkpoint.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

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
    Read,
    ReadResult,
    RecoveredState,
    SavedSubscription,
    SaveHome,
    SaveLosses,
    SaveSubscription,
    SaveWindow,
    StockItem,
    Write,
)
from cbnet.network.transport.journal_damage import damage_error, is_damage, log_damage

FILE: Final = "journal.sqlite"
_VERSION = 3
_OFFSETS = 1 << 40  # of one subscription
_SPARE = 1_024  # free pages, of 4 KiB, that are kept for further messages, besides as many as there are others
_STEP = 256  # pages given back at a time: some 2 ms
_PRAGMAS = (
    "locking_mode = EXCLUSIVE",
    "auto_vacuum = INCREMENTAL",  # takes effect only before the first table, and before WAL mode
    "journal_mode = WAL",
    "synchronous = FULL",
    f"journal_size_limit = {1 << 24}",  # of the log file, after a large transaction
)
_SCHEMA = """
CREATE TABLE meta (router TEXT, id INTEGER);
CREATE TABLE subscriptions (id INTEGER PRIMARY KEY, definition BLOB);
CREATE TABLE progress (id INTEGER PRIMARY KEY, next INTEGER, lost INTEGER, pending BLOB);
CREATE TABLE entries (
    key INTEGER PRIMARY KEY, time REAL, source TEXT, life INTEGER, number INTEGER, content BLOB
);
CREATE TABLE windows (publisher INTEGER PRIMARY KEY, floor INTEGER, seen BLOB);
CREATE TABLE homes (owner TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID;
"""

_NO_LOSSES = msgspec.msgpack.encode(())


class SqliteJournal:
    """The file of a journal. Use it in one thread at a time."""

    def __init__(self, folder: Path, router: str) -> None:
        """Open the journal of a router in a folder, or create it."""
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            try:
                self._open(router)
            except BaseException:
                self._file.close()  # and its lock
                raise
        except OSError as error:
            raise InputError(f"cannot use the journal: {error.strerror}", file=str(folder)) from None
        except sqlite3.Error as error:
            if is_damage(error):
                raise damage_error(self.path, str(error)) from None
            hint = "stop the other router that uses it" if "locked" in str(error) else "check the folder and the disk"
            raise InputError(f"cannot open the journal: {error}", hint=hint, file=str(self.path)) from None

    def _open(self, router: str) -> None:
        for pragma in _PRAGMAS:
            self._file.execute(f"PRAGMA {pragma}")
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._file.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION};")
            self._file.execute("INSERT INTO meta VALUES (?, ?)", (router, secrets.randbits(62)))
            self._file.execute("COMMIT")
        elif version != _VERSION:
            raise InputError(
                f"the journal has version {version}; this cbnet uses version {_VERSION}", file=str(self.path)
            )
        else:
            self._file.execute("BEGIN IMMEDIATE")  # takes the lock
            self._file.execute("COMMIT")
        (owner,) = self._file.execute("SELECT router FROM meta").fetchone()
        if owner != router:
            hint = "give each router a folder of its own"
            raise InputError(f"the journal belongs to router {owner}, not {router}", hint=hint, file=str(self.path))

    def recover(self) -> RecoveredState:
        """Return the content."""
        run = self._file.execute
        (id,) = run("SELECT id FROM meta").fetchone()
        state = RecoveredState(id)
        for definition, following, lost, pending in run(
            "SELECT definition, next, lost, pending FROM subscriptions NATURAL JOIN progress ORDER BY id"
        ):
            saved = msgspec.msgpack.decode(definition, type=SavedSubscription)
            state.subscriptions.append(saved)
            state.next_offsets[saved.id] = following
            losses = msgspec.msgpack.decode(pending, type=tuple[Loss, ...])
            state.losses[saved.id] = SaveLosses(saved.id, lost, losses)
            state.stock[saved.id] = []
        for key, size, at in run("SELECT key, length(content), time FROM entries ORDER BY key"):
            state.stock[key // _OFFSETS].append(StockItem(key % _OFFSETS, size, at))
        for publisher, floor, seen in run("SELECT publisher, floor, seen FROM windows"):
            state.windows[publisher] = SaveWindow(publisher, floor, seen)
        state.homes.update(run("SELECT owner, record FROM homes"))
        return state

    def perform(self, operations: Iterable[Write]) -> None:
        """Perform operations in one transaction, which is on disk on return; raise a `sqlite3.Error` if it fails."""
        self._file.execute("BEGIN IMMEDIATE")
        try:
            for kind, group in groupby(operations, type):
                self._perform(kind, [*group])
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    def read(self, read: Read) -> ReadResult:
        """Return messages without those that are damaged; raise a `sqlite3.Error` if the disk fails for now."""
        of, _, max_messages, max_bytes = read
        entries: list[Entry] = []
        size, end = 0, _OFFSETS
        for rows, (offset, row) in enumerate(self._rows(read), start=1):
            if row is not None:
                entries.append(Entry(of, offset, *row[1:]))
                size += len(entries[-1].content)
            if size >= max_bytes or rows == max_messages:
                end = offset + 1
                break
        return ReadResult(of, read.first, end, entries)

    def _rows(self, read: Read) -> Iterator[tuple[int, tuple[Any, ...] | None]]:
        """Yield offsets and rows; if one cannot be reached in order, all offsets from there on, some with None."""
        of, following = read.subscription, read.first
        try:
            for row in self._file.execute(
                "SELECT * FROM entries WHERE key >= ? AND key < ? ORDER BY key LIMIT ?",
                (_key(of, following), _key(of + 1, 0), read.max_messages),
            ):
                following = row[0] % _OFFSETS + 1
                yield following - 1, row
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            end = following + read.max_messages
            log_damage(self.path, str(error), subscription=of, offsets=f"{following} to {end - 1}")
            for offset in range(following, end):
                yield offset, self._row(_key(of, offset))

    def _row(self, key: int) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._file.execute("SELECT * FROM entries WHERE key = ?", (key,)).fetchone()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return None
        return row

    def shrink(self) -> bool:
        """Give back some free space, if that is most of the file; return whether there is more of it."""
        if not self._is_sparse():
            return False
        self._file.executescript(f"PRAGMA incremental_vacuum({_STEP})")  # `execute` would stop after a page
        if self._is_sparse():
            return True
        self._file.execute("PRAGMA wal_checkpoint(PASSIVE)")  # cuts the file
        return False

    def _is_sparse(self) -> bool:
        (pages,) = self._file.execute("PRAGMA page_count").fetchone()
        (free,) = self._file.execute("PRAGMA freelist_count").fetchone()
        return bool(free > _SPARE + (pages - free))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _perform(self, kind: type[Write], group: Sequence[Write]) -> None:
        """Perform operations of one kind."""
        many = self._file.executemany
        if kind is Append:
            self._append([each.entry for each in group if isinstance(each, Append)])
        elif kind is Discard:
            spans = [each for each in group if isinstance(each, Discard)]
            keys = ((_key(of, first), _key(of, end)) for of, first, end in spans)
            many("DELETE FROM entries WHERE key >= ? AND key < ?", keys)
        elif kind is SaveWindow:
            many("REPLACE INTO windows VALUES (?, ?, ?)", [each for each in group if isinstance(each, SaveWindow)])
        elif kind is DropWindow:
            many("DELETE FROM windows WHERE publisher = ?", group)
        elif kind is SaveHome:
            many("REPLACE INTO homes VALUES (?, ?)", [each for each in group if isinstance(each, SaveHome)])
        elif kind is DropHome:
            many("DELETE FROM homes WHERE owner = ?", group)
        elif kind is SaveSubscription:
            saved = [each.saved for each in group if isinstance(each, SaveSubscription)]
            definitions = ((each.id, msgspec.msgpack.encode(each)) for each in saved)
            many("REPLACE INTO subscriptions VALUES (?, ?)", definitions)
            many("INSERT OR IGNORE INTO progress VALUES (?, 1, 0, ?)", ((each.id, _NO_LOSSES) for each in saved))
        elif kind is SaveLosses:
            losses = [each for each in group if isinstance(each, SaveLosses)]
            rows = ((lost, msgspec.msgpack.encode(pending), id) for id, lost, pending in losses)
            many("UPDATE progress SET lost = ?, pending = ? WHERE id = ?", rows)
        else:
            for each in group:
                assert isinstance(each, DropSubscription)
                self._file.execute("DELETE FROM subscriptions WHERE id = ?", each)
                self._file.execute("DELETE FROM progress WHERE id = ?", each)
                self._file.execute(
                    "DELETE FROM entries WHERE key >= ? AND key < ?", (_key(each.id, 0), _key(each.id + 1, 0))
                )

    def _append(self, entries: Sequence[Entry]) -> None:
        rows = ((_key(each.subscription, each.offset), *each[2:]) for each in entries)
        self._file.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", rows)
        following = {each.subscription: each.offset + 1 for each in entries}  # offsets grow
        self._file.executemany(
            "UPDATE progress SET next = ? WHERE id = ?", ((offset, id) for id, offset in following.items())
        )


def _key(subscription: int, offset: int) -> int:
    return subscription * _OFFSETS + offset


def wall_clock() -> float:
    """Return the time of the wall clock, in seconds."""
    return time.time()
