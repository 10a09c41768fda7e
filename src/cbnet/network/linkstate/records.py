"""Link-state records: owners, kinds and versions.

The owner numbers its versions. As it starts from 1 again after a restart, a version also has the owner's life, a random
number drawn at its start:

    (sequence, life)    compared in this order

An owner that receives a version above its own, of an earlier life, continues counting from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from cbnet.network.protocol.frames import FilterChange, FilterRecord, LinkRecord, RecordEntry

FIRST_SEQUENCE = 1


class RecordKind(IntEnum):
    """The content of a record."""

    LINKS = 0
    PREDICATE = 1  # of the subscriptions of its clients
    OFFERS = 2  # of its clients


FILTER_KINDS = (RecordKind.PREDICATE, RecordKind.OFFERS)  # kinds that hold filters, and are handled alike


class Version(NamedTuple):
    """The version of a record; larger is newer."""

    sequence: int
    life: int


class Key(NamedTuple):
    """Owner and kind of a record; a router keeps the newest version of each key."""

    owner: str
    kind: RecordKind


@dataclass
class Record:
    """Version and time of a record, without its content."""

    version: Version
    born: float  # time of origin, by the clock of this router


def version_of(record: LinkRecord | FilterRecord | FilterChange | RecordEntry) -> Version:
    """Return the version of a record frame, or of an entry of a summary."""
    return Version(record.sequence, record.life)


def key_of(record: FilterRecord | FilterChange | RecordEntry) -> Key:
    """Return the key of a filter record, or of an entry of a summary."""
    return Key(record.owner, RecordKind(record.kind))


def entry_of(key: Key, version: Version) -> RecordEntry:
    """Return the entry of a summary for a record."""
    return RecordEntry(key.owner, key.kind, version.life, version.sequence)
