"""Conversion of a journal of cbnet 0.2 (version 4), where a message was stored once for each subscription.

    offsets   id of the subscription, next offset
    windows   publisher, floor, bitmap of the messages stored above it
    entries   key = subscription · 2⁴⁰ + offset, message              all other tables are the same

    subscription 1    A   B   .   D         log    A        B        C      D
    subscription 2    .   B   C   .         sets   {1}      {1, 2}   {2}    {1}

The log has the messages by time, each subscription's in the order of its offsets. Equal messages of several
subscriptions become one. All of it is one transaction, so a journal is converted, or left as it is.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import isfinite
from typing import Final, NamedTuple
from zlib import crc32

from cbnet.network.durable.home_log.journal import Entry, SaveCursor, SaveSet, SaveWindow, Stretch
from cbnet.network.transport.journals.journal_tables import (
    INSERT,
    SCHEMA,
    JournalDamageError,
    Row,
    changes,
    checked_set,
    checksum,
    entry_row,
    table_rows,
)

OLD_VERSION: Final = 4
OLD_SCHEMA: Final = (
    *SCHEMA[:2],
    "CREATE TABLE offsets (id INTEGER PRIMARY KEY, next INTEGER, checksum INTEGER)",
    SCHEMA[2],
    "CREATE TABLE entries (key INTEGER PRIMARY KEY, time REAL, source TEXT, life INTEGER, number INTEGER, "
    "content BLOB, checksum INTEGER)",
    "CREATE TABLE windows (publisher INTEGER PRIMARY KEY, floor INTEGER, seen BLOB, checksum INTEGER)",
    SCHEMA[3],
)
_OFFSETS: Final = 1 << 40  # of one subscription


class _OldEntry(NamedTuple):
    """A message of a subscription."""

    subscription: int
    offset: int
    time: float
    source: str
    life: int
    number: int
    content: bytes


class Converted(NamedTuple):
    """What was converted."""

    entries: int  # before
    messages: int  # after


def convert(file: sqlite3.Connection) -> Converted:
    """Convert an undamaged journal, in a transaction of the caller; raise `JournalDamageError` if it is damaged."""
    windows = [SaveWindow(*row) for row in table_rows(file.execute, "windows")]
    file.execute("DROP TABLE windows")
    for statement in SCHEMA[4:]:
        file.execute(statement)
    following: dict[int, int] = dict(table_rows(file.execute, "offsets"))
    known = {id for id, _ in table_rows(file.execute, "subscriptions")}
    entries = _OldEntries(file, known, following)
    sets: dict[tuple[int, ...], int] = {}
    positions = {id: array("q") for id in known}  # of the messages of each subscription

    def rows() -> Iterator[Row]:
        for position, message in enumerate(entries.messages(), start=1):
            ids = tuple(key // _OFFSETS for key in message.keys)
            for id in ids:
                positions[id].append(position)
            yield _row(file, message, position, sets.setdefault(ids, len(sets) + 1))

    messages = file.executemany(INSERT, rows()).rowcount
    saved = (SaveSet(id, members) for members, id in sets.items())
    cursors = (SaveCursor(id, _stretches(entries.offsets[id], positions[id], following[id])) for id in sorted(known))
    for statement, parameters in changes([*saved, *cursors, *windows]):
        file.executemany(statement, parameters)
    file.execute("DROP TABLE entries")
    file.execute("DROP TABLE offsets")
    return Converted(sum(map(len, positions.values())), messages)


class _Message(NamedTuple):
    """A message, and the keys with which it was stored."""

    time: float
    keys: Sequence[int]


class _OldEntries:
    """The entries of all subscriptions, by time."""

    def __init__(self, file: sqlite3.Connection, known: Iterable[int], following: dict[int, int]) -> None:
        self._file = file
        self._keys: list[tuple[float, int]] = []
        self.offsets = {id: array("q") for id in known}  # of the entries of each subscription
        for id in known:
            if id not in following:
                raise JournalDamageError(f"table offsets has no row {id}")
        latest = dict.fromkeys(known, 0.0)  # times of one subscription never run back
        for key, time in file.execute("SELECT key, time FROM entries ORDER BY key"):
            id, offset = divmod(key, _OFFSETS)
            if id not in self.offsets or offset >= following[id]:
                raise JournalDamageError(f"table entries has a row {key} that nobody stored")
            if isinstance(time, float) and isfinite(time):  # else damaged
                latest[id] = max(latest[id], time)
            self.offsets[id].append(offset)
            self._keys.append((latest[id], key))
        self._keys.sort()

    def messages(self) -> Iterator[_Message]:
        """Yield each message once, in an order that agrees with the offsets of all subscriptions."""
        for time, group in groupby(self._keys, lambda each: each[0]):
            keys = [key for _, key in group]
            if len(keys) == 1:
                yield _Message(time, keys)
            else:
                yield from (_Message(time, same) for same in self._united(keys))

    def _united(self, keys: Sequence[int]) -> Iterator[list[int]]:
        """Yield the keys of each message; keys: of one time, in order."""
        queues = [
            deque((self._identity(key), key) for key in of)
            for _, of in groupby(keys, lambda key: key // _OFFSETS)
        ]  # fmt: skip
        left = Counter(identity for queue in queues for identity, _ in queue)
        while queues:
            first = Counter(queue[0][0] for queue in queues)
            # A message is next if it is the first one of each subscription that has it.
            chosen = next((identity for identity, count in first.items() if count == left[identity]), queues[0][0][0])
            yield [queue.popleft()[1] for queue in queues if queue[0][0] == chosen]
            left[chosen] -= first[chosen]
            queues = [queue for queue in queues if queue]

    def _identity(self, key: int) -> tuple[object, ...]:
        """Return what equal messages have in common; a damaged one equals no other."""
        entry = _old_entry(self._file, key)
        return (key,) if entry is None else (*entry[3:6], crc32(entry.content), len(entry.content))


def _old_entry(file: sqlite3.Connection, key: int) -> _OldEntry | None:
    """Return an entry; None if it is damaged."""
    row = file.execute("SELECT * FROM entries WHERE key = ?", (key,)).fetchone()
    entry = _OldEntry(*divmod(key, _OFFSETS), *row[1:-1])
    return entry if checksum(entry) == row[-1] else None


def _row(file: sqlite3.Connection, message: _Message, position: int, set_id: int) -> Row:
    """Return a row of the log; a damaged message stays one, to be reported when it is read."""
    entry = _old_entry(file, message.keys[0])
    if entry is None:
        return position, checked_set(position, set_id), message.time, *[None] * 5
    return entry_row(Entry(position, set_id, message.time, *entry[3:]))


def _stretches(offsets: Sequence[int], positions: Sequence[int], following: int) -> tuple[Stretch, ...]:
    """Return the cursor of a subscription with some messages; following: the next offset."""
    stretches: list[Stretch] = []
    end = 0
    for offset, position in zip(offsets, positions, strict=True):
        if offset != end:
            stretches.append(Stretch(position, offset, 0))
        stretches[-1] = stretches[-1]._replace(messages=offset + 1 - stretches[-1].offset)
        end = offset + 1
    if end == following:
        stretches[-1] = stretches[-1]._replace(messages=0)
    else:
        stretches.append(Stretch(positions[-1] + 1 if positions else 1, following, 0))
    return tuple(stretches)
