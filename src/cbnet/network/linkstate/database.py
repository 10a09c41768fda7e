"""Link-state database: the newest link record of each router.

A record expires when its owner has not renewed it for a lifetime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from cbnet.network.linkstate.records import InstallOutcome, RecordTable, entry_of, version_of
from cbnet.network.protocol.fields import MAX_ROUTERS
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry

_UNKNOWN: Final = LinkRecord(owner="", incarnation=0, sequence=0, changes=0, age=0, neighbours={}, path=[])


class Database(RecordTable[LinkRecord]):
    """The link records of all routers, as known to one router."""

    def __init__(self, lifetime: float) -> None:
        """Create a database; `lifetime` is in seconds."""
        super().__init__()
        self.topology = 0  # changes of incarnations and links so far
        self.changed = float("-inf")  # time of the last one
        self._lifetime = lifetime
        self._born: dict[str, float] = {}  # times of origin, by the clock of this router

    # --- lookup

    def record(self, owner: str, now: float) -> LinkRecord | None:
        """Return a router's record, with its current age."""
        record = self._records.get(owner)
        return None if record is None else replace(record, age=self.age(owner, now))

    def age(self, owner: str, now: float) -> int:
        """Return the age of a router's record, in milliseconds."""
        return max(0, round((now - self._born[owner]) * 1000))

    def incarnation(self, owner: str) -> int | None:
        """Return the incarnation of a router; None for an unknown one."""
        return None if owner not in self._records else self._records[owner].incarnation

    def changes(self, owner: str) -> int:
        """Return how often a router's links have changed in its current incarnation; 0 for an unknown router."""
        return self._records.get(owner, _UNKNOWN).changes

    def neighbours(self, owner: str) -> Mapping[str, LinkField]:
        """Return the links of a router, by neighbour."""
        return self._records.get(owner, _UNKNOWN).neighbours

    def gateway_path(self, owner: str) -> tuple[str, ...]:
        """Return a gateway's path from the root of the gateway tree; empty for other routers."""
        return tuple(self._records.get(owner, _UNKNOWN).path)

    def routers(self) -> list[str]:
        """Return the routers that have a record."""
        return sorted(self._records)

    @property
    def room(self) -> int:
        """The number of further routers for which there is room."""
        return MAX_ROUTERS - len(self._records)

    # --- changes

    def install(self, record: LinkRecord, now: float) -> InstallOutcome:
        """Install a record if it is newer, has not expired, and there is room for it."""
        return InstallOutcome.STALE if record.age / 1000 > self._lifetime else super().install(record, now)

    def set(self, record: LinkRecord, now: float) -> None:
        """Add or replace a record."""
        before = self._records.get(record.owner)
        self._records[record.owner], self._born[record.owner] = record, now - record.age / 1000
        if before is None or before.incarnation != record.incarnation or before.content != record.content:
            self._change(now)

    def expire(self, now: float) -> list[RecordEntry]:
        """Remove expired records; return their entries."""
        expired = [owner for owner, born in self._born.items() if now - born > self._lifetime]
        entries = [entry_of(owner, version_of(self._records[owner])) for owner in expired]
        for owner in expired:
            self.remove(owner, now)
        return entries

    def remove(self, owner: str, now: float) -> None:
        """Remove the record of an owner."""
        del self._records[owner], self._born[owner]
        self._change(now)

    def _change(self, now: float) -> None:
        self.topology += 1
        self.changed = now
