"""Flooding of records: every router forwards records that are new to it.

A link preserves the order of its frames and loses none while it is up. It therefore suffices to send a summary of all
records when a link comes up (`RecordSummary`), and only new records from then on; the peer requests the records that it
lacks (`RecordRequest`). A further summary replaces the one before.

There are two kinds of records, links and homes, with the same rules for versions, requests and the owner's own record.
They differ in how a record is stored, in the neighbours from which it is accepted, and in what follows.

Where records must be signed, those that are not are neither stored nor forwarded, and a router acts only on a record
itself. If others merely announce a version of its own record, it requests that record first, and supersedes nothing
until it arrives.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import ClassVar, Generic

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.link import Link
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.records import (
    InstallOutcome,
    OwnRecord,
    RecordTable,
    RecordVersion,
    entry_of,
    version_of,
)
from cbnet.network.logs import log
from cbnet.network.protocol.control_frames import RecordKind
from cbnet.network.protocol.fields import MAX_ROUTERS
from cbnet.network.protocol.frames import Record, RecordEntry, RecordRequest, RecordSummary
from cbnet.network.security.record_signatures import RecordSignatures

_MAX_INSTALLS = 16  # of the records of one owner between two ticks
_MAX_ATTEMPTS = 8  # without an answer of one neighbour
_MAX_REQUESTS = MAX_ROUTERS


@dataclass
class _Request:
    sources: dict[int, RecordVersion] = field(default_factory=dict)  # by link
    asked: float | None = None  # time
    asked_link: int = -1
    unanswered: Counter[int] = field(default_factory=Counter)  # attempts, by link


class RecordRequests:
    """Requests for the records of which neighbours have newer versions.

    Several neighbours may have announced the same record. One is asked; another only if the first disconnects or does
    not answer in time. The one with the newest version is asked first, and again after all others: a version that
    nobody has does not hide the record. After several attempts, what a neighbour has announced is ignored: the owner
    renews its record, or it has expired everywhere. A record that its owner does not renew is requested from each
    neighbour once, as a link that is up loses nothing, and is awaited from then on.

    If the record is accepted from its owner only, because that is a neighbour, only the owner is asked for it. If it
    has not announced that version itself, it thereby learns of it: either its record is on the way, or the version is
    forged, and the owner supersedes it.
    """

    def __init__(self, retry: float, *, is_renewed: bool = True) -> None:
        """Initialise; retry: seconds until another neighbour is asked; is_renewed: whether owners renew records."""
        self._retry = retry
        self._is_renewed = is_renewed
        self._requests: dict[str, _Request] = {}  # by owner

    def __len__(self) -> int:
        return len(self._requests)

    def __contains__(self, owner: str) -> bool:
        return owner in self._requests

    def add(self, link: int, owner: str, version: RecordVersion) -> bool:
        """Record that a newer version is available over a link; return whether there is room for the request."""
        if owner not in self._requests and len(self._requests) >= _MAX_REQUESTS:
            return False
        sources = self._requests.setdefault(owner, _Request()).sources
        sources[link] = _newer(sources.get(link, version), version)
        return True

    def complete(self, owner: str, version: RecordVersion) -> None:
        """Remove the request for a version that was received, and for older ones."""
        request = self._requests.get(owner)
        if request is not None:
            request.sources = {link: each for link, each in request.sources.items() if each.is_newer(version)}
            if not request.sources:
                del self._requests[owner]

    def reject(self, link: int, owner: str) -> None:
        """Remove a neighbour as a source of one record: what it has sent was refused."""
        request = self._requests.get(owner)
        if request is not None and request.sources.pop(link, None) is not None:
            request.asked = None
            if not request.sources:
                del self._requests[owner]

    def remove_link(self, link: int) -> None:
        """Remove a link as a source: its records are requested from other neighbours that have them."""
        for owner, request in list(self._requests.items()):
            request.unanswered.pop(link, None)
            if request.sources.pop(link, None) is not None or request.asked_link == link:
                request.asked = None
                if not request.sources:
                    del self._requests[owner]

    def due(self, now: float, links_to: Callable[[str], Collection[int]]) -> Iterator[tuple[int, RecordEntry]]:
        """Yield links and entries of requests to send now.

        `links_to` returns the links to an owner from which alone its record is accepted.
        """
        for owner, request in list(self._requests.items()):
            if request.asked is not None:
                if now - request.asked < self._retry:
                    continue
                self._note_silence(request)
            if not request.sources:
                del self._requests[owner]
                continue
            owner_links = links_to(owner)
            link = _next_source(request, owner_links)
            request.asked = now
            if self._is_renewed or not request.unanswered[link]:
                request.asked_link = link
                newest = reduce(_newer, request.sources.values())
                yield link, entry_of(owner, newest if owner_links else request.sources[link])

    def _note_silence(self, request: _Request) -> None:
        request.unanswered[request.asked_link] += 1
        if self._is_renewed and request.unanswered[request.asked_link] >= _MAX_ATTEMPTS:
            request.sources.pop(request.asked_link, None)

    def overdue(self) -> Iterator[tuple[str, list[int]]]:
        """Yield the owners whose records were not sent in time, with the links over which they were announced."""
        for owner, request in self._requests.items():
            if all(request.unanswered[link] for link in request.sources):
                yield owner, [*request.sources]


def _next_source(request: _Request, owner_links: Collection[int]) -> int:
    """Return the link to ask: the one that was asked least; of several, the one with the newest version."""
    links = [link for link in request.sources if link in owner_links or not owner_links]
    return reduce(lambda one, other: other if _is_before(request, other, one) else one, links or owner_links)


def _is_before(request: _Request, one: int, other: int) -> bool:
    if request.unanswered[one] != request.unanswered[other] or one not in request.sources:
        return request.unanswered[one] < request.unanswered[other]
    return request.sources[one].is_newer(request.sources[other])


def _newer(one: RecordVersion, other: RecordVersion) -> RecordVersion:
    return other if other.is_newer(one) else one


class Flooding(Generic[Record]):
    """The exchange of records of one kind with the neighbours."""

    kind: ClassVar[RecordKind]

    def __init__(
        self,
        context: RouterContext,
        links: LinkTable,
        table: RecordTable[Record],
        own: OwnRecord | None,
        requests: RecordRequests,
    ) -> None:
        """Initialise; own: None if this router has no such record.

        Whatever another router forges in the name of this one, `own` supersedes it.
        """
        self._context = context
        self._links = links
        self._table: RecordTable[Record] = table
        self._own = own
        self._requests = requests
        self._answered: set[tuple[int, str]] = set()  # link and owner of records sent back since the last tick
        self._summarised: set[int] = set()  # links over which a summary was received
        self._refused: dict[str, tuple[int, RecordVersion]] = {}  # by owner: records for which there was no room
        self._installs = Counter[str]()  # by owner, since the last tick
        self._late: dict[str, tuple[int, RecordVersion]] = {}  # by owner: the newest record beyond `_MAX_INSTALLS`
        links.on_closed.append(self._link_closed)

    @property
    def _own_owner(self) -> str:
        """The owner of the own record."""
        return self._context.name

    # --- links

    def greet(self, link: int) -> None:
        """Send a neighbour a summary of all records."""
        self._context.outbox.send(link, self._summary())

    def _summary(self) -> RecordSummary:
        return RecordSummary(self.kind, self._table.entries())

    @property
    def has_all_of_neighbours(self) -> bool:
        """Whether this router has all records that its neighbours have announced."""
        return not self._requests and self._summarised.issuperset(self._links.routers())

    def request_missing(self) -> None:
        """Request missing records that were not requested yet, or whose requests were not answered in time."""
        if self._requests:
            due: dict[int, list[RecordEntry]] = {}
            for link, entry in self._requests.due(self._context.now, self._owner_links):
                due.setdefault(link, []).append(entry)
            for link, entries in due.items():
                self._context.outbox.send(link, RecordRequest(self.kind, entries))

    def check(self) -> None:
        """Do periodic work."""
        self._answered.clear()
        self._installs.clear()
        late, self._late = self._late, {}
        for owner, (link, version) in late.items():
            if self._table.lacks(owner, version):
                self._requests.add(link, owner, version)
        for owner in [*self._refused][: max(0, self._table.room)]:
            link, version = self._refused.pop(owner)
            self._requests.add(link, owner, version)

    def flood(self, record: Record, except_link: int | None = None) -> None:
        """Send a record to all neighbours, except over one link."""
        self._context.outbox.send_all([link for link in self._links.routers() if link != except_link], record)

    # --- frames

    def summary(self, link: int, frame: RecordSummary) -> None:
        """Handle a summary: register requests for the records that this router lacks."""
        self._requests.remove_link(link)
        self._summarised.add(link)
        for entry in frame.entries:
            owner, version = entry.owner, version_of(entry)
            if self._is_own(entry) and self._believes_claims:
                self._supersede(link, entry)
            elif not self._signatures.may_own(owner):
                continue  # its record would be refused
            elif self._is_news(entry) and not self._requests.add(link, owner, version):
                self._summarised.discard(link)  # too many: do not count as synchronised

    def request(self, link: int, frame: RecordRequest) -> None:
        """Send a neighbour the records that it requests; if it names none, a new summary."""
        if not frame.entries:
            self.greet(link)
        for entry in frame.entries:
            if self._is_own(entry) and self._believes_claims and self._supersede(link, entry):
                continue  # all neighbours get the new version
            record = self._table.record(entry.owner, self._context.now)
            if record is not None:
                self._context.outbox.send(link, record)

    def record(self, link: int, frame: Record) -> None:
        """Handle a record, unless it is refused for its signature."""
        problem = self._signatures.problem(frame) if self._signatures.are_required and self._is_news(frame) else ""
        if problem:
            self._context.counters[Event.RECORDS_REFUSED] += 1
            neighbour = self._links.name(link)
            self._context.warn("record refused", kind=self.kind, owner=frame.owner, neighbour=neighbour, reason=problem)
            self._requests.reject(link, frame.owner)
            return
        if self._is_own(frame):
            self._requests.complete(frame.owner, version_of(frame))
        self._receive(link, frame)

    def review(self) -> None:
        """Remove the records of others that are refused by now, and request others: the keys have changed."""
        for record in [each for each in self._table if each.owner != self._own_owner]:
            problem = self._signatures.problem(record)
            if problem:
                self._context.counters[Event.RECORDS_REFUSED] += 1
                log(logging.WARNING, "record removed", kind=self.kind, owner=record.owner, reason=problem)
                self._table.remove(record.owner, self._context.now)
        self._context.outbox.send_all(self._links.routers(), RecordRequest(self.kind, []))

    # --- internals

    @property
    def _signatures(self) -> RecordSignatures:
        return self._links.access.signatures

    @property
    def _believes_claims(self) -> bool:
        """Whether the announcement of an own record supersedes as the record itself does."""
        return not self._signatures.are_required

    def _is_news(self, record: Record | RecordEntry) -> bool:
        """Return whether a record can change anything here: signatures of others need not be verified."""
        if self._table.lacks(record.owner, version_of(record)):
            return True
        return not isinstance(record, RecordEntry) and self._table.contradicts(record)

    def _receive(self, link: int, record: Record) -> None:
        """Handle an accepted record."""
        if not self._is_own(record):
            self._install(link, record)
        elif not self._supersede(link, record):
            self._answer(link, record)

    def _link_closed(self, link: Link) -> None:
        self._summarised.discard(link.id)
        self._requests.remove_link(link.id)
        self._refused = {owner: each for owner, each in self._refused.items() if each[0] != link.id}
        self._late = {owner: each for owner, each in self._late.items() if each[0] != link.id}

    def _is_own(self, record: Record | RecordEntry) -> bool:
        return self._own is not None and record.owner == self._own_owner

    def _supersede(self, link: int, record: Record | RecordEntry) -> bool:
        """Supersede a record of this router if this router did not make it; return whether it has to."""
        assert self._own is not None
        is_forged = not isinstance(record, RecordEntry) and self._table.contradicts(record)
        return self._own.supersede(self._links.name(link), version_of(record), is_forged=is_forged)

    def _owner_links(self, _: str) -> Collection[int]:
        """Return the links over which alone an owner's record is accepted; none: over any."""
        return ()

    def _install(self, link: int, record: Record) -> None:
        """Install a record if it is newer, and send it on.

        Of three forged versions each may be newer than another. They would replace each other everywhere, and multiply,
        as fast as links carry them: beyond some replacements in a tick the newest one waits, and is requested.
        """
        if self._installs[record.owner] >= _MAX_INSTALLS:
            version = version_of(record)
            if record.owner not in self._late or version.is_newer(self._late[record.owner][1]):
                self._late[record.owner] = link, version
            return
        outcome = self._table.install(record, self._context.now)
        is_installed = outcome is InstallOutcome.INSTALLED
        self._installs[record.owner] += is_installed
        self._context.counters[Event.RECORDS_INSTALLED if is_installed else Event.RECORDS_STALE] += 1
        if outcome is InstallOutcome.STALE:
            self._answer(link, record)
            return
        self._requests.complete(record.owner, version_of(record))
        self._refused.pop(record.owner, None)
        if is_installed:
            self.flood(record, except_link=link)
            self._installed(link, record)
        else:
            self._refuse(link, record)

    def _installed(self, link: int, record: Record) -> None:
        """Do what follows the installation of another router's record."""

    def _refuse(self, link: int, record: Record) -> None:
        """Remember a record for which there is no room."""
        if len(self._refused) < MAX_ROUTERS:
            self._refused[record.owner] = link, version_of(record)

    def _answer(self, link: int, record: Record) -> None:
        """Send back the current record if a neighbour has an older one: it may have refused or dropped the current one.

        There is at most one answer per tick, as each of three forged versions may be newer than another.
        """
        present = self._table.record(record.owner, self._context.now)
        if present is None or (link, record.owner) in self._answered:
            return
        if version_of(present).is_newer(version_of(record)):
            self._answered.add((link, record.owner))
            self._context.outbox.send(link, present)
