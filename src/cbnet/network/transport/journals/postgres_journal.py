"""Journal of a home in a PostgreSQL database.

    BEGIN, fence, changes, COMMIT      sent at once; the server answers when the transaction is synced

The *fence* is a row of the database with the epoch and the number of transactions. Each transaction checks that the
epoch is still that of this router, and that it is the next one. So a router that has lost its lease can never commit,
and a transaction whose answer was lost is repeated safely: it is refused if it was committed.

A router holds the home by a lease (`lease`), which each transaction renews.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import Entry, Read, ReadResult, RecoveredState, Write
from cbnet.network.transport.journals.journal_backup import Backup
from cbnet.network.transport.journals.journal_place import DatabaseUri, JournalOwner
from cbnet.network.transport.journals.journal_store import FencedError
from cbnet.network.transport.journals.journal_tables import (
    INSERT,
    SCHEMA,
    Change,
    JournalDamageError,
    Row,
    changes,
    columns,
    log_damage,
    owner,
    recover,
    stored_entry,
)
from cbnet.network.transport.journals.leased_journal import LEASE, RENEWAL, Lease
from cbnet.network.transport.journals.postgres_database import (
    ColumnArray,
    Connection,
    UnfitServerError,
    connect,
    type_name,
    use_schema,
)

_TEXTS: Final = {
    name for statement in SCHEMA for name, kind in columns(statement.split()[2]).items() if kind == "TEXT"
}  # columns
_ENDS: Final = f"clock_timestamp() + interval '{LEASE} seconds'"
# Both fail with a division by zero where the router does not hold the lease.
_FENCE: Final = (
    f"WITH held AS (UPDATE lease SET transactions = %b, expires = {_ENDS}, pid = pg_backend_pid() "
    "WHERE epoch = %b AND transactions = %b RETURNING 1) SELECT 1 / count(*) FROM held"
).encode()
_RENEW: Final = (
    f"UPDATE lease SET expires = {_ENDS}, pid = pg_backend_pid() WHERE epoch = %b AND transactions = %b"
).encode()
# A lease that would end much later was made before the clock of the database was set back. A router that is started
# again takes its own lease at once, if its former session is gone.
_ACQUIRE: Final = (
    "WITH free AS (SELECT 1 FROM lease WHERE expires < clock_timestamp() "
    f"OR expires > clock_timestamp() + interval '{2 * LEASE} seconds' "
    "OR (holder = %b AND (pid = pg_backend_pid() OR NOT EXISTS "
    "(SELECT 1 FROM pg_stat_activity WHERE pg_stat_activity.pid = lease.pid))) "
    "FOR UPDATE SKIP LOCKED) "
    f"UPDATE lease SET epoch = epoch + 1, holder = %b, expires = {_ENDS}, pid = pg_backend_pid() FROM free "
    "RETURNING epoch, transactions"
).encode()
# A holder that is suspended, or cut off, after it has sent a part of a transaction locks the lease for as long as the
# server waits for the rest: hours, if its machine is gone. No timeout of PostgreSQL before version 17 ends that.
_END_UNFINISHED: Final = (
    b"SELECT pg_terminate_backend(session.pid) FROM lease JOIN pg_stat_activity AS session ON session.pid = lease.pid "
    b"WHERE expires < clock_timestamp() AND wait_event = 'ClientRead' AND session.pid IN "
    b"(SELECT pid FROM pg_locks WHERE relation = 'lease'::regclass AND mode = 'RowExclusiveLock')"
)


class PostgresJournal:
    """The journal of a home. Use it in one thread at a time."""

    errors = psycopg.Error
    renewal = RENEWAL
    shortage = ""  # a server without space fails

    def __init__(self, database: DatabaseUri, journal: JournalOwner) -> None:
        """Connect, and create the journal if there is none; `acquire` takes the home."""
        self.place = {"journal": str(database), "home": journal.home}
        self.lease = Lease(clock)
        self._database = database
        self._journal = journal
        self._id = 0  # of the journal
        self._epoch = 0
        self._transactions = 0
        self._connection: Connection | None = None
        try:
            self._connected()
        except BaseException as error:
            self._disconnect()
            raise self._explained(error) from None

    def _explained(self, error: BaseException) -> BaseException:
        """Return an error as an `InputError` with the remedy, if a router cannot start because of it."""
        if isinstance(error, JournalDamageError):
            return self._input_error(f"the journal is damaged: {error}", "restore the database from a backup")
        if isinstance(error, psycopg.Error):
            problem, hint = self.explain(error)
            return self._input_error(f"cannot use the journal: {problem}", hint)
        return error

    def _input_error(self, problem: str, hint: str) -> InputError:
        return InputError(problem, hint=hint, file=str(self._database))

    # --- connection

    def _connected(self) -> Connection:
        """Return the connection; a new one if it was lost."""
        if self._connection is None:
            connection = connect(self._database, f"cbnet {self._journal.home}")
            try:
                use_schema(connection, self._journal)
                self._check_same(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _check_same(self, connection: Connection) -> None:
        _, id = owner(lambda statement: _rows(connection, statement))
        if self._id not in (0, id):
            raise FencedError("the database has another journal than before")
        self._id = id

    @contextmanager
    def _using(self) -> Iterator[Connection]:
        """Yield the connection, and handle errors."""
        try:
            yield self._connected()
        except psycopg.Error:
            self._failed()
            raise

    def _failed(self) -> None:
        """Handle an error: end its transaction, or the connection."""
        connection = self._connection
        if connection is None:
            return
        with suppress(psycopg.Error):
            if connection.info.transaction_status in (TransactionStatus.INERROR, TransactionStatus.INTRANS):
                connection.execute(b"ROLLBACK")
            if connection.info.transaction_status is TransactionStatus.IDLE:
                return
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- lease

    @property
    def is_held(self) -> bool:
        """Whether this router may act for the home."""
        return self.lease.is_held

    def is_answer(self, error: Exception) -> bool:
        """Return whether the server cannot write; otherwise it gives no answer, and the lease may end."""
        return isinstance(error, errors.DiskFull | UnfitServerError)

    def acquire(self) -> str | None:
        """Take the home if its lease has ended; otherwise return the router that holds it."""
        with self._using() as connection:
            sent, router = self.lease.clock(), self._journal.router
            row = connection.execute(_ACQUIRE, (router, router)).fetchone()
            if row is None:
                connection.execute(_END_UNFINISHED)
                holder = self.holder()
                return "" if holder == router else holder  # its own former session
            self._epoch, self._transactions = row
            self.lease.renew(sent)
            return None

    def holder(self) -> str:
        """Return the router that holds the home, or held it last."""
        row = self._connected().execute(b"SELECT holder FROM lease").fetchone()
        return "" if row is None else row[0].decode(errors="replace")

    def renew(self) -> None:
        """Renew the lease if that is due; or raise `FencedError`, or a `psycopg.Error`."""
        if self.lease.is_due:
            self._renew(self._transactions)

    def _renew(self, transactions: int) -> None:
        with self._using() as connection:
            sent = clock()
            if connection.execute(_RENEW, (self._epoch, transactions)).rowcount != 1:
                raise self._fenced()
            self.lease.renew(sent)

    def _is_committed(self, number: int) -> bool:
        """Return whether a transaction was committed, though its answer was lost."""
        row = self._connected().execute(
            b"SELECT 1 FROM lease WHERE epoch = %b AND transactions = %b", (self._epoch, number)
        )
        return row.fetchone() is not None

    def _fenced(self) -> FencedError:
        """Return why the fence refuses this router."""
        row = self._connected().execute(b"SELECT epoch, holder FROM lease").fetchone()
        if row is None or row[0] == self._epoch:
            return FencedError("the database lacks transactions that it has confirmed, or has others")
        return FencedError(f"router {row[1].decode(errors='replace')} holds the home {self._journal.home}")

    # --- reading

    def recover(self) -> RecoveredState:
        """Return the recovered state; raise an `InputError` if the journal is damaged."""
        try:
            with connect(self._database, f"cbnet {self._journal.home} recovery") as connection:
                use_schema(connection, self._journal)
                return recover(lambda statement: self._selected(connection, statement))
        except (JournalDamageError, psycopg.Error) as error:
            raise self._explained(error) from None

    def _selected(self, connection: Connection, statement: str) -> Iterator[Row]:
        """Yield rows, and renew the lease meanwhile, over the other connection."""
        for number, row in enumerate(_rows(connection, statement)):
            if number % 1_000 == 0:
                self.renew()
            yield row

    def read(self, read: Read) -> ReadResult:
        """Return the undamaged messages of a read; raise a `psycopg.Error` if the server cannot be reached."""
        with self._using() as connection:
            statement = "SELECT * FROM log WHERE position = ANY(%b::bigint[])"
            rows = _rows(connection, statement, ColumnArray("INTEGER", read.positions))
            by_position = {row[0]: self._entry(row) for row in rows}
        found = map(by_position.get, read.positions)
        return ReadResult(read.id, [entry for entry in found if entry is not None])

    def _entry(self, row: Row) -> Entry | None:
        entry = stored_entry(row)
        if entry is None:
            log_damage(self.place, "wrong checksum", row[0])
        return entry

    # --- writing

    def perform(self, operations: Iterable[Write]) -> None:
        """Perform operations in one transaction; raise `FencedError`, or a `psycopg.Error` if it fails."""
        number = self._transactions + 1
        with self._using() as connection:
            sent = clock()
            try:
                with connection.pipeline(), connection.cursor() as cursor:
                    cursor.execute(b"BEGIN ISOLATION LEVEL READ COMMITTED")
                    cursor.execute(_FENCE, (number, self._epoch, self._transactions))
                    for change in changes(operations):
                        _perform(cursor, change)
                    cursor.execute(b"COMMIT")
            except errors.DivisionByZero:
                self._failed()
                if not self._is_committed(number):
                    raise self._fenced() from None
                self._renew(number)  # and wait until the transaction, too, is where `synchronous_commit` requires it
            else:
                self.lease.renew(sent)
        self._transactions = number

    def shrink(self) -> bool:
        """Return False: the server reuses free space."""
        return False

    def size(self) -> None:
        """Return None: the server has metrics of its own."""

    def back_up(self, *_: object) -> Backup:
        """Raise an `InputError`: the database has backups of its own."""
        hint = "use pg_basebackup or pg_dump for the schema, or continuous archiving"
        raise InputError("the journal is in PostgreSQL, which makes its backups", hint=hint, file=str(self._database))

    def explain(self, error: Exception) -> tuple[str, str]:
        """Return why the journal cannot be used, and the remedy."""
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, UnfitServerError):
            return text, error.hint
        if isinstance(error, errors.DiskFull):
            return "the disk of the server is full", "free some space"
        return text, "check the server, and the address of the database"

    def close(self) -> None:
        """Release the lease, and close the connection."""
        self.lease.end()
        if self._connection is not None:
            with suppress(psycopg.Error):
                statement = b"UPDATE lease SET expires = '-infinity' WHERE epoch = %b"
                self._connection.execute(statement, (self._epoch,))
            self._disconnect()


def clock() -> float:
    """Return seconds since the machine was started, with those for which it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _perform(cursor: psycopg.Cursor[Row], change: Change) -> None:
    """Perform a statement, once for all rows if it adds messages."""
    if change.statement == INSERT:
        kinds = columns("log").values()
        arrays = ", ".join(f"%b::{type_name(kind)}[]" for kind in kinds)
        values = zip(*change.rows, strict=True)
        parameters = [ColumnArray(kind, each) for kind, each in zip(kinds, values, strict=True)]
        cursor.execute(f"INSERT INTO log SELECT * FROM unnest({arrays})".encode(), parameters)
    else:
        cursor.executemany(change.statement.replace("?", "%b").encode(), change.rows)


def _rows(connection: Connection, statement: str, *parameters: object) -> Iterator[Row]:
    """Yield the rows that a statement selects, as SQLite has them."""
    with connection.cursor(binary=True) as cursor:
        cursor.execute(statement.encode(), parameters)
        texts = [index for index, column in enumerate(cursor.description or ()) if column.name in _TEXTS]
        for row in cursor:
            if texts:
                row = tuple(each.decode(errors="replace") if index in texts else each for index, each in enumerate(row))
            yield row
