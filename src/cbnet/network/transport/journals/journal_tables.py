"""Tables of a journal: the changes that each operation makes to them, recovery, and detection of damage.

    log             position, set of subscriptions · 2²⁴ + check, message; one row for each message
    sets            id, members: ids of subscriptions
    subscriptions   id, definition
    cursors         id of the subscription, stretches of messages that it has not acknowledged
    losses          id of the subscription, if it has any: messages lost in total, and losses that no client knows of
    windows         publisher, floor, bitmap of the messages stored above it, and how many subscriptions refused each
    homes           owner, record

Each row ends with a checksum: of its table and its other columns; for a message, of all but its set. The set has a
check of its own, of the position and the set, as it is used without reading the message, and changes. The database
detects damage to the structure that holds the rows. A temporary disk failure, such as a full or unreachable disk, is
not damage: its content may become available again.

At startup everything is checked except the content of messages, whose check takes as long as all the rest: it is
checked when it is read.

The statements are written once, as SQLite has them. PostgreSQL has other names of types, and another mark in place of
`?`; what a statement means is the same in both.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, starmap
from math import isfinite
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from zlib import crc32

import msgspec

from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.cursor import spans
from cbnet.network.logs import log
from cbnet.network.protocol.frames import HomeRecord

Row: TypeAlias = tuple[Any, ...]
Select: TypeAlias = Callable[[str], Iterable[Row]]  # returns the rows that a statement selects
_Decoded = TypeVar("_Decoded")

SCHEMA: Final = (
    "CREATE TABLE meta (router TEXT, id INTEGER, checksum INTEGER)",
    "CREATE TABLE subscriptions (id INTEGER PRIMARY KEY, definition BLOB, checksum INTEGER)",
    "CREATE TABLE losses (id INTEGER PRIMARY KEY, lost INTEGER, pending BLOB, checksum INTEGER)",
    "CREATE TABLE homes (owner TEXT PRIMARY KEY, record BLOB, checksum INTEGER) WITHOUT ROWID",
    "CREATE TABLE windows (publisher INTEGER PRIMARY KEY, floor INTEGER, seen BLOB, refusals BLOB, checksum INTEGER)",
    "CREATE TABLE cursors (id INTEGER PRIMARY KEY, stretches BLOB, checksum INTEGER)",
    "CREATE TABLE sets (id INTEGER PRIMARY KEY, members BLOB, checksum INTEGER)",
    "CREATE TABLE log (position INTEGER PRIMARY KEY, set_id INTEGER, time REAL, source TEXT, incarnation INTEGER, "
    "number INTEGER, content BLOB, checksum INTEGER)",
)
_CHECK: Final = 1 << 24  # of the set of a message
_encode = msgspec.msgpack.Encoder().encode


def columns(table: str) -> dict[str, str]:
    """Return the columns of a table, with their types; the first one is its key."""
    definition = next(each for each in SCHEMA if each.startswith(f"CREATE TABLE {table} "))
    return dict(re.findall(r"[(,] ?(\w+) (INTEGER|TEXT|BLOB|REAL)", definition))


# --- rows and their damage


class JournalDamageError(Exception):
    """A journal is damaged; the text describes the damage."""


def checksum(row: Row) -> int:
    """Return the checksum of a message without its set, or of a table's name and a row."""
    return crc32(_encode(row))


def checked_set(position: int, set_id: int) -> int:
    """Return the set of a message as it is stored."""
    return set_id * _CHECK + crc32(b"%d %d" % (position, set_id)) % _CHECK


def entry_row(entry: journal.Entry) -> Row:
    """Return a message as it is stored."""
    position, set_id, *rest = entry
    return position, checked_set(position, set_id), *rest, checksum((position, *rest))


