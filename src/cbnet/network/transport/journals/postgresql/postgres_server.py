"""Connections of a journal to a PostgreSQL server, and what is required of the server.

A transaction that was committed must not be lost, whatever fails: so the server syncs (`fsync`), writes whole pages
after a checkpoint (`full_page_writes`), and answers a commit once it is synced (`synchronous_commit`). All this is
checked on each connection, as another server may have taken the place of the one before.
"""

from __future__ import annotations

import logging
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from cbnet.errors import InputError
from cbnet.network.transport.journals.journal_place import DatabaseUri
from cbnet.network.transport.journals.postgresql import postgres_values

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
        _check(connection)
    except BaseException:
        connection.close()
        raise
    postgres_values.register(connection.adapters)
    return connection


def _check(connection: Connection) -> None:
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
