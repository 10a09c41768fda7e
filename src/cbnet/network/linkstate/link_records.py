"""Link records: the links that each router announces, and the sources from which others accept a record.

Every router adds to the age of a record that it receives. Otherwise a record about to expire could circulate for ever:
a router that has just expired it would accept it as new.

Unless records must be signed, a router accepts those of a neighbour only from that neighbour, which sends them over all
its links: a record forged by a third router does not separate two neighbours. A newer version held by a third router is
remembered:

    the owner is notified        it supersedes a forged version; a genuine one is already on its way
    the owner stops answering    the record is requested from the routers that have it
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.flooding import Flooding, RecordRequests
from cbnet.network.linkstate.records import OwnRecord, RecordVersion, version_of
from cbnet.network.logs import log
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordRequest

_MAX_STEP = 1_000  # versions of a record that a router may have missed
_SUPERSEDE_INTERVAL = 0.25  # seconds
_SETTLING = 5.0  # seconds after the start in which several records of earlier incarnations may be received


class OwnLinks(OwnRecord):
    """The own link record of one router.

    A new version is originated when the links have changed, when a renewal is due, and when another router has a
    version that this one did not originate. Versions are spaced in time, so that many simultaneous changes become one.

    A version of another incarnation is usually this router's own, from before its restart. Otherwise another router has
    its name, or a neighbour has forged the record: this router supersedes it at once, and logs a warning.
    """

    def __init__(self, context: RouterContext, links: LinkTable) -> None:
        super().__init__(context, links, _SUPERSEDE_INTERVAL)
        self.changes = 0  # of the content, in this incarnation
        self._content: tuple[Mapping[str, LinkField], tuple[str, ...]] | None = None  # of the last record
        self._originated: tuple[int, tuple[str, ...]] = -1, ()  # state at the last record
        self._due = float("-inf")  # time of the next renewal
        self._allowed = float("-inf")  # earliest time of the next version
        self._has_superseded = False

    @property
    def is_current(self) -> bool:
        """Whether the record is up to date."""
        return (self._links.changes, self._context.gateway_path) == self._originated

    @property
    def is_due(self) -> bool:
        """Whether a new version is due."""
        if self._above is not None:
            return self.must_supersede
        now = self._context.now
        return (not self.is_current or now >= self._due) and now >= self._allowed

    def originate(self) -> LinkRecord:
        """Return a new version."""
        now, settings = self._context.now, self._context.settings
        content = neighbours, path = self._links.neighbours(), self._context.gateway_path
        self._originated = self._links.changes, path
        self.changes += content != self._content
        self._content = content
        sequence, incarnation = self._advance()
        self._due, self._allowed = now + settings.refresh, now + settings.spacing
        record = LinkRecord(
            owner=settings.name,
            incarnation=incarnation,
            sequence=sequence,
            changes=self.changes,
            age=0,
            neighbours=neighbours,
            path=list(path),
        )
        return self._sign(record)

    def renew(self) -> None:
        """Originate a new version soon: the key has changed."""
        self._due = float("-inf")

    def _note_foreign(self, neighbour: str, version: RecordVersion) -> None:
        """Log a foreign version: the first one after the start may be of an earlier incarnation of this router."""
        if version.incarnation == self._context.incarnation:
            self._content = None  # a forged record may have the same number of changes: this router adds one
        name, now = self._context.name, self._context.now
        is_first, self._has_superseded = not self._has_superseded, True
        is_expected = now < _SETTLING or (is_first and now < self._context.settings.lifetime)
        if is_expected and version.incarnation != self._context.incarnation:
            log(logging.INFO, "superseded", name=name, neighbour=neighbour, incarnation=version.incarnation)
            return
        reason = f"another router is named {name!r}, or a record of this one was forged; rename one of them, or find it"
        self._context.warn(
            "foreign record", name=name, neighbour=neighbour, incarnation=version.incarnation, reason=reason
        )


class LinkRecords(Flooding[LinkRecord]):
    """The flooding of link records."""

    kind = "links"

    def __init__(self, context: RouterContext, links: LinkTable, database: Database, own: OwnLinks) -> None:
        super().__init__(context, links, database, own, RecordRequests(context.settings.retry))
        self._database = database
        self._own_links = own
        # Records of neighbours that, according to others, no longer have a link to this router; they are probed.
        self.unconfirmed: dict[str, tuple[int, LinkRecord]] = {}
        self._is_synchronised = False

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has ever had all records that its neighbours, at least one, had announced."""
        if not self._is_synchronised:
            self._is_synchronised = bool(self._links.routers()) and self.has_all_of_neighbours
        return self._is_synchronised

    def originate(self) -> None:
        """Originate and flood a new version of the own record, if one is due."""
        if self._own_links.is_due:
            record = self._own_links.originate()
            self._database.install(record, self._context.now)
            self.flood(record)

    def request_missing(self) -> None:
        """Request missing records, after installing those of neighbours that no longer answer."""
        for owner in [owner for owner in self.unconfirmed if not self._links.answering(owner)]:
            self._install(*self.unconfirmed[owner])
        super().request_missing()

    def check(self) -> None:
        """Remove expired records, and request them from the neighbours: forged records may have aged one too soon."""
        super().check()
        expired = self._database.expire(self._context.now)
        self._context.counters[Event.RECORDS_EXPIRED] += len(expired)
        if expired:
            self._context.outbox.send_all(self._links.routers(), RecordRequest(self.kind, expired))

    def _receive(self, link: int, record: LinkRecord) -> None:
        if self._is_own(record):
            self._supersede(link, record)
        elif self._links.name(link) != record.owner and self._owner_links(record.owner):
            self._keep_in_mind(link, record)
        else:
            self._install(link, self._with_age(record))

    def _install(self, link: int, record: LinkRecord) -> None:
        self.unconfirmed.pop(record.owner, None)
        super()._install(link, record)

    def _owner_links(self, owner: str) -> Collection[int]:
        return () if self._signatures.are_required else self._links.answering(owner)

    def _keep_in_mind(self, link: int, record: LinkRecord) -> None:
        """Handle a second-hand record of a neighbour."""
        self._context.counters[Event.RECORDS_SECOND_HAND] += 1
        if self._database.lacks(record.owner, version_of(record)):
            self._requests.add(link, record.owner, version_of(record))
            if self._has_left(record):
                self._links.probe(record.owner)
                self.unconfirmed[record.owner] = link, self._with_age(record)
        elif self._database.contradicts(record):  # the version alone is not news to the owner
            self._context.outbox.send_all(self._links.answering(record.owner), record)

    def _has_left(self, record: LinkRecord) -> bool:
        """Return whether a neighbour seems to have noticed the end of its links to this router before this router did.

        Its record closely follows the current one; a forged one need not, and must wait until the neighbour is silent.
        """
        present = self._database.version(record.owner)
        if (
            present is None
            or record.incarnation != present.incarnation
            or present.steps_to(version_of(record)) > _MAX_STEP
        ):
            return False
        back = record.neighbours.get(self._context.name)
        return back is None or not self._links.has_session(record.owner, back.sessions)

    def _with_age(self, record: LinkRecord) -> LinkRecord:
        """Return a record with the age that one link adds: a thousandth of the lifetime."""
        return replace(record, age=record.age + max(1, round(self._context.settings.lifetime)))
