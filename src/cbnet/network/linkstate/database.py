"""Link-state database: the newest record of each owner and kind.

A record is installed only if it is newer than the present one. A change of a predicate or of offers is installed only
onto the version it was made from. A record expires when its owner has not renewed it for a lifetime. Predicates and
offers are kept alike, and apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.node_predicates import EncodedFilters, NodePredicates
from cbnet.network.link.counters import Event
from cbnet.network.linkstate.records import FIRST_SEQUENCE, Key, Record, RecordKind, Version, entry_of
from cbnet.network.protocol.fields import MAX_ROUTERS
from cbnet.network.protocol.frames import RecordEntry


class UpdateOutcome(Enum):
    """The outcome of installing a record, which is also the event to count."""

    INSTALLED = Event.RECORDS_INSTALLED
    STALE = Event.RECORDS_STALE  # stale, a duplicate, expired, or beyond the limit of routers
    WITHOUT_BASE = Event.RECORDS_WITHOUT_BASE  # a change to a version that is not in the database


class Database:
    """The records of all routers, as one router knows them."""

    def __init__(self, lifetime: float, initial: InitialPredicates | None = None) -> None:
        """Create a database; `lifetime` is in seconds."""
        self.predicates = NodePredicates(initial)
        self.offers = NodePredicates()
        self.filters = {RecordKind.PREDICATE: self.predicates, RecordKind.OFFERS: self.offers}
        self.topology = 0  # changes of links so far
        self.changed = float("-inf")  # time of the last one
        self._lifetime = lifetime
        self._records: dict[Key, Record] = {}
        self._counts = dict.fromkeys(RecordKind, 0)
        self._neighbours: dict[str, Mapping[str, int]] = {}
        self._gateway_paths: dict[str, tuple[str, ...]] = {}
        for owner, life in initial.lives.items() if initial is not None else ():
            self._put(Key(owner, RecordKind.PREDICATE), Version(FIRST_SEQUENCE, life), 0.0)

    # --- lookup

    def version(self, key: Key) -> Version | None:
        """Return the present version of a record."""
        record = self._records.get(key)
        return None if record is None else record.version

    def age(self, key: Key, now: float) -> int:
        """Return the age of a record, in milliseconds."""
        return max(0, round((now - self._records[key].born) * 1000))

    def neighbours(self, owner: str) -> Mapping[str, int]:
        """Return the neighbours in a router's link record, with the lengths of the links."""
        return self._neighbours.get(owner, {})

    def gateway_path(self, owner: str) -> tuple[str, ...]:
        """Return a gateway's path from the root of the gateway tree; empty for other routers."""
        return self._gateway_paths.get(owner, ())

    def lacks(self, key: Key, version: Version) -> bool:
        """Return whether a version is newer than the present one."""
        present = self.version(key)
        return present is None or version > present

    def routers(self) -> list[str]:
        """Return the routers that have a link record."""
        return sorted(self._neighbours)

    def entries(self) -> Iterator[RecordEntry]:
        """Yield an entry for each record."""
        for key, record in self._records.items():
            yield entry_of(key, record.version)

    def __len__(self) -> int:
        return len(self._records)

    # --- changes

    def install_links(
        self,
        owner: str,
        version: Version,
        born: float,
        neighbours: Mapping[str, int],
        now: float,
        path: Sequence[str] = (),
    ) -> UpdateOutcome:
        """Install a link record."""
        if not self._is_newer(Key(owner, RecordKind.LINKS), version, born, now):
            return UpdateOutcome.STALE
        self._put(Key(owner, RecordKind.LINKS), version, born)
        self._gateway_paths[owner] = tuple(path)
        if self._neighbours.get(owner) != neighbours:
            self._neighbours[owner] = dict(neighbours)
            self._change(now)
        return UpdateOutcome.INSTALLED

    def install_whole(
        self,
        owner: str,
        version: Version,
        born: float,
        filters: EncodedFilters,
        now: float,
        kind: RecordKind = RecordKind.PREDICATE,
    ) -> UpdateOutcome:
        """Install the whole predicate, or offers, of a node."""
        key = Key(owner, kind)
        if not self._is_newer(key, version, born, now):
            return UpdateOutcome.STALE
        self._put(key, version, born)
        self.filters[kind].replace(owner, filters)
        return UpdateOutcome.INSTALLED

    def install_change(
        self,
        owner: str,
        version: Version,
        born: float,
        added: EncodedFilters,
        removed: EncodedFilters,
        now: float,
        kind: RecordKind = RecordKind.PREDICATE,
    ) -> UpdateOutcome:
        """Install a change of the predicate, or offers, of a node."""
        key = Key(owner, kind)
        if not self._is_newer(key, version, born, now):
            return UpdateOutcome.STALE
        base = Version(version.sequence - 1, version.life) if version.sequence > 1 else None
        if self.version(key) != base or not self.filters[kind].has(owner, removed):
            return UpdateOutcome.WITHOUT_BASE
        self._put(key, version, born)
        self.filters[kind].change(owner, added, removed)
        return UpdateOutcome.INSTALLED

    def expire(self, now: float) -> list[Key]:
        """Remove expired records; return their keys."""
        expired = [key for key, record in self._records.items() if now - record.born > self._lifetime]
        for key in expired:
            del self._records[key]
            self._counts[key.kind] -= 1
            if key.kind is RecordKind.LINKS:
                del self._neighbours[key.owner], self._gateway_paths[key.owner]
                self._change(now)
            else:
                self.filters[key.kind].forget(key.owner)
        return expired

    def _change(self, now: float) -> None:
        self.topology += 1
        self.changed = now

    def _put(self, key: Key, version: Version, born: float) -> None:
        self._counts[key.kind] += key not in self._records
        self._records[key] = Record(version, born)

    def _is_newer(self, key: Key, version: Version, born: float, now: float) -> bool:
        if key not in self._records and self._counts[key.kind] >= MAX_ROUTERS:
            return False
        return self.lacks(key, version) and now - born <= self._lifetime
