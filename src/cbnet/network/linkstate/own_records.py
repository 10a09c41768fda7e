"""Origination of this router's own records.

A new version is originated when the content has changed, when a renewal is due, and when another router has a version
of an earlier life that it would take for newer. Two versions are some time apart, so that many changes at once become
one. A router without offers has no offer record until its first offer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cbnet.language.filter import Filter
from cbnet.network.announce.announcement import Announcement
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.links import LinkTable
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.flooding import Flooding, fits
from cbnet.network.linkstate.records import FILTER_KINDS, Key, RecordKind, Version
from cbnet.network.protocol.fields import MAX_SEQUENCE
from cbnet.network.protocol.filter_codec import filter_to_bytes
from cbnet.network.protocol.frames import FilterChange, LinkRecord

_SUPERSEDE_INTERVAL = 1.0  # seconds between versions that supersede others: another router might have our name


class _Own:
    """The versions of one own record."""

    def __init__(self, settings: Settings, life: int, due: float) -> None:
        self._settings = settings
        self.version = Version(0, life)
        self.due = due  # time of the next renewal
        self.wants_ack = False  # whether a client waits for the next change to be acknowledged
        self.is_behind = False  # whether a version of an earlier life is above
        self._allowed = float("-inf")  # earliest time of the next version
        self._overtaken = float("-inf")  # last time an earlier life was superseded

    def next(self, now: float) -> Version:
        """Return a new version."""
        self.version = Version(min(self.version.sequence + 1, MAX_SEQUENCE), self.version.life)
        if self.is_behind:
            self._overtaken, self.is_behind = now, False
        self.due = now + self._settings.refresh
        self._allowed = now + self._settings.spacing
        return self.version

    def supersede(self, version: Version) -> bool:
        """Continue from a version of an earlier life, if that is above; return whether it is."""
        if version <= self.version:
            return False
        self.version = Version(version.sequence, self.version.life)
        self.is_behind = True
        self.due = self._overtaken + _SUPERSEDE_INTERVAL
        return True

    def is_due(self, now: float, *, has_changed: bool) -> bool:
        """Return whether a new version is due and allowed."""
        return (has_changed or now >= self.due) and now >= self._allowed


class PendingVersion(NamedTuple):
    """A version of this router's predicate or offers that a client waits for."""

    kind: RecordKind
    version: Version
    wants_ack: bool  # whether receivers acknowledge it unasked


class OwnRecords:
    """The own records of one router."""

    def __init__(
        self,
        context: RouterContext,
        database: Database,
        links: LinkTable,
        announcements: Mapping[RecordKind, Announcement],
        flooding: Flooding,
    ) -> None:
        self._context = context
        self._settings = context.settings
        self._database = database
        self._links = links
        self._announcements = announcements
        self._flooding = flooding
        self._own = {
            kind: _Own(context.settings, context.life, float("inf" if kind is RecordKind.OFFERS else "-inf"))
            for kind in RecordKind
        }
        self._originated_links: tuple[int, tuple[str, ...]] = -1, ()  # state at the last link record

    def skip_first_predicate(self) -> None:
        """Count the first version of the predicate as originated: all routers have it initially."""
        self._own[RecordKind.PREDICATE].next(self._context.now)

    def next_version(self, kind: RecordKind) -> PendingVersion:
        """Return the version that will hold all present filters; its receivers acknowledge it."""
        own = self._own[kind]
        has_changed = bool(self._announcements[kind].pending)
        own.wants_ack |= has_changed
        is_first = not own.version.sequence
        if is_first:
            own.due = float("-inf")
        is_coming = has_changed or own.is_behind or is_first
        return PendingVersion(kind, Version(own.version.sequence + is_coming, own.version.life), has_changed)

    @property
    def are_links_current(self) -> bool:
        """Whether the link record is up to date."""
        return (self._links.changes, self._context.gateway_path) == self._originated_links

    def renew_predicate(self) -> Version:
        """Force a new version of the predicate, which receivers acknowledge; return it."""
        own = self._own[RecordKind.PREDICATE]
        own.due = float("-inf")
        own.wants_ack = True
        return Version(own.version.sequence + 1, own.version.life)

    def supersede(self, key: Key, version: Version) -> None:
        """Handle an own record received from another router."""
        if self._own[key.kind].supersede(version):
            self._context.counters[Event.RECORDS_SUPERSEDED] += 1

    def originate(self) -> None:
        """Originate and flood the records that are due."""
        now = self._context.now
        if self._own[RecordKind.LINKS].is_due(now, has_changed=not self.are_links_current):
            self._originate_links(self._own[RecordKind.LINKS], now)
        for kind in FILTER_KINDS:
            if self._own[kind].is_due(now, has_changed=bool(self._announcements[kind].pending)):
                self._originate_filters(kind, self._own[kind], now)

    def _originate_links(self, own: _Own, now: float) -> None:
        path = self._context.gateway_path
        self._originated_links = self._links.changes, path
        neighbours = self._links.neighbours()
        version = own.next(now)
        self._database.install_links(self._settings.name, version, now, neighbours, now, path)
        self._flooding.flood(
            LinkRecord(
                owner=self._settings.name,
                life=version.life,
                sequence=version.sequence,
                age=0,
                neighbours=neighbours,
                path=list(path),
            )
        )

    def _originate_filters(self, kind: RecordKind, own: _Own, now: float) -> None:
        name, announcement = self._settings.name, self._announcements[kind]
        pending = announcement.take()
        added, removed = _encode(pending.added), _encode(pending.removed)
        follows_earlier_life = own.is_behind
        version = own.next(now)
        if follows_earlier_life or not fits(added) or not fits(removed):
            self._database.install_whole(name, version, now, _encode(announcement), now, kind)
            self._flooding.advertise(Key(name, kind), version)
            return
        self._database.install_change(name, version, now, added, removed, now, kind)
        wants_ack, own.wants_ack = own.wants_ack, False
        change = FilterChange(
            owner=name,
            life=version.life,
            sequence=version.sequence,
            age=0,
            added=list(added),
            removed=list(removed),
            wants_ack=wants_ack,
            kind=kind,
        )
        self._flooding.flood(change)


def _encode(filters: Iterable[Filter]) -> dict[bytes, Filter]:
    return {filter_to_bytes(filter): filter for filter in filters}
