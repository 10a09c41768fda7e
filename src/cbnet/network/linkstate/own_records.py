"""OwnRecords: which records does this router make of itself, and when?

A record is made when its content has changed, when it is to be renewed, and when a version of an earlier life has been
met that others would take for newer. Two versions are some time apart, so that many changes at once become one. Who
has never offered anything tells nothing of its offers.
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

_EARLIER_LIVES = 1.0  # seconds between two answers to them: another router might have our name


class _Own:
    """The versions of one own record."""

    def __init__(self, settings: Settings, life: int, due: float) -> None:
        self._settings = settings
        self.version = Version(0, life)
        self.due = due  # when a new version must be made even if nothing has changed
        self.wants_ack = False  # whether somebody waits for all to have the next change
        self.is_behind = False  # whether a version of an earlier life was met that is above
        self._allowed = float("-inf")  # when the next one may be made
        self._overtaken = float("-inf")  # when it last had to go on from an earlier life

    def next(self, now: float) -> Version:
        """Count a new version."""
        self.version = Version(min(self.version.sequence + 1, MAX_SEQUENCE), self.version.life)
        if self.is_behind:
            self._overtaken, self.is_behind = now, False
        self.due = now + self._settings.refresh
        self._allowed = now + self._settings.spacing
        return self.version

    def met(self, version: Version) -> bool:
        """Go on from a version of an earlier life, if that is above; return whether it is."""
        if version <= self.version:
            return False
        self.version = Version(version.sequence, self.version.life)
        self.is_behind = True
        self.due = self._overtaken + _EARLIER_LIVES
        return True

    def is_time(self, now: float, *, has_changed: bool) -> bool:
        """Return whether a new version must be made, and may."""
        return (has_changed or now >= self.due) and now >= self._allowed


class PendingVersion(NamedTuple):
    """A version of this router's predicate, or offers, that somebody waits for all to have."""

    kind: RecordKind
    version: Version
    is_told: bool  # whether those who get it tell; else they must be asked


class OwnRecords:
    """The records of one router's own."""

    def __init__(
        self,
        context: RouterContext,
        database: Database,
        links: LinkTable,
        announced: Mapping[RecordKind, Announcement],
        flooding: Flooding,
    ) -> None:
        """Take what is announced of each kind of record that holds filters."""
        self._context = context
        self._settings = context.settings
        self._database = database
        self._links = links
        self._announced = announced
        self._flooding = flooding
        self._own = {
            kind: _Own(context.settings, context.life, float("inf" if kind is RecordKind.OFFERS else "-inf"))
            for kind in RecordKind
        }
        self._links_seen: tuple[int, tuple[str, ...]] = -1, ()

    def loaded(self) -> None:
        """Take it that the first version of the predicate is made, and known to all."""
        self._own[RecordKind.PREDICATE].next(self._context.now)

    def awaited(self, kind: RecordKind) -> PendingVersion:
        """Return the version that will have all that is announced by now; its receivers are asked to tell."""
        own = self._own[kind]
        has_changed = bool(self._announced[kind].pending)
        own.wants_ack |= has_changed
        is_first = not own.version.sequence
        if is_first:
            own.due = float("-inf")
        is_coming = has_changed or own.is_behind or is_first
        return PendingVersion(kind, Version(own.version.sequence + is_coming, own.version.life), has_changed)

    @property
    def has_told_links(self) -> bool:
        """Whether the record of links says how they are now."""
        return (self._links.changes, self._context.gateway_path) == self._links_seen

    def renewed(self) -> Version:
        """Return the next version of the predicate, which is made even if nothing changes; its receivers tell."""
        own = self._own[RecordKind.PREDICATE]
        own.due = float("-inf")
        own.wants_ack = True
        return Version(own.version.sequence + 1, own.version.life)

    def met(self, key: Key, version: Version) -> None:
        """Take note of a record of this router that came from elsewhere."""
        if self._own[key.kind].met(version):
            self._context.counters[Event.RECORDS_SUPERSEDED] += 1

    def make(self) -> None:
        """Make the records that are due, and flood them."""
        now = self._context.now
        if self._own[RecordKind.LINKS].is_time(now, has_changed=not self.has_told_links):
            self._make_links(self._own[RecordKind.LINKS], now)
        for kind in FILTER_KINDS:
            if self._own[kind].is_time(now, has_changed=bool(self._announced[kind].pending)):
                self._make_filters(kind, self._own[kind], now)

    def _make_links(self, own: _Own, now: float) -> None:
        path = self._context.gateway_path
        self._links_seen = self._links.changes, path
        neighbours = self._links.neighbours()
        version = own.next(now)
        self._database.install_links(self._settings.name, version, now, neighbours, now, path)
        self._flooding.spread(
            LinkRecord(
                owner=self._settings.name,
                life=version.life,
                sequence=version.sequence,
                age=0,
                neighbours=neighbours,
                path=list(path),
            )
        )

    def _make_filters(self, kind: RecordKind, own: _Own, now: float) -> None:
        name, announced = self._settings.name, self._announced[kind]
        pending = announced.take()
        added, removed = _written(pending.added), _written(pending.removed)
        follows_earlier_life = own.is_behind
        version = own.next(now)
        if follows_earlier_life or not fits(added) or not fits(removed):
            self._database.install_whole(name, version, now, _written(announced), now, kind)
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
        self._flooding.spread(change)


def _written(filters: Iterable[Filter]) -> dict[bytes, Filter]:
    return {filter_to_bytes(filter): filter for filter in filters}
