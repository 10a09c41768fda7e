"""Records: what does a router tell all others about itself, and which of two versions is newer?

A record has an owner, a kind and a version. The owner counts its versions; since it begins anew when it is started
again, a version also has the number of the owner's life, drawn at random at its start:

    (sequence, life)    compared in this order

An owner that meets a version above its own, from an earlier life, goes on counting from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from cbnet.network.protocol.frames import FilterChange, FilterRecord, LinkRecord, RecordEntry

FIRST = 1  # the sequence number of a first version


class RecordKind(IntEnum):
    """What a record is about."""

    LINKS = 0
    PREDICATE = 1  # what its clients subscribe to
    OFFERS = 2  # what its clients answer requests for


FILTER_KINDS = (RecordKind.PREDICATE, RecordKind.OFFERS)  # those that hold filters: all is the same for both


class Version(NamedTuple):
    """Which of an owner's records of one kind it is: the larger, the newer."""

    sequence: int
    life: int


class Key(NamedTuple):
    """What a record is about: of each key a router keeps the newest version."""

    owner: str
    kind: RecordKind


@dataclass
class Record:
    """A record without its content."""

    version: Version
    born: float  # when its owner made it, by the clock of this router


def version_of(said: LinkRecord | FilterRecord | FilterChange | RecordEntry) -> Version:
    """Return the version that a frame, or an entry of a summary, is about."""
    return Version(said.sequence, said.life)


def key_of(said: FilterRecord | FilterChange | RecordEntry) -> Key:
    """Return what a record of filters, or an entry of a summary, is about."""
    return Key(said.owner, RecordKind(said.kind))


def entry_of(key: Key, version: Version) -> RecordEntry:
    """Return the entry that says that there is this record."""
    return RecordEntry(key.owner, key.kind, version.life, version.sequence)
