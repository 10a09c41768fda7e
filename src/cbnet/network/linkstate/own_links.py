"""Origination of this router's own link record.

A new version is originated when the links have changed, when a renewal is due, and when another router has a version
that this one did not originate. Versions are spaced in time, so that many simultaneous changes become one.

A version of another incarnation is usually this router's own, from before its restart. Otherwise another router has its
name, or a neighbour has forged the record: this router supersedes it at once, and logs a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.flooding import Flooding
from cbnet.network.linkstate.records import RecordVersion, version_of
from cbnet.network.logs import log
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry

_SUPERSEDE_INTERVAL = 0.25  # seconds between versions that supersede others: another router might have our name
_SETTLING = 5.0  # seconds after the start in which several records of earlier incarnations may be received


class OwnLinks:
    """The own link record of one router."""

    def __init__(self, context: RouterContext, database: Database, links: LinkTable, flooding: Flooding) -> None:
        self._context = context
        self._settings = context.settings
        self._database = database
        self._links = links
        self._flooding = flooding
        self.version = RecordVersion(0, context.incarnation)  # of the last record
        self.changes = 0  # of the content, in this incarnation
        self._content: tuple[Mapping[str, LinkField], tuple[str, ...]] | None = None  # of the last record
        self._originated: tuple[int, tuple[str, ...]] = -1, ()  # state at the last record
        self._due = float("-inf")  # time of the next renewal
        self._allowed = float("-inf")  # earliest time of the next version
        self._above: RecordVersion | None = None  # a foreign version to supersede
        self._superseded = float("-inf")  # time of the last version that superseded one
        self._has_superseded = False

    @property
    def is_current(self) -> bool:
        """Whether the record is up to date."""
        return (self._links.changes, self._context.gateway_path) == self._originated

    def supersede(self, link: int, record: LinkRecord | RecordEntry) -> None:
        """Handle a record of this router from a neighbour: supersede it if this router did not originate it."""
        version, present = version_of(record), self._above or self.version
        if version.is_newer(present):
            self._above = version
        elif isinstance(record, LinkRecord) and self._database.contradicts(record):
            self._above = present
        else:
            return
        self._context.counters[Event.RECORDS_SUPERSEDED] += 1
        if version.incarnation == self._context.incarnation:
            self._content = None  # a forged record may have the same number of changes: this router adds one
        self._report(link, version)

    def originate(self) -> None:
        """Originate and flood a new version, if one is due."""
        now = self._context.now
        if self._above is not None:
            if now >= self._superseded + _SUPERSEDE_INTERVAL:
                self._superseded = now
                if self.version.is_far_behind(self._above):
                    self.version = self.version.leap()
                else:
                    self.version, self._above = self._above, None
                self._originate(now)
        elif (not self.is_current or now >= self._due) and now >= self._allowed:
            self._originate(now)

    def _originate(self, now: float) -> None:
        content = self._links.neighbours(), self._context.gateway_path
        self._originated = self._links.changes, self._context.gateway_path
        self.changes += content != self._content
        self._content = neighbours, path = content
        self.version = self.version.next(self._context.incarnation)
        self._due, self._allowed = now + self._settings.refresh, now + self._settings.spacing
        record = LinkRecord(
            owner=self._settings.name,
            incarnation=self.version.incarnation,
            sequence=self.version.sequence,
            changes=self.changes,
            age=0,
            neighbours=neighbours,
            path=list(path),
        )
        self._database.install(record, now)
        self._flooding.flood(record)

    def _report(self, link: int, version: RecordVersion) -> None:
        """Log a foreign record: the first one after the start may be of an earlier incarnation of this router."""
        name, neighbour, now = self._context.name, self._links.name(link), self._context.now
        is_first, self._has_superseded = not self._has_superseded, True
        is_expected = now < _SETTLING or (is_first and now < self._settings.lifetime)
        if is_expected and version.incarnation != self._context.incarnation:
            log(logging.INFO, "superseded", name=name, neighbour=neighbour, incarnation=version.incarnation)
            return
        reason = f"another router is named {name!r}, or a record of this one was forged; rename one of them, or find it"
        self._context.warn(
            "foreign record", name=name, neighbour=neighbour, incarnation=version.incarnation, reason=reason
        )
