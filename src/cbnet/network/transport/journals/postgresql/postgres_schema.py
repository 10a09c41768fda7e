"""Schema of a home's journal in a database of PostgreSQL.

schema cbnet_HOME     the tables of a journal, as in SQLite
    version           of the schema, and the network that the home belongs to
    lease             one row: the router that holds the home, and until when
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from psycopg import errors, sql

from cbnet.errors import InputError
from cbnet.network.transport.journals.journal_place import JournalOwner
from cbnet.network.transport.journals.journal_tables import SCHEMA, JournalDamageError, columns, with_checksum
from cbnet.network.transport.journals.postgresql.postgres_server import Connection, UnfitServerError
from cbnet.network.transport.journals.postgresql.postgres_values import type_name

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
    _check(connection, found, journal)


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


def _check(connection: Connection, found: dict[str, list[str]], journal: JournalOwner) -> None:
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
