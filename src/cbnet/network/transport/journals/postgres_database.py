"""Database of PostgreSQL with the journal of a home: the server, the schema, and the values.

    schema cbnet_HOME     the tables of a journal, as in SQLite
        version           of the schema, and the network that the home belongs to
        lease             one row: the router that holds the home, and until when

A transaction that was committed must not be lost, whatever fails: so the server syncs (`fsync`), writes whole pages
after a checkpoint (`full_page_writes`), and answers a commit once it is synced (`synchronous_commit`). All this is
checked on each connection, as another server may have taken the place of the one before.

All values are in binary form:

    integer   int8: a statement is prepared once, not for each size of integer
    text      bytea: a name may have the character U+0000, which `text` does not allow
    column    an array of the values of many rows: a statement for each row takes router and server four times as long

An array:

    dimensions   nulls   type   length   lower bound   then for each element: its size, and its bytes
    1            0       int4   int4     1
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import psycopg
from psycopg import errors, sql
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8BinaryDumper

from cbnet.errors import InputError
from cbnet.network.transport.journals.journal_place import DatabaseUri, JournalOwner
from cbnet.network.transport.journals.journal_tables import SCHEMA, JournalDamageError, columns, with_checksum

_OLDEST: Final = 14  # version of PostgreSQL
_IN_FILE: Final = "in the configuration file of the server"
_REQUIRED: Final = {  # setting: values that are allowed, and where to set it
    "fsync": (("on",), _IN_FILE),
    "full_page_writes": (("on",), _IN_FILE),
    "synchronous_commit": (("on", "remote_apply"), "for the server, or by ALTER ROLE … SET for the role of the router"),
}
# A server that is gone is noticed within seconds. Of several hosts, the one that can be written is used.
_CONNECTION: Final = {
    "connect_timeout": "5",
    "keepalives_idle": "2",
    "keepalives_interval": "1",
    "keepalives_count": "3",
    "tcp_user_timeout": "5000",
    "target_session_attrs": "read-write",
}

Connection: TypeAlias = psycopg.Connection[TupleRow]

logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # it logs, and then raises, that a connection was lost


class UnfitServerError(psycopg.OperationalError):
    """A server that must not be used for a journal, or not for this one."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.hint = hint


def connect(database: DatabaseUri, application: str) -> Connection:
    """Connect to a server that keeps what it has committed; raise a `psycopg.Error` if there is none."""
    try:
        given: dict[str, Any] = conninfo_to_dict(database.uri)
    except psycopg.ProgrammingError as error:
        raise InputError(f"journal: {str(error).strip()}", hint="write postgresql://USER@HOST:PORT/DATABASE") from None
    connection = psycopg.connect(
        **{**_CONNECTION, **given}, client_encoding="UTF8", application_name=application, autocommit=True
    )
    try:
        _check_server(connection)
    except BaseException:
        connection.close()
        raise
    _register(connection.adapters)
    return connection


def _check_server(connection: Connection) -> None:
    """Raise `UnfitServerError` if a server is too old, or may lose what it has committed."""
    version = connection.info.server_version // 10_000
    if version < _OLDEST:
        raise UnfitServerError(f"the server is PostgreSQL {version}", f"use PostgreSQL {_OLDEST} or newer")
    for name, (allowed, where) in _REQUIRED.items():
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        assert row is not None
        if row[0] not in allowed:
            problem = f"{name} is {row[0]}, so the server may lose what it has confirmed"
            raise UnfitServerError(problem, f"set {name} = on {where}")


# --- schema

_VERSION: Final = 1
_MAX_NAME: Final = 63  # bytes of a name in PostgreSQL
_OWN: Final = (
    "CREATE TABLE version (number bigint, network bytea)",
    "CREATE TABLE lease (epoch bigint, holder bytea, transactions bigint, expires timestamptz, pid bigint)",
)


def schema_name(home: str) -> str:
    """Return the name of the schema of a home."""
    name = f"cbnet_{home}"
    if len(name.encode()) > _MAX_NAME:
        hint = f"use a name of at most {_MAX_NAME - len('cbnet_')} bytes"
        raise InputError(f"PostgreSQL has no name for the journal of the home {home!r}", hint=hint)
    return name


def use_schema(connection: Connection, journal: JournalOwner) -> None:
    """Let statements of a connection use the schema of a home, which is created if it does not exist."""
    name = schema_name(journal.home)
    connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(name)))
    found = _tables(connection, name)
    if not found:
        try:
            _create(connection, name, journal)
        except errors.InsufficientPrivilege as error:
            hint = f"let the role create schemas in the database, or create the schema {name} for it"
            raise UnfitServerError(_first_line(error), hint) from None
        found = _tables(connection, name)
    _check_schema(connection, found, journal)


