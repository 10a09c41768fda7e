"""Detection and reporting of journal damage.

Each row ends with a checksum of its table and its other columns; SQLite detects damage to the structure that holds the
rows. A temporary disk failure, such as a full or unreachable disk, is not damage: its content may become available
again.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import msgspec

from cbnet.errors import InputError
from cbnet.network.logs import log

Row: TypeAlias = tuple[Any, ...]

REMEDY: Final = "restore the journal from a backup, or move its folder away: the messages in it are lost then"
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_ERROR)
_encode = msgspec.msgpack.Encoder().encode


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