def stored_entry(row: Row) -> journal.Entry | None:
    """Return a stored message; None if it is damaged."""
    position, stored, *rest, found = row
    return journal.Entry(position, stored // _CHECK, *rest) if checksum((position, *rest)) == found else None


def with_checksum(table: str, *row: Any) -> Row:
    """Return a row as it is stored in a table."""
    return *row, checksum((table, *row))


def log_damage(place: Mapping[str, str], what: str, position: int) -> None:
    """Log a damaged message, found while a router is running; place: of the journal."""
    log(logging.ERROR, "journal damaged", **place, reason=what, position=position)


# --- writing


class Change(NamedTuple):
    """A statement, and its parameters, one row for each time that it is performed."""

    statement: str
    rows: list[Row]


def changes(operations: Iterable[journal.Write]) -> Iterator[Change]:
    """Yield what operations change, in order."""
    for kind, group in groupby(latest(operations), type):
        each: Iterable[Any] = [*group]
        if kind is journal.Append:
            each = chain.from_iterable(append.entries for append in each)
        for statement, row in _STATEMENTS[kind]:
            yield Change(statement, [*map(row, each)])


# Operations that replace earlier ones on the same row of a table.
_REPLACED: Final[Mapping[type[journal.Write], str]] = {
    journal.SaveCursor: "cursors", journal.SaveLosses: "losses",
    journal.SaveWindow: "windows", journal.DropWindow: "windows",
}  # fmt: skip


def latest(operations: Iterable[journal.Write]) -> list[journal.Write]:
    """Return operations without those that a later one replaces: a turn has few, a transaction those of many turns."""
    kept: list[journal.Write] = []
    replaced: set[tuple[str, Any]] = set()
    for each in reversed([*operations]):
        table = _REPLACED.get(type(each))
        if table is not None:
            if (table, each[0]) in replaced:
                continue
            replaced.add((table, each[0]))
        kept.append(each)
    return kept[::-1]


def _saving(table: str, source: str = "") -> str:
    """Return the statement that saves a row, also if there is one with its key; source: of the row, if selected."""
    key, *others = columns(table)
    marks = ", ".join("?" * (1 + len(others)))
    saved = ", ".join(f"{column} = excluded.{column}" for column in others)
    return f"INSERT INTO {table} {source or f'VALUES ({marks})'} ON CONFLICT ({key}) DO UPDATE SET {saved}"


def _loss_row(each: journal.SaveLosses) -> Row:
    id, lost, pending = each
    return *with_checksum("losses", id, lost, _encode(pending)), id


INSERT: Final = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # a message

# By kind of operation: statements, and their parameters.
_STATEMENTS: Final[dict[type[journal.Write], Sequence[tuple[str, Callable[[Any], Row]]]]] = {
    journal.SaveSubscription: [(
        _saving("subscriptions"), lambda each: with_checksum("subscriptions", each.saved.id, _encode(each.saved)),
    )],
    journal.DropSubscription: [
        (f"DELETE FROM {table} WHERE id = ?", tuple) for table in ("subscriptions", "cursors", "losses")
    ],
    journal.SaveCursor: [(
        _saving("cursors"), lambda each: with_checksum("cursors", each.subscription, _encode(each.stretches)),
    )],
    journal.SaveSet: [(_saving("sets"), lambda each: with_checksum("sets", each.id, _encode(each.members)))],
    journal.DropSet: [("DELETE FROM sets WHERE id = ?", tuple)],
    journal.Append: [(INSERT, entry_row)],  # for each message
    journal.Assign: [(
        "UPDATE log SET set_id = ? WHERE position = ?", lambda each: (checked_set(*each), each.position),
    )],
    journal.Discard: [("DELETE FROM log WHERE position >= ? AND position < ?", tuple)],
    journal.SaveLosses: [(
        _saving("losses", "SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = ?)"), _loss_row,
    )],
    journal.SaveWindow: [(_saving("windows"), lambda each: with_checksum("windows", *each))],
    journal.DropWindow: [("DELETE FROM windows WHERE publisher = ?", tuple)],
    journal.SaveHome: [(_saving("homes"), lambda each: with_checksum("homes", *each))],
    journal.DropHome: [("DELETE FROM homes WHERE owner = ?", tuple)],
}  # fmt: skip


# --- recovery


def recover(select: Select) -> journal.RecoveredState:
    """Return the content of a journal; raise `JournalDamageError` if it is damaged."""
    state = journal.RecoveredState(owner(select)[1])
    for id, definition in table_rows(select, "subscriptions"):
        state.subscriptions.append(_decoded(definition, journal.SavedSubscription, "subscriptions", id))
        state.losses[id] = journal.SaveLosses(id)
    for id, lost, pending in table_rows(select, "losses"):
        state.losses[id] = journal.SaveLosses(id, lost, _decoded(pending, tuple[journal.Loss, ...], "losses", id))
    for id, members in table_rows(select, "sets"):
        state.sets[id] = _decoded(members, tuple[int, ...], "sets", id)
    _recover_log(select, state)
    _recover_cursors(select, state)
    for window in starmap(journal.SaveWindow, table_rows(select, "windows")):
        state.windows[window.publisher] = window
    for name, record in table_rows(select, "homes"):
        _decoded(record, HomeRecord, "homes", name)
        state.homes[name] = record
    return state


def owner(select: Select) -> tuple[str, int]:
    """Return the home that a journal belongs to, and the id of the journal."""
    rows = list(table_rows(select, "meta"))
    if len(rows) != 1:
        raise JournalDamageError(f"table meta has {len(rows)} rows")
    home, id = rows[0]
    return home, id


def _recover_log(select: Select, state: journal.RecoveredState) -> None:
    time = 0.0
    for position, stored, size, at in select("SELECT position, set_id, length(content), time FROM log ORDER BY 1"):
        set_id = stored // _CHECK if isinstance(stored, int) else -1
        if set_id not in state.sets or checked_set(position, set_id) != stored:
            raise JournalDamageError(f"row {position} of table log has a damaged set")
        time = at if isinstance(at, float) and isfinite(at) else time  # else damaged: detected when it is read
        state.rows.add(position, set_id, size if isinstance(size, int) else 0, time)


def _recover_cursors(select: Select, state: journal.RecoveredState) -> None:
    """Read the cursors, and check that the log has the messages that they count."""
    for id, stretches in table_rows(select, "cursors"):
        if id not in state.losses:
            raise JournalDamageError(f"table cursors has a row {id} of no subscription")
        state.cursors[id] = journal.SaveCursor(id, _decoded(stretches, tuple[journal.Stretch, ...], "cursors", id))
    for each in state.subscriptions:
        if each.id not in state.cursors:
            raise JournalDamageError(f"table cursors has no row {each.id}")
    for id, cursor in state.cursors.items():
        positions = state.positions(id) if len(cursor.stretches) > 1 else ()
        following = (stretch.position for stretch in cursor.stretches[1:])
        for (_, _, end), limit in zip(spans(cursor, positions), following, strict=False):
            if end > len(positions) or positions[end - 1] >= limit:
                raise JournalDamageError(f"messages of subscription {id} are missing in table log")


def table_rows(select: Select, table: str) -> Iterator[Row]:
    """Yield the rows of a table, in the order of their keys."""
    for *row, found in select(f"SELECT * FROM {table} ORDER BY 1"):
        if checksum((table, *row)) != found:  # damaged, or of another table
            raise JournalDamageError(f"row {row[0]!r} of table {table} has a wrong checksum")
        yield tuple(row)


def _decoded(data: Any, kind: type[_Decoded], table: str, key: Any) -> _Decoded:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise JournalDamageError(f"row {key!r} of table {table} cannot be decoded: {error}") from None
