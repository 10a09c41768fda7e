"""Flooding of link records: every router forwards records that are new to it.

A link preserves the order of its frames and loses none while it is up. It therefore suffices to send a summary of all
records when a link comes up (`RecordSummary`), and only new records from then on; the peer requests the records that it
lacks (`RecordRequest`).

Every router adds to the age of a record that it receives. Otherwise a record about to expire could circulate for ever:
a router that has just expired it would accept it as new.

A router accepts the records of a neighbour only from that neighbour, which sends them over all its links: a record
forged by a third router does not separate two neighbours. A newer version held by a third router is remembered:

    the owner is notified        it supersedes a forged version; a genuine one is already on its way
    the owner stops answering    the record is requested from the routers that have it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.link import Link
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.database import Database, UpdateOutcome
from cbnet.network.linkstate.records import entry_of, version_of
from cbnet.network.linkstate.resynchronisation import RecordRequests
from cbnet.network.protocol.fields import MAX_ENTRIES
from cbnet.network.protocol.frames import LinkRecord, RecordEntry, RecordRequest, RecordSummary

Item = TypeVar("Item")
_MAX_STEP = 1_000  # versions of a record that a router may have missed


class Flooding:
    """The exchange of records with the neighbours."""

    def __init__(self, context: RouterContext, database: Database, links: LinkTable) -> None:
        self._context = context
        self._database = database
        self._links = links
        self._requests = RecordRequests(context.settings.retry)
        # Records of neighbours that, according to others, no longer have a link to this router; they are probed.
        self.unconfirmed: dict[str, tuple[int, LinkRecord]] = {}
        self._answered: set[tuple[int, str]] = set()  # link and owner of records sent back since the last tick
        self._summarised: set[int] = set()  # links over which a summary was received
        self._is_synchronised = False
        # called with a record of this router, or the entry of one, and the link over which it was received
        self.on_own: Callable[[int, LinkRecord | RecordEntry], None] = lambda _link, _record: None
        links.on_closed.append(self._link_closed)

    # --- links

    def greet(self, link: int) -> None:
        """Send a new neighbour a summary of all records."""
        for entries in _chunks(self._database.entries(), MAX_ENTRIES):
            self._context.outbox.send(link, RecordSummary(entries))

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has ever had all records that its neighbours, at least one, had announced."""
        if not self._is_synchronised and not self._requests:
            links = self._links.routers()
            self._is_synchronised = bool(links) and self._summarised.issuperset(links)
        return self._is_synchronised

    def request_missing(self) -> None:
        """Request missing records that were not requested yet, or whose requests were not answered in time."""
        for owner in [owner for owner in self.unconfirmed if not self._links.answering(owner)]:
            self._install(*self.unconfirmed.pop(owner))
        if not self._requests:
            return
        due: dict[tuple[int, type[RecordRequest | RecordSummary]], list[RecordEntry]] = {}
        for each in self._requests.due(self._context.now, self._links.answering):
            frame = RecordSummary if each.is_report else RecordRequest
            due.setdefault((each.link, frame), []).append(entry_of(each.owner, each.version))
        for (link, frame), entries in due.items():
            for chunk in _chunks(entries, MAX_ENTRIES):
                self._context.outbox.send(link, frame(chunk))

    def expire(self) -> None:
        """Remove expired records, and request them from the neighbours: forged records may have aged one too soon."""
        self._answered.clear()
        expired = self._database.expire(self._context.now)
        self._context.counters[Event.RECORDS_EXPIRED] += len(expired)
        for chunk in _chunks((RecordEntry(owner, 0, 0) for owner in expired), MAX_ENTRIES):
            self._context.outbox.send_all(self._links.routers(), RecordRequest(chunk))

    def flood(self, record: LinkRecord, except_link: int | None = None) -> None:
        """Send a record to all neighbours, except over one link."""
        self._context.outbox.send_all([link for link in self._links.routers() if link != except_link], record)

    # --- frames

    def summary(self, link: int, frame: RecordSummary) -> None:
        """Handle a summary: register requests for the records that this router lacks."""
        self._summarised.add(link)
        for entry in frame.entries:
            version = version_of(entry)
            if entry.owner == self._context.name:
                self.on_own(link, entry)
            elif self._database.lacks(entry.owner, version):
                self._requests.add(link, entry.owner, version)

    def request(self, link: int, frame: RecordRequest) -> None:
        """Send a neighbour the records that it requests."""
        for entry in frame.entries:
            record = self._database.record(entry.owner, self._context.now)
            if record is not None:
                self._context.outbox.send(link, record)

    def link_record(self, link: int, frame: LinkRecord) -> None:
        """Handle a link record."""
        if frame.owner == self._context.name:
            self.on_own(link, frame)
        elif self._is_second_hand(link, frame.owner):
            self._keep_in_mind(link, frame)
        else:
            self._install(link, self._with_age(frame))

    # --- internals

    def _install(self, link: int, record: LinkRecord) -> None:
        self.unconfirmed.pop(record.owner, None)
        outcome = self._database.install(record, self._context.now)
        self._context.counters[outcome.value] += 1
        if outcome is UpdateOutcome.INSTALLED:
            self._requests.complete(record.owner, version_of(record))
            self.flood(record, except_link=link)
        else:
            self._answer(link, record)

    def _answer(self, link: int, record: LinkRecord) -> None:
        """Send back the current record if a neighbour has an older one: it may have refused the current one.

        There is at most one answer per tick, as each of three forged versions may be newer than another.
        """
        present = self._database.record(record.owner, self._context.now)
        if present is None:
            return
        newer, older = version_of(present), version_of(record)
        if newer.is_newer(older) and (link, record.owner) not in self._answered:
            self._answered.add((link, record.owner))
            self._context.outbox.send(link, present)

    def _is_second_hand(self, link: int, owner: str) -> bool:
        """Return whether the owner is a neighbour, and this is not a link to it."""
        return self._links.name(link) != owner and bool(self._links.answering(owner))

    def _keep_in_mind(self, link: int, record: LinkRecord) -> None:
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

    def _link_closed(self, link: Link) -> None:
        self._summarised.discard(link.id)
        self._requests.remove_link(link.id)


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