def _create(connection: Connection, name: str, journal: JournalOwner) -> None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(convert_from(%b, 'UTF8'), 0))", (name,))
        if _tables(connection, name):
            return  # another router was faster
        existing = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = convert_from(%b, 'UTF8')", (name,))
        if existing.fetchone() is None:  # IF NOT EXISTS would require the right to create it
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        for statement in (*map(_translated, SCHEMA), *_OWN):
            connection.execute(statement.encode())
        meta = with_checksum("meta", journal.home, secrets.randbits(62))
        connection.execute("INSERT INTO meta VALUES (%b, %b, %b)", meta)
        connection.execute("INSERT INTO version VALUES (%b, %b)", (_VERSION, journal.network))
        connection.execute("INSERT INTO lease VALUES (0, '', 0, '-infinity', 0)")


def _translated(statement: str) -> str:
    """Return a statement of SQLite that creates a table as PostgreSQL has it."""
    translated = re.sub("INTEGER|TEXT|BLOB|REAL", lambda kind: type_name(kind[0]), statement)
    return translated.removesuffix(" WITHOUT ROWID")


def _tables(connection: Connection, name: str) -> dict[str, list[str]]:
    """Return the tables of a schema, each with its columns and their types."""
    found: dict[str, list[str]] = {}
    query = """
        SELECT table_name::text, column_name || ' ' || data_type FROM information_schema.columns
        WHERE table_schema = convert_from(%b, 'UTF8') ORDER BY ordinal_position"""
    for table, column in connection.execute(query, (name,)):
        found.setdefault(table, []).append(column)
    return found


def _check_schema(connection: Connection, found: dict[str, list[str]], journal: JournalOwner) -> None:
    """Raise an error if a schema is not that of the home's journal."""
    rows = connection.execute("SELECT number, network FROM version").fetchall() if "version" in found else []
    if len(rows) != 1:
        raise JournalDamageError("it has other tables")
    version, network = rows[0]
    if version != _VERSION:
        text = f"the journal has version {version}; this cbnet uses version {_VERSION}"
        raise UnfitServerError(text, "use the cbnet that made it, or another home")
    own = network.decode(errors="replace")
    if own != journal.network:
        text = f"the journal of the home {journal.home} belongs to the network {own}, not {journal.network}"
        raise UnfitServerError(text, "use another database, or another name for the home")
    tables = {
        name: [f"{column} {type_name(kind)}" for column, kind in columns(name).items()]
        for name in (statement.split()[2] for statement in SCHEMA)
    }
    if {
        name: each for name, each in found.items() if name not in ("version", "lease")
    } != tables or "lease" not in found:
        raise JournalDamageError("it has other tables")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


# --- values

_HEAD: Final = Struct(">5i")


class _Kind(NamedTuple):
    """A type of a column."""

    name: str
    oid: int
    form: str = ""  # of numbers


_BYTES: Final = _Kind("bytea", 17)
_KINDS: Final = {
    "INTEGER": _Kind("bigint", 20, ">i8"),
    "REAL": _Kind("double precision", 701, ">f8"),
    "BLOB": _BYTES,
    "TEXT": _BYTES,
}


def type_name(kind: str) -> str:
    """Return the type of a column, by that in `journal_tables`."""
    return _KINDS[kind].name


class ColumnArray:
    """The values of a column of some rows. A statement must cast it to an array of the type."""

    def __init__(self, kind: str, values: Sequence[Any]) -> None:
        own = _KINDS[kind]
        head = _HEAD.pack(1, 0, own.oid, len(values), 1)
        if own.form:
            numbers = np.empty(len(values), dtype=[("size", ">i4"), ("value", own.form)])
            numbers["size"], numbers["value"] = 8, values
            self.data = head + numbers.tobytes()
        else:
            encoded = (each.encode() if isinstance(each, str) else each for each in values)
            self.data = head + b"".join([part for each in encoded for part in (len(each).to_bytes(4), each)])


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: ColumnArray) -> bytes:
        return obj.data


class _TextDumper(Dumper):
    format = Format.BINARY
    oid = _BYTES.oid

    def dump(self, obj: str) -> bytes:
        return obj.encode()


def _register(adapters: AdaptersMap) -> None:
    """Let a connection send values in these forms."""
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(ColumnArray, _ArrayDumper)
