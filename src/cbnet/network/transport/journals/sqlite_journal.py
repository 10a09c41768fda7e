"""Journal of a router in a SQLite file.

In WAL mode with `synchronous = FULL`, a commit appends to the log file and syncs it once, however many operations the
transaction has; a torn write at its end fails the checksum and is ignored when the file is opened. One process opens
the file, exclusively.

Each row has a checksum. When the file is opened, SQLite checks the structure that holds the rows, which takes a sixth
of the time of reading them. A damaged message is not returned when it is read, and counts as lost.

If the disk is full, a reserve is released (`DiskReserve`), and the journal reports a shortage, until there is room.

Pages of removed messages are reused. When they are most of the file, `shrink` releases them, some at a time: SQLite
moves the last pages into free ones, and truncates the file at the next checkpoint.

A journal that is synced at intervals commits without syncing the log file, and syncs it a second later: a router that
is killed loses nothing by it, one whose machine fails the last second.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Final

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import Entry, JournalSize, Read, ReadResult, RecoveredState, Write
from cbnet.network.logs import log
from cbnet.network.transport.journals.disk_reserve import DiskReserve
from cbnet.network.transport.journals.journal_backup import Backup, backup_path, copy_journal
from cbnet.network.transport.journals.journal_conversion import OLD_SCHEMA, OLD_VERSION, convert
from cbnet.network.transport.journals.journal_tables import (
    INSERT,
    SCHEMA,
    JournalDamageError,
    Row,
    changes,
    columns,
    log_damage,
    owner,
    recover,
    stored_entry,
    with_checksum,
)

FILE: Final = "journal.sqlite"
RESERVE_FILE: Final = "journal.reserve"
_REMEDY: Final = "restore the journal from a backup, or move its folder away: the messages in it are lost then"
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_ERROR)
_VERSION = 5
_FULL: Final = "the disk is full"
_REFILL: Final = 1.0  # seconds between attempts
_INTERVAL: Final = 1.0  # seconds between syncs, if not each transaction is synced
_SPARE = 1_024  # free pages of 4 KiB kept for new messages, in addition to as many as there are pages in use
_STEP = 256  # pages released at a time: about 2 ms
_PRAGMAS = (
    "locking_mode = EXCLUSIVE",
    "auto_vacuum = INCREMENTAL",  # takes effect only before the first table, and before WAL mode
    "journal_mode = WAL",
    "synchronous = FULL",
    f"journal_size_limit = {1 << 24}",  # of the log file, after a large transaction
    "cell_size_check = ON",  # detects more damage
)
_TOGETHER = 64  # messages that are added by one statement
_INSERT_TOGETHER: Final = INSERT + f", ({', '.join('?' * len(columns('log')))})" * (_TOGETHER - 1)
_MAX_VALUE = 1 << 26  # bytes; a longer value is damaged


class IntervalSync:
    """The transactions of a journal that are not synced yet, if it answers before they are."""

    def __init__(self, path: Path, *, is_needed: bool) -> None:
        """Initialise; path: of the database. is_needed: False if SQLite syncs each transaction."""
        self._path = path.with_name(f"{path.name}-wal")
        self._is_needed = is_needed
        self._since = 0.0  # time of the first transaction that is not synced
        self.is_due = False  # whether there is one

    def committed(self) -> None:
        """Record that a transaction was committed."""
        if self._is_needed and not self.is_due:
            self.is_due, self._since = True, monotonic()

    def sync(self) -> None:
        """Sync the transactions if the first one is a second old; raise a `sqlite3.Error` if that fails."""
        if not self.is_due or monotonic() < self._since + _INTERVAL:
            return
        try:
            file = os.open(self._path, os.O_RDONLY)  # closing it releases no lock: SQLite has none on this file
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise sqlite3.OperationalError(f"cannot sync: {error.strerror}") from None
        self.is_due = False


class SqliteJournal:
    """The file of a journal. Use it in one thread at a time."""

    errors = sqlite3.Error
    is_held = True

    def __init__(
        self, folder: Path, router: str, reserve: DiskReserve | None = None, *, is_synced: bool = True
    ) -> None:  # fmt: skip
        """Open the journal of a router in a folder, or create it; is_synced: each transaction, else at intervals."""
        self.path = folder / FILE
        self._sync = IntervalSync(self.path, is_needed=not is_synced)
        self._pragmas = _PRAGMAS if is_synced else (*_PRAGMAS, "synchronous = NORMAL")
        self._reserve = reserve or DiskReserve(folder / RESERVE_FILE)
        self.place = {"file": str(self.path)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use the journal: {error.strerror}", file=str(folder)) from None
        with self._opening():
            self._file = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            try:
                self._open(router)
            except BaseException:
                self._file.close()  # and release its lock
                raise
        self._reserve.fill()

    @property
    def renewal(self) -> float | None:
        """Seconds after which the reserve is to be filled again, if it was released, or the file to be synced."""
        return None if self._reserve.is_whole and not self._sync.is_due else _REFILL

    @property
    def shortage(self) -> str:
        """Why no more messages should be stored; empty: they can."""
        return "" if self._reserve.is_whole else _FULL

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Convert errors on opening into an `InputError` with a remedy: the router cannot start."""
        try:
            yield
        except JournalDamageError as damage:
            raise _damage_error(self.path, str(damage)) from None
        except UnicodeDecodeError:  # from the text of an error
            raise _damage_error(self.path, "the definition of a table cannot be read") from None
        except sqlite3.Error as error:
            if _is_damage(error):
                raise _damage_error(self.path, str(error)) from None
            hint = "stop the other router that uses it" if "locked" in str(error) else "check the folder and the disk"
            raise InputError(f"cannot open the journal: {error}", hint=hint, file=str(self.path)) from None

    def _open(self, router: str) -> None:
        self._file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        self._file.text_factory = _text
        for pragma in self._pragmas:
            self._file.execute(f"PRAGMA {pragma}")
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._create(router)
            return
        if version not in (_VERSION, OLD_VERSION):
            hint = f"use the cbnet that made it, or {_REMEDY}"
            text = f"the journal has version {version}; this cbnet uses version {_VERSION}"
            raise InputError(text, hint=hint, file=str(self.path))
        with self._transaction():
            pass  # takes the lock
        self._check(SCHEMA if version == _VERSION else OLD_SCHEMA)
        name, _ = owner(self._file.execute)
        if name != router:
            hint = "give each router a folder of its own"
            raise InputError(f"the journal belongs to router {name}, not {router}", hint=hint, file=str(self.path))
        if version == OLD_VERSION:
            self._convert()

    def _convert(self) -> None:
        """Convert a journal of an older version in one transaction; if that fails, it is left as it is."""
        log(logging.INFO, "journal converting", file=str(self.path), bytes=self.path.stat().st_size)
        try:
            with self._transaction():
                converted = convert(self._file)
                self._file.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            if _is_damage(error):
                raise
            hint = "it is left as it is; it needs as much free space on its disk as it takes now"
            raise InputError(f"cannot convert the journal: {error}", hint=hint, file=str(self.path)) from None
        log(logging.INFO, "journal converted", file=str(self.path), **converted._asdict())

    def _create(self, router: str) -> None:
        with self._transaction():
            for statement in (*SCHEMA, f"PRAGMA user_version = {_VERSION}"):
                self._file.execute(statement)
            self._identify(router)

    def _identify(self, home: str) -> None:
        """Save the home of the journal, and a new id."""
        self._file.execute("INSERT INTO meta VALUES (?, ?, ?)", with_checksum("meta", home, secrets.randbits(62)))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Perform statements in one transaction, or none of them."""
        with self._file:  # commits, or rolls back
            self._file.execute("BEGIN IMMEDIATE")
            yield

    def _check(self, schema: Sequence[str]) -> None:
        """Raise `JournalDamageError` if the tables are not those of a journal, or rows may be missing."""
        if [each for (each,) in self._file.execute("SELECT sql FROM sqlite_schema ORDER BY rowid")] != [*schema]:
            raise JournalDamageError("it has other tables")
        (found,) = self._file.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise JournalDamageError(found.removeprefix("*** in database main ***\n"))

    def recover(self) -> RecoveredState:
        """Return the recovered state; raise an `InputError` if the journal is damaged."""
        with self._opening():
            return recover(self._file.execute)

    def perform(self, operations: Sequence[Write]) -> None:
        """Perform operations in one transaction, synced to disk on return; raise a `sqlite3.Error` if it fails."""
        try:
            self._perform(operations)
        except sqlite3.Error as error:
            if not _is_full(error) or not self._reserve.release():
                raise
            log(logging.ERROR, "journal short of space", **self.place, reason=_FULL, hint="free some space")
            self._perform(operations)

    def _perform(self, operations: Iterable[Write]) -> None:
        with self._transaction():
            for statement, rows in changes(operations):
                if statement == INSERT:
                    rows = self._insert_together(rows)
                self._file.executemany(statement, rows)
        self._sync.committed()

    def _insert_together(self, rows: list[Row]) -> list[Row]:
        """Add messages, many with one statement; return the rest.

        SQLite releases the interpreter for each statement. A thread that always has something to do gives it back only
        after 5 ms, so one statement for each message would make the journal of a busy router slower.
        """
        end = len(rows) - len(rows) % _TOGETHER
        for start in range(0, end, _TOGETHER):
            self._file.execute(_INSERT_TOGETHER, [*chain.from_iterable(rows[start : start + _TOGETHER])])
        return rows[end:]

    def read(self, read: Read) -> ReadResult:
        """Return the undamaged messages of a read; raise a `sqlite3.Error` if the disk fails temporarily."""
        try:
            rows = {row[0]: row for first, last in _stretches(read.positions) for row in self._rows(first, last)}
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            found = [*map(self._entry, read.positions)]
        else:
            found = [self._checked(rows[each]) for each in read.positions if each in rows]
        return ReadResult(read.id, [entry for entry in found if entry is not None])

    def _rows(self, first: int, last: int) -> Iterator[Row]:
        """Yield the messages at the positions `first` to `last`."""
        return self._file.execute("SELECT * FROM log WHERE position BETWEEN ? AND ?", (first, last))

    def _checked(self, row: Row) -> Entry | None:
        """Return a stored message; None if it is damaged."""
        entry = stored_entry(row)
        if entry is None:
            log_damage(self.place, "wrong checksum", row[0])
        return entry

    def _entry(self, position: int) -> Entry | None:
        """Return a message; None if it is damaged, or was removed."""
        try:
            row = next(self._rows(position, position), None)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            log_damage(self.place, str(error), position)
            return None
        return None if row is None else self._checked(row)

    def renew(self) -> None:
        """Fill the reserve again, if there is room on the disk; sync what was committed a second ago."""
        self._sync.sync()
        if not self._reserve.is_whole and self._reserve.refill():
            log(logging.WARNING, "journal has space again", **self.place)

    def shrink(self) -> bool:
        """Release some free space if it is most of the file; return whether more can be released."""
        if not self._is_sparse():
            return False
        self._file.executescript(f"PRAGMA incremental_vacuum({_STEP})")  # `execute` would stop after a page
        if self._is_sparse():
            return True
        self._file.execute("PRAGMA wal_checkpoint(PASSIVE)")  # truncates the file
        return False

    def _is_sparse(self) -> bool:
        (pages,) = self._file.execute("PRAGMA page_count").fetchone()
        (free,) = self._file.execute("PRAGMA freelist_count").fetchone()
        return bool(free > _SPARE + (pages - free))

    def size(self) -> JournalSize:
        """Return the space of the journal; or raise a `sqlite3.Error`."""
        (page,) = self._file.execute("PRAGMA page_size").fetchone()
        (free,) = self._file.execute("PRAGMA freelist_count").fetchone()
        used = 0
        for path in (self.path, self.path.with_name(f"{FILE}-wal"), self.path.with_name(RESERVE_FILE)):
            with suppress(OSError):
                used += path.stat().st_size
        return JournalSize(used, free * page, shutil.disk_usage(self.path.parent).free)

    def rows(self) -> Iterator[Row]:
        """Yield all messages as they are stored; or raise a `sqlite3.Error`."""
        return iter(self._file.execute("SELECT * FROM log"))

    def restart(self, operations: Iterable[Write]) -> None:
        """Give the journal a new id, and perform operations, in one transaction: it is another one from now on."""
        home, _ = owner(self._file.execute)
        with self._transaction():
            self._file.execute("DELETE FROM meta")
            self._identify(home)
            for statement, rows in changes(operations):
                self._file.executemany(statement, rows)

    def back_up(self, name: str, between: Callable[[], None]) -> Backup:
        """Copy the journal, and call a function between the steps; the copy is synced by `finish`."""
        path = backup_path(self.path, name)
        part = path.with_suffix(".part")
        copy_journal(self._file, part, between)
        return Backup(part, path)

    def explain(self, error: Exception) -> tuple[str, str]:
        """Return why the journal cannot be written, and the remedy."""
        assert isinstance(error, sqlite3.Error)
        if _is_damage(error):
            return f"its file is damaged: {error}", f"stop the router; {_REMEDY}"
        if _is_full(error):
            return _FULL, "free some space"
        return str(error), "check the disk"

    def is_answer(self, _: Exception) -> bool:
        """Return True: the disk has failed."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _stretches(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each stretch of consecutive positions."""
    first = last = -1
    for position in positions:
        if position != last + 1:
            if last >= 0:
                yield first, last
            first = position
        last = position
    if last >= 0:
        yield first, last


def _is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the content of the file is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE  # the rest is the extended code


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL


def _damage_error(path: Path, what: str) -> InputError:
    """Return the error of a router that cannot start because its journal is damaged."""
    return InputError(f"the journal is damaged: {what}", hint=_REMEDY, file=str(path))


def _text(data: bytes) -> str:
    """Decode a text of the file; a damaged one has a wrong checksum."""
    return data.decode(errors="replace")
