"""Records that routers flood: their versions, the newest record of each owner, and a router's own record.

The owner numbers its versions. As it may start from 1 again after a restart, a version also has the incarnation of the
router that made it, a random number drawn at its start. Of two versions with the same sequence number the one with the
greater incarnation is newer.

Sequence numbers form a circle: a number is newer than the half of all numbers before it, and the last is followed by 0.
There is thus no highest version: whatever record a router forges in the name of another, the owner can supersede it. If
the numbers ended, or their growth were limited, a forged record at that limit would stay until it expires, or would be
superseded only where an earlier version is known.

    a ──► b ──► c ──► a     three forged versions may each be newer than the one before

Link records like these replace each other at every router, but not for ever: they age with each hop, and expire.

    own ──► own + quarter ──► forged + 1     where the forged version is half the circle ahead of the own one

No version is newer than both of two opposite versions. An owner therefore advances at most a quarter of the circle at a
time: every router then has the intermediate version, or the forged one, when it receives the last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum, auto
from typing import Generic, NamedTuple

import msgspec

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.fields import MAX_SEQUENCE
from cbnet.network.protocol.frames import GroupRecord, HomeAck, HomeRecord, LinkRecord, Record, RecordEntry

_NUMBERS = MAX_SEQUENCE + 1
_HALF = _NUMBERS // 2
_QUARTER = _NUMBERS // 4
_encoder = msgspec.msgpack.Encoder(order="deterministic")


class RecordVersion(NamedTuple):
    """The version of a record. Compare with `is_newer`: sequence numbers form a circle."""

    sequence: int
    incarnation: int

    def is_newer(self, other: RecordVersion) -> bool:
        """Return whether this version replaces another one."""
        ahead = other.steps_to(self)
        if ahead in (0, _HALF):
            return self > other
        return ahead < _HALF

    def next(self, incarnation: int) -> RecordVersion:
        """Return the version after this one, made by an incarnation of a router."""
        return RecordVersion((self.sequence + 1) % _NUMBERS, incarnation)

    def is_far_behind(self, other: RecordVersion) -> bool:
        """Return whether another version is more than a quarter of the circle ahead."""
        return self.steps_to(other) > _QUARTER

    def steps_to(self, other: RecordVersion) -> int:
        """Return the number of versions from this one to another one."""
        return (other.sequence - self.sequence) % _NUMBERS

    def leap(self) -> RecordVersion:
        """Return the version a quarter of the circle ahead."""
        return RecordVersion((self.sequence + _QUARTER) % _NUMBERS, self.incarnation)


def version_of(record: LinkRecord | HomeRecord | GroupRecord | HomeAck | RecordEntry) -> RecordVersion:
    """Return the version of a record, or of the record that a summary entry or an acknowledgement names."""
    return RecordVersion(record.sequence, record.incarnation)


def entry_of(owner: str, version: RecordVersion) -> RecordEntry:
    """Return the entry of a summary for a record."""
    return RecordEntry(owner, version.incarnation, version.sequence)


class InstallOutcome(Enum):
    """The outcome of installing a record."""

    INSTALLED = auto()
    STALE = auto()  # stale, a duplicate, or expired
    NO_ROOM = auto()


class RecordTable(ABC, Generic[Record]):
    """The newest record of each owner.

    An owner never originates two records with the same version. If a forged record has the version of a genuine one,
    all routers prefer the same one of the two until the owner learns of it.
    """

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def get(self, owner: str) -> Record | None:
        """Return an owner's record, as it was received."""
        return self._records.get(owner)

    def record(self, owner: str, now: float) -> Record | None:  # noqa: ARG002  # for records that age
        """Return an owner's record, as it is sent now."""
        return self._records.get(owner)

    def version(self, owner: str) -> RecordVersion | None:
        """Return the current version of an owner's record."""
        record = self._records.get(owner)
        return None if record is None else version_of(record)

    def lacks(self, owner: str, version: RecordVersion) -> bool:
        """Return whether a version is newer than the current one."""
        present = self.version(owner)
        return present is None or version.is_newer(present)

    def contradicts(self, record: Record) -> bool:
        """Return whether a record has the current version but different content: one of the two is forged."""
        present = self._records.get(record.owner)
        if present is None or version_of(record) != version_of(present):
            return False
        return record.content != present.content

    def entries(self) -> list[RecordEntry]:
        """Return an entry for each record."""
        return [entry_of(owner, version_of(record)) for owner, record in self._records.items()]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    @property
    @abstractmethod
    def room(self) -> int:
        """The number of further owners for which there is room."""

    def fits(self, record: Record) -> bool:
        """Return whether there is room for a newer record."""
        return record.owner in self._records or self.room > 0

    @abstractmethod
    def remove(self, owner: str, now: float) -> None:
        """Remove the record of an owner."""

    @abstractmethod
    def set(self, record: Record, now: float) -> object:
        """Add or replace a record."""

    def install(self, record: Record, now: float) -> InstallOutcome:
        """Add or replace a record if it is newer and there is room for it."""
        if self.contradicts(record):
            is_newer = _encoder.encode(record.content) > _encoder.encode(self._records[record.owner].content)
        else:
            is_newer = self.lacks(record.owner, version_of(record))
        if not is_newer:
            return InstallOutcome.STALE
        if not self.fits(record):
            return InstallOutcome.NO_ROOM
        self.set(record, now)
        return InstallOutcome.INSTALLED


class OwnRecord(ABC):
    """A router's own record of one kind, which supersedes the versions that this router did not make."""

    def __init__(
        self, context: RouterContext, links: LinkTable, interval: float, version: RecordVersion | None = None
    ) -> None:
        """Initialise; interval: seconds between versions that supersede others, as another router might have our name.

        Version: that of the last record, if it was saved.
        """
        self._context = context
        self._links = links
        self._interval = interval
        # Of the last record.
        self.version = version or RecordVersion(links.access.signatures.first, context.incarnation)
        self._above: RecordVersion | None = None  # a foreign version to supersede
        self._superseded = float("-inf")  # time of the last version that superseded one

    @property
    def must_supersede(self) -> bool:
        """Whether a foreign version is to be superseded now."""
        return self._above is not None and self._context.now >= self._superseded + self._interval

    def supersede(self, neighbour: str, version: RecordVersion, *, is_forged: bool) -> bool:
        """Handle a version of this record from a neighbour; return whether it has to be superseded.

        If `is_forged`, it has the content of no record of this router.
        """
        newest = self._above or self.version
        if version.is_newer(newest):
            self._above = version
        elif is_forged:
            self._above = newest
        else:
            return False
        self._context.counters[Event.RECORDS_SUPERSEDED] += 1
        self._note_foreign(neighbour, version)
        return True

    @abstractmethod
    def _note_foreign(self, neighbour: str, version: RecordVersion) -> None:
        """Log a foreign version."""

    def _sign(self, record: Record) -> Record:
        return self._links.access.signatures.sign(record)

    def _advance(self) -> RecordVersion:
        """Return a new version, newer than a foreign one unless that is too far ahead."""
        if self._above is not None:
            self._superseded = self._context.now
            if self.version.is_far_behind(self._above):
                self.version = self.version.leap()
            else:
                self.version, self._above = self._above, None
        self.version = self.version.next(self._context.incarnation)
        return self.version
