"""Home records, kept by every router: which homes must store a message, even while a home is away.

A home floods a record of its durable subscriptions. Its version is a sequence number, and the incarnation of the router
that made it: the home, or a router that replaced the record with an empty one (`forget`). So no version has two
contents, even if two routers reach the same number, or a journal is restored from a backup. Every router keeps the
newest version, in its journal if it has one, until the owner or an operator replaces it. When a link comes up, both
sides exchange summaries of their versions and request the records they lack; a link loses nothing while it is up. Each
router acknowledges a record to its owner, so that a new subscription can be confirmed.

A router that has just started may know no homes, and neither may its neighbours if they have just started, too. So it
is *complete* only when it has the records of a complete neighbour. A router with a journal has saved the records: it
becomes complete after some seconds without such a neighbour, as all routers may have just started. A router without a
journal never becomes complete on its own: homes may be away, or cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from cbnet.network.durable.journal import DropHome, SaveHome
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.durable.records.home_table import HomeTable, is_empty
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.records import RecordVersion, version_of
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_HOMES
from cbnet.network.protocol.frames import HomeAck, HomeRecord, HomeRequest, HomeSummary, RecordEntry

_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(HomeRecord)
ALONE = 3.0  # seconds after its start for which a router waits for a neighbour that knows all homes


class HomeRecords:
    """The home records that one router knows, and its own."""

    def __init__(
        self,
        context: RouterContext,
        links: LinkTable,
        unicast: UnicastForwarder,
        queue: JournalQueue | None,
        saved: Mapping[str, bytes],
    ) -> None:
        self._context = context
        self._links = links
        self._unicast = unicast
        self._queue = queue
        self.table = HomeTable(context.name)
        links.on_closed.append(self._link_closed)
        self._summarised: set[int] = set()  # links over which a summary was received
        self._requested: dict[int, set[str]] = {}  # owners, by link
        self._is_complete = False
        self._complete_links: set[int] = set()  # to neighbours that are complete
        self._refused: dict[str, int] = {}  # owners for whom there was no room, with the link of the record
        self._acknowledged: dict[str, RecordVersion] = {}  # version of the own record on the disk of each router
        self.on_own: Callable[[RecordVersion], None] = lambda _: None  # called with a newer version of the own record
        for record in map(_decoder.decode, saved.values()):
            self.table.set(record)
            if record.owner == context.name:
                self._acknowledged[record.owner] = version_of(record)

    # --- lookup

    def get(self, owner: str) -> HomeRecord | None:
        """Return the record of a home."""
        return self.table.get(owner)

    def matching(self, content: Content) -> list[str]:
        """Return the homes that must store a message."""
        return self.table.matching(content)

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has all records that its neighbours have, and is complete."""
        return self._is_complete and self._has_all_of_neighbours

    @property
    def _has_all_of_neighbours(self) -> bool:
        return self._summarised.issuperset(self._links.routers()) and not self._requested

    def check(self) -> None:
        """Request records for which there is room now, and notify the neighbours once this router is complete."""
        self._request_refused()
        if self._is_complete or not self._has_all_of_neighbours:
            return
        is_only_home = all(each.owner == self._context.name for each in self.table)
        is_alone = (is_only_home and not self._links.routers()) or self._context.now >= ALONE
        if self._complete_links or (self._queue is not None and is_alone):
            self._is_complete = True
            self._context.outbox.send_all(self._links.routers(), self._summary())

    def _summary(self) -> HomeSummary:
        entries = [RecordEntry(each.owner, each.incarnation, each.sequence) for each in self.table]
        return HomeSummary(entries, self._is_complete)

    def unacknowledged(self, version: RecordVersion, routers: Iterable[str]) -> list[str]:
        """Return which of these routers, and this one, lack this or a later version of the own record on disk."""
        all = {self._context.name, *routers}
        return sorted(each for each in all if not self._has_acknowledged(each, version))

    def _has_acknowledged(self, router: str, version: RecordVersion) -> bool:
        present = self._acknowledged.get(router)
        return present is not None and not version.is_newer(present)

    # --- changes

    def set_own(self, record: HomeRecord) -> None:
        """Replace the own record, and flood it once it is on disk, so that its number is not reused after a crash."""
        assert self._queue is not None, "only a router with a journal is a home"
        self._queue.add(SaveHome(record.owner, _encode(record)))
        self._queue.after(partial(self._tell_own, record))

    def _tell_own(self, record: HomeRecord) -> None:
        self.table.set(record)
        self._acknowledged[record.owner] = version_of(record)
        self._flood(record)

    def forget(self, owner: str) -> bool:
        """Replace the record of another home with an empty one; return whether there was one."""
        record = self.get(owner)
        if record is None or is_empty(record):
            return False
        sequence, incarnation = version_of(record).next(self._context.incarnation)
        empty = HomeRecord(owner, incarnation, sequence, "", [], [])  # always the same, so its version has one content
        self._install(empty)
        self._flood(empty)
        return True

    def _install(self, record: HomeRecord) -> None:
        dropped = self.table.set(record)
        if self._queue is not None:
            self._queue.add(SaveHome(record.owner, _encode(record)))
            for owner in dropped:
                self._queue.add(DropHome(owner))

    def _flood(self, record: HomeRecord, except_link: int | None = None) -> None:
        self._context.outbox.send_all([link for link in self._links.routers() if link != except_link], record)

    # --- links

    def greet(self, link: int) -> None:
        """Send a new neighbour a summary of all records."""
        self._context.outbox.send(link, self._summary())

    def _link_closed(self, link: Link) -> None:
        self._summarised.discard(link.id)
        self._requested.pop(link.id, None)
        self._complete_links.discard(link.id)  # its records may not have arrived
        self._refused = {owner: each for owner, each in self._refused.items() if each != link.id}

    # --- frames

    def summary(self, link: int, frame: HomeSummary) -> None:
        """Request the records that this router lacks."""
        self._summarised.add(link)
        if frame.is_complete:
            self._complete_links.add(link)
        lacking = [entry for entry in frame.entries if self._lacks(entry)]
        self._requested.pop(link, None)  # of an earlier summary
        if lacking:
            self._requested[link] = {entry.owner for entry in lacking}
            self._context.outbox.send(link, HomeRequest(lacking))
        self.check()

    def request(self, link: int, frame: HomeRequest) -> None:
        """Send a neighbour the records that it requests; and a new summary, if some were dropped since the last one."""
        records = [self.get(entry.owner) for entry in frame.entries]
        for record in records:
            if record is not None:
                self._context.outbox.send(link, record)
        if None in records:
            self.greet(link)

    def record(self, link: int, frame: HomeRecord) -> None:
        """Keep and acknowledge a record if it is newer; if it is older, send the newer one back."""
        requested = self._requested.get(link, set())
        requested.discard(frame.owner)
        if not requested:
            self._requested.pop(link, None)
        present = self.get(frame.owner)
        if present is not None and version_of(present).is_newer(version_of(frame)):
            self._context.outbox.send(link, present)  # the neighbour may have dropped its empty record
        elif not self._lacks(frame):
            pass
        elif frame.owner == self._context.name:
            self._foreign(link, frame)
        elif self.table.fits(frame):
            self._take(link, frame)
        elif not is_empty(frame):
            self._refuse(link, frame)
        self.check()

    def _take(self, link: int, record: HomeRecord) -> None:
        self._refused.pop(record.owner, None)
        self._install(record)
        self._flood(record, except_link=link)
        self._acknowledge(record)

    def _refuse(self, link: int, record: HomeRecord) -> None:
        """Do not keep or acknowledge a record until there is room, so that its owner confirms no subscription."""
        if record.owner in self._refused or len(self._refused) < MAX_HOMES:
            self._refused[record.owner] = link
        reason = f"there are more than {MAX_HOMES:,} homes, so durable publishers at this router do not wait for it"
        hint = 'remove homes that will not return with "cbnet durable forget"'
        self._context.warn("home not known", home=record.owner, reason=reason, hint=hint)

    def _request_refused(self) -> None:
        """Request records for which there is room now."""
        for owner in [*self._refused][: max(0, self.table.room)]:
            self._context.outbox.send(self._refused.pop(owner), HomeRequest([RecordEntry(owner, 0, 0)]))

    def _acknowledge(self, record: HomeRecord) -> None:
        """Acknowledge a record once it is on disk: this router must know it after a restart."""
        send = partial(
            self._unicast.send, HomeAck(record.owner, 0, self._context.name, record.incarnation, record.sequence)
        )
        if self._queue is None:
            send()
        else:
            self._queue.after(send)

    def acknowledged(self, _: int, frame: HomeAck) -> None:
        """Handle the acknowledgement of a record, or forward it."""
        self._unicast.receive(frame, self._record_acknowledgement)

    def _record_acknowledgement(self, frame: HomeAck) -> None:
        version = version_of(frame)
        if frame.incarnation == self._context.incarnation and not self._has_acknowledged(frame.router, version):
            self._acknowledged[frame.router] = version  # not one made by another router or incarnation

    def _lacks(self, record: HomeRecord | RecordEntry) -> bool:
        present = self.get(record.owner)
        return present is None or version_of(record).is_newer(version_of(present))

    def _foreign(self, link: int, record: HomeRecord) -> None:
        """Handle a record of this router that it did not make: the home was forgotten, or its journal was lost."""
        if self._queue is None:
            hint = 'set `journal` to its folder, or remove the record with "cbnet durable forget"'
            reason = f"this router has durable subscriptions ({len(record.names)}) but no journal; {hint}"
            self._context.warn("journal missing", neighbour=self._links.name(link), reason=reason)
            self._install(record)  # publishers wait for this home until an operator decides
            return
        self._context.warn("home record superseded", neighbour=self._links.name(link), names=len(record.names))
        self.on_own(version_of(record))
