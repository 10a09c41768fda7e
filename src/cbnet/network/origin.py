"""Origin: which records does this router make of itself, and when?

A record is made when its content has changed, when it is to be renewed, and when a version of an earlier life has been
met that others would take for newer. Two versions are some time apart, so that many changes at once become one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.language.filter import Filter
from cbnet.network.announced import Announced
from cbnet.network.database import Database
from cbnet.network.filters import filter_to_bytes
from cbnet.network.flooding import Flooding, fits
from cbnet.network.frames import MOST_SEQUENCE, Change, Links
from cbnet.network.links import OpenLinks
from cbnet.network.local import Local
from cbnet.network.records import Key, Kind, Version
from cbnet.network.settings import Settings

_EARLIER_LIVES = 1.0  # seconds between two answers to them: another router might have our name


class _Own:
    """The versions of one own record."""

    def __init__(self, settings: Settings, life: int) -> None:
        self._settings = settings
        self.version = Version(0, life)
        self.due = float("-inf")  # when a new version must be made even if nothing has changed
        self.is_behind = False  # whether a version of an earlier life was met that is above
        self._allowed = float("-inf")  # when the next one may be made
        self._overtaken = float("-inf")  # when it last had to go on from an earlier life

    def next(self, now: float) -> Version:
        """Count a new version."""
        self.version = Version(min(self.version.sequence + 1, MOST_SEQUENCE), self.version.life)
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


class Awaited(NamedTuple):
    """A version of this router's predicate that somebody waits for all to have."""

    version: Version
    is_told: bool  # whether those who get it tell; else they must be asked


class Origin:
    """The records of one router's own."""

    def __init__(
        self, local: Local, database: Database, links: OpenLinks, announced: Announced, flooding: Flooding
    ) -> None:
        self._local = local
        self._settings = local.settings
        self._database = database
        self._links = links
        self._announced = announced
        self._flooding = flooding
        self._links_own, self._predicate_own = (_Own(local.settings, local.life) for _ in Kind)
        self._wants_seen = False  # whether somebody waits for all to have the next change
        self._links_seen = -1

    def awaited(self) -> Awaited:
        """Return the version that will have all that is announced by now; its receivers are asked to tell."""
        own = self._predicate_own
        has_changed = bool(self._announced.pending)
        self._wants_seen |= has_changed
        is_coming = has_changed or own.is_behind or not own.version.sequence
        return Awaited(Version(own.version.sequence + is_coming, own.version.life), has_changed)

    def met(self, key: Key, version: Version) -> None:
        """Take note of a record of this router that came from elsewhere."""
        own = self._links_own if key.kind is Kind.LINKS else self._predicate_own
        if own.met(version):
            self._local.counters["records of an earlier life"] += 1

    def make(self) -> None:
        """Make the records that are due, and flood them."""
        now = self._local.now
        if self._links_own.is_time(now, has_changed=self._links.changes != self._links_seen):
            self._make_links(self._links_own, now)
        if self._predicate_own.is_time(now, has_changed=bool(self._announced.pending)):
            self._make_predicate(self._predicate_own, now)

    def _make_links(self, own: _Own, now: float) -> None:
        self._links_seen = self._links.changes
        neighbours = self._links.neighbours()
        version = own.next(now)
        self._database.install_links(self._settings.name, version, now, neighbours, now)
        self._flooding.spread(Links(self._settings.name, version.life, version.sequence, 0, neighbours))

    def _make_predicate(self, own: _Own, now: float) -> None:
        name = self._settings.name
        pending = self._announced.take()
        added, removed = _written(pending.added), _written(pending.removed)
        follows_earlier_life = own.is_behind
        version = own.next(now)
        if follows_earlier_life or not fits(added) or not fits(removed):
            self._database.install_whole(name, version, now, _written(self._announced), now)
            self._flooding.advertise(Key(name, Kind.PREDICATE), version)
            return
        self._database.install_change(name, version, now, added, removed, now)
        wants_seen, self._wants_seen = self._wants_seen, False
        change = Change(name, version.life, version.sequence, 0, list(added), list(removed), wants_seen)
        self._flooding.spread(change)


def _written(filters: Iterable[Filter]) -> dict[bytes, Filter]:
    return {filter_to_bytes(filter): filter for filter in filters}
