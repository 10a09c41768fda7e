"""Damage of a journal: how it is recognised, and reported.

Each row ends with a checksum of its table and its other columns; SQLite finds damage to what holds the rows together. A
disk that fails for now, such as one that is full or not reachable, is no damage: what is on it may come back.
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
    """What is damaged in a journal."""


def checksum(row: Row) -> int:
    """Return the checksum of a message, or of a table's name and a row."""
    return crc32(_encode(row))


def with_checksum(table: str, *row: Any) -> Row:
    """Return a row as it is stored in a table."""
    return *row, checksum((table, *row))


def without_checksum(table: str, *stored: Any) -> Row | None:
    """Return a row as it was before it was stored; None if it is damaged, or belongs to another table."""
    row = stored[:-1]
    return row if checksum((table, *row)) == stored[-1] else None


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the content of the file is wrong."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE  # the rest of the code is a detail


def damage_error(path: Path, what: str) -> InputError:
    """Return the error of a router that cannot start with its journal."""
    return InputError(f"the journal is damaged: {what}", hint=REMEDY, file=str(path))


def log_damage(path: Path, what: str, **members: Any) -> None:
    """Log damage that was found while a router runs."""
    log(logging.ERROR, "journal damaged", file=str(path), reason=what, **members)
