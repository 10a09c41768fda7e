"""Link-state database: the newest link record of each router.

A record is installed only if it is newer than the current one, and expires when its owner has not renewed it for a
lifetime. An owner never originates two records with the same version. If a forged record has the version of a genuine
one, all routers prefer the same one of the two until the owner learns of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

import msgspec

from cbnet.network.link.counters import Event
from cbnet.network.linkstate.records import RecordVersion, entry_of, version_of
from cbnet.network.protocol.fields import MAX_ROUTERS
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry

_NO_NEIGHBOURS: Mapping[str, LinkField] = MappingProxyType({})
_encoder = msgspec.msgpack.Encoder(order="deterministic")


class UpdateOutcome(Enum):
    """The outcome of installing a record, which is also the event to count."""

    INSTALLED = Event.RECORDS_INSTALLED
    STALE = Event.RECORDS_STALE  # stale, a duplicate, expired, or beyond the limit of routers


@dataclass(frozen=True)
class _Stored:
    record: LinkRecord
    born: float  # time of origin, by the clock of this router


class Database:
    """The link records of all routers, as known to one router."""

    def __init__(self, lifetime: float) -> None:
        """Create a database; `lifetime` is in seconds."""
        self.topology = 0  # changes of incarnations and links so far
        self.changed = float("-inf")  # time of the last one
        self._lifetime = lifetime
        self._stored: dict[str, _Stored] = {}

    # --- lookup

    def record(self, owner: str, now: float) -> LinkRecord | None:
        """Return a router's record, with its current age."""
        stored = self._stored.get(owner)
        return None if stored is None else msgspec.structs.replace(stored.record, age=self.age(owner, now))

    def version(self, owner: str) -> RecordVersion | None:
        """Return the current version of a router's record."""
        stored = self._stored.get(owner)
        return None if stored is None else version_of(stored.record)

    def age(self, owner: str, now: float) -> int:
        """Return the age of a router's record, in milliseconds."""
        return max(0, round((now - self._stored[owner].born) * 1000))

    def incarnation(self, owner: str) -> int | None:
        """Return the incarnation of a router."""
        stored = self._stored.get(owner)
        return None if stored is None else stored.record.incarnation

    def changes(self, owner: str) -> int:
        """Return how often a router's links have changed in its current incarnation; 0 for an unknown router."""
        stored = self._stored.get(owner)
        return 0 if stored is None else stored.record.changes

    def neighbours(self, owner: str) -> Mapping[str, LinkField]:
        """Return the links of a router, by neighbour."""
        stored = self._stored.get(owner)
        return _NO_NEIGHBOURS if stored is None else stored.record.neighbours

    def gateway_path(self, owner: str) -> tuple[str, ...]:
        """Return a gateway's path from the root of the gateway tree; empty for other routers."""
        stored = self._stored.get(owner)
        return () if stored is None else tuple(stored.record.path)

    def lacks(self, owner: str, version: RecordVersion) -> bool:
        """Return whether a version is newer than the current one."""
        present = self.version(owner)
        return present is None or version.is_newer(present)

    def contradicts(self, record: LinkRecord) -> bool:
        """Return whether a record has the current version but different content: one of the two is forged."""
        stored = self._stored.get(record.owner)
        if stored is None or version_of(record) != version_of(stored.record):
            return False
        return not is_same_content(record, stored.record)

    def routers(self) -> list[str]:
        """Return the routers that have a record."""
        return sorted(self._stored)

    def entries(self) -> Iterator[RecordEntry]:
        """Yield an entry for each record."""
        for owner, stored in self._stored.items():
            yield entry_of(owner, version_of(stored.record))

    def __len__(self) -> int:
        return len(self._stored)

    # --- changes

    def install(self, record: LinkRecord, now: float) -> UpdateOutcome:
        """Install a record if it is newer."""
        born = now - record.age / 1000
        if not self._is_newer(record) or now - born > self._lifetime:
            return UpdateOutcome.STALE
        before = self._stored.get(record.owner)
        self._stored[record.owner] = _Stored(record, born)
        if (
            before is None
            or before.record.incarnation != record.incarnation
            or not is_same_content(before.record, record)
        ):
            self._change(now)
        return UpdateOutcome.INSTALLED

    def expire(self, now: float) -> list[str]:
        """Remove expired records; return their owners."""
        expired = [owner for owner, stored in self._stored.items() if now - stored.born > self._lifetime]
        for owner in expired:
            del self._stored[owner]
            self._change(now)
        return expired

    def _change(self, now: float) -> None:
        self.topology += 1
        self.changed = now

    def _is_newer(self, record: LinkRecord) -> bool:
        stored = self._stored.get(record.owner)
        if stored is None:
            return len(self._stored) < MAX_ROUTERS
        if self.contradicts(record):
            return _content(record) > _content(stored.record)
        return version_of(record).is_newer(version_of(stored.record))


def is_same_content(one: LinkRecord, other: LinkRecord) -> bool:
    """Return whether two records of a router differ at most in version and age."""
    return (one.changes, one.neighbours, one.path) == (other.changes, other.neighbours, other.path)


def _content(record: LinkRecord) -> bytes:
    return _encoder.encode((record.changes, record.neighbours, record.path))
