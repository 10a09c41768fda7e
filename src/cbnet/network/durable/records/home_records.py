"""Home records, kept by every router: which homes must store a message, even while a home is away.

A home floods a record of its durable subscriptions. Its version is a sequence number, and the incarnation of the router
that made it: the one that holds the home, or a router that replaced the record with an empty one (`forget`). So no
version has two contents, even if two routers reach the same number, or a journal is restored from a backup. Every
router keeps the newest version, in its journal if it has one, until the home or an operator replaces it. Each router
acknowledges a record to the router that holds the home, so that a new subscription can be confirmed. A home reviews a
version that its journal does not know (`ForeignRecords`) before it supersedes it.

A router that has just started may know no homes, and neither may its neighbours if they have just started, too. So it
is *complete* only when it has the records of a complete neighbour. A router with a journal has saved the records: it
becomes complete after some seconds without such a neighbour, as all routers may have just started. A router without a
journal never becomes complete on its own: homes may be away, or cut off.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import HISTORY_ID, SavedSubscription
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.records.foreign_records import ForeignRecord, ForeignRecords
from cbnet.network.durable.records.home_table import HomeTable, is_empty
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.flooding import Flooding, RecordRequests
from cbnet.network.linkstate.records import OwnRecord, RecordVersion, version_of
from cbnet.network.protocol.durable_frames import DurableLimits, HomeDefinition
from cbnet.network.protocol.fields import MAX_HOMES, DurableName
from cbnet.network.protocol.frames import HomeAck, HomeRecord, RecordEntry, RecordRequest, RecordSummary
from cbnet.network.security.record_signatures import PUBLIC_KEYS

_decoder = msgspec.msgpack.Decoder(HomeRecord)
_RATE = 1 << 19  # bytes of filters and names per second in own records: 2 MB, the most, every four seconds
_MAX_INDEXES = 1 << 16  # of filters, in the definitions of a record
ALONE = 3.0  # seconds after it has opened its journal for which a router waits for a neighbour that knows all homes


class OwnHomeRecord(OwnRecord):
    """The durable subscriptions of the home that a router holds that are on disk, and its history."""

    def __init__(
        self,
        context: RouterContext,
        links: LinkTable,
        journal: int = 0,
        saved: HomeRecord | None = None,
        address: str = "",
    ) -> None:
        """Initialise; journal: its id. saved: the newest version on disk. address: that clients connect to."""
        super().__init__(context, links, context.settings.retry, None if saved is None else version_of(saved))
        self.journal = journal
        self._filters: dict[int, Collection[bytes]] = {}  # by id
        self._names: dict[int, DurableName] = {}
        self._limits: dict[int, DurableLimits] = {}
        self._newest = saved  # even if it is not on disk yet
        self._originated = 0.0  # time of the newest version
        self._allowed = float("-inf")  # time of the next one, at the earliest
        self.address = address
        self._router = "" if context.home == context.name else context.name

    # --- lookup

    @property
    def is_outdated(self) -> bool:
        """Whether the newest version has other durable subscriptions or history, or is of another router or key."""
        own = self._newest
        if own is None or (self.address and self.has_other_address):
            return True
        return self._sign(self._filled(own)) != own

    @property
    def is_of_other_journal(self) -> bool:
        """Whether no version was made with this journal yet."""
        return self._newest is None or self._newest.journal != self.journal

    @property
    def has_other_address(self) -> bool:
        """Whether clients that follow the newest version connect to another address."""
        own = self._newest
        return own is not None and bool(own.names) and own.address != self.address

    @property
    def may_repeat(self) -> bool:
        """Whether no version was originated recently."""
        return self._context.now - self._originated >= self._context.settings.retry

    @property
    def may_follow(self) -> bool:
        """Whether a new version may follow the newest one: all routers send, read and store a whole record."""
        return self._context.now >= self._allowed

    def filters(self, id: int) -> Collection[bytes]:
        """Return the filters of a durable subscription, or of the history; none if it is not on disk."""
        return self._filters.get(id, ())

    def has(self, id: int) -> bool:
        """Return whether a durable subscription, or the history, is on disk."""
        return id in self._filters

    def all_filters(self) -> set[bytes]:
        """Return all filters."""
        return {filter for filters in self._filters.values() for filter in filters}

    def _filled(self, record: HomeRecord) -> HomeRecord:
        """Return a record with the current durable subscriptions and history."""
        ids = sorted(self._names, key=self._names.__getitem__)
        filters = sorted(self.all_filters())
        return replace(
            record,
            names=[self._names[id] for id in ids],
            filters=filters,
            router=self._router,
            journal=self.journal,
            definitions=[*self._definitions(ids, filters)],
        )

    def _definitions(self, ids: Iterable[int], filters: Iterable[bytes]) -> Iterator[HomeDefinition]:
        """Yield the definitions of subscriptions; without filters those that do not fit."""
        indexes = {filter: index for index, filter in enumerate(filters)}
        size = 0
        for id in ids:
            size += len(self._filters[id])
            own = sorted(map(indexes.__getitem__, self._filters[id])) if size <= _MAX_INDEXES else []
            yield HomeDefinition(own, self._limits[id])

    # --- changes

    def set_history(self, filters: Collection[bytes]) -> None:
        """Add the history."""
        self._filters[HISTORY_ID] = filters

    def set(self, saved: SavedSubscription, filters: Collection[bytes]) -> None:
        """Add a durable subscription, or replace its limits."""
        self._filters[saved.id] = filters
        self._names[saved.id] = saved.account, saved.name
        self._limits[saved.id] = saved.limits

    def remove(self, id: int) -> bool:
        """Remove a durable subscription; return whether it was there."""
        self._names.pop(id, None)
        self._limits.pop(id, None)
        return self._filters.pop(id, None) is not None

    def originate(self) -> HomeRecord | None:
        """Return a new version; None if the home never had a durable subscription or a history."""
        if self._newest is None and not self._filters and self._above is None:
            return None
        sequence, incarnation = self._advance()
        self._originated = self._context.now
        record = self._filled(HomeRecord(self._context.home, incarnation, sequence, self.address, [], []))
        size = sum(map(len, record.filters)) + sum(len(account) + len(name) for account, name in record.names)
        self._allowed = self._context.now + size / _RATE
        self._newest = self._sign(record)
        return self._newest

    def _note_foreign(self, neighbour: str, version: RecordVersion) -> None:
        """Log a foreign version: the home was forgotten, its journal was replaced, or another router has its name."""
        self._context.warn("home record superseded", neighbour=neighbour, incarnation=version.incarnation)


class HomeRecords(Flooding[HomeRecord]):
    """The home records that one router knows, and its own."""

    kind = "homes"

    def __init__(self, core: RouterCore, *, has_journal: bool) -> None:
        """Initialise; has_journal: whether this router holds a home, or stands by for one."""
        context, links = core, core.links
        self.table = HomeTable(context.home, core.home_routers)
        self.own = OwnHomeRecord(context, links)
        self.foreign = ForeignRecords(0, context.incarnation, None)
        requests = RecordRequests(context.settings.silence, is_renewed=False)
        super().__init__(context, links, self.table, None, requests)
        self._unicast = core.unicast
        self._has_journal = has_journal
        self._queue: JournalQueue | None = None
        self._opened = 0.0  # time when the home was taken
        self._is_changed = False  # since the own record was originated
        self._is_complete = False
        self._has_neighbours: bool | None = None  # that it dials; None: not known before the first check
        self._complete_links: set[int] = set()  # to neighbours that are complete
        self._acknowledged: dict[str, RecordVersion] = {}  # version of the own record on the disk of each router

    def expect_neighbours(self, *, is_expected: bool) -> None:
        """Record whether this router dials neighbours, which may know records of the own home."""
        self._has_neighbours = is_expected
        if not is_expected and self._own is not None and self._is_changed:
            self.announce()

    # --- the home of this router

    def hold(self, queue: JournalQueue, journal: int, saved: Mapping[str, bytes]) -> None:
        """Keep the records in the journal of a home that this router holds from now on.

        journal: its id; saved: the records found there.
        """
        context = self._context
        above = self.table.get(context.home)
        on_disk = {record.owner: record for record in map(_decoder.decode, saved.values())}
        for record in on_disk.values():
            if self.table.lacks(record.owner, version_of(record)) and self.table.fits(record):
                self.table.set(record)
        self._queue = self.table.queue = queue
        for record in self.table:
            before = on_disk.get(record.owner)
            if record.owner != context.home and (before is None or version_of(before) != version_of(record)):
                self.table.save(record)
        newest = on_disk.get(context.home)
        self._own = self.own = OwnHomeRecord(context, self._links, journal, newest, self.own.address)
        self.foreign = ForeignRecords(journal, context.incarnation, newest)
        if above is not None and self.foreign.is_unknown(above):
            self.foreign.add("", above)
        elif above is not None and version_of(above).is_newer(self.own.version):
            self.own.supersede("", version_of(above), is_forged=False)  # an operator has forgotten the home
        self._acknowledged = {} if newest is None else {context.name: version_of(newest)}
        self._opened = context.now
        super().review()

    def release(self) -> None:
        """Keep the records in memory only, and learn the one of the home from others: this router has lost the home."""
        self._queue = self.table.queue = self._own = None
        self.foreign = ForeignRecords(0, self._context.incarnation, None)
        self._is_changed = False
        self._acknowledged = {}
        self._context.outbox.send_all(self._links.routers(), RecordRequest(self.kind, []))

    @property
    def _own_owner(self) -> str:
        return self._context.home

    # --- completeness

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has all records that its neighbours have, and is complete; not during a review."""
        is_reviewed = not self.is_under_review and self.foreign.are_superseded
        return self._is_complete and self.has_all_of_neighbours and is_reviewed

    def _summary(self) -> RecordSummary:
        return RecordSummary(self.kind, self._table.entries(), self._is_complete)

    def summary(self, link: int, frame: RecordSummary) -> None:
        """Handle a summary: register requests for the records that this router lacks."""
        super().summary(link, frame)
        if frame.is_complete:
            self._complete_links.add(link)
        self._check_completeness()

    def request(self, link: int, frame: RecordRequest) -> None:
        """Send a neighbour the records that it requests; and a new summary, if some were dropped since the last one.

        During a review no router gets the own one, which would replace the version that the journal does not know.
        """
        if self.is_under_review and frame.entries:
            frame = replace(frame, entries=[each for each in frame.entries if not self._is_own(each)])
            if not frame.entries:
                return
        super().request(link, frame)
        if any(self.table.lacks(entry.owner, version_of(entry)) for entry in frame.entries):
            self.greet(link)

    def record(self, link: int, frame: HomeRecord) -> None:
        """Handle a home record."""
        super().record(link, frame)
        self._check_completeness()

    @property
    def _believes_claims(self) -> bool:
        return False  # the record itself may have subscriptions that are missing here

    def _is_news(self, record: HomeRecord | RecordEntry) -> bool:
        return (self._is_own(record) and self.foreign.is_unknown(record)) or super()._is_news(record)

    def _receive(self, link: int, record: HomeRecord) -> None:
        """Handle an accepted record; one of this router that its journal does not know is reviewed first."""
        if self._is_own(record) and self.foreign.is_unknown(record):
            self.foreign.add(self._links.name(link), record)
        else:
            super()._receive(link, record)

    def review(self) -> None:
        """Remove the records of others that are refused by now, and sign the own one: the keys have changed."""
        super().review()
        if self._own is not None:
            self.announce()

    def _link_closed(self, link: Link) -> None:
        super()._link_closed(link)
        self._complete_links.discard(link.id)  # its records may not have arrived

    def check(self) -> None:
        """Do periodic work."""
        super().check()
        self._has_neighbours = bool(self._has_neighbours)
        self._check_completeness()
        if self._own is not None and (self._is_changed or self._own.must_supersede):
            self.announce()
        for home, links in [*self._requests.overdue()]:
            reason = (
                "announced and not sent, so durable publishers at this router are not answered; restart the neighbour"
            )
            self._context.warn("home record missing", home=home, neighbour=self._links.name(links[0]), reason=reason)
            if home == self._context.home and self._own is not None:
                for link in links:
                    self._requests.reject(link, home)  # a claim alone ends no home

    @property
    def is_own_known(self) -> bool:
        """Whether the newest record of the own home is one of its present journal, as far as is known."""
        record = self.table.get(self._context.home)
        is_present = record is not None and record.journal in (0, self.own.journal)
        return is_present and not self.is_under_review

    def _check_completeness(self) -> None:
        """Notify the neighbours once this router is complete."""
        if self._is_complete or not self.has_all_of_neighbours:
            return
        is_only_home = all(each.owner == self._context.home for each in self.table)
        # The journal of a router that dials neighbours may be new because the former one, with homes, was lost.
        may_be_lost = self._has_neighbours and self.own.is_of_other_journal
        is_alone = is_only_home and not self._links.routers() and not may_be_lost
        is_alone = is_alone or self._context.now >= self._opened + ALONE
        if self._complete_links or (self._queue is not None and is_alone):
            self._is_complete = True
            self._context.outbox.send_all(self._links.routers(), self._summary())

    # --- the own record

    def announce(self) -> None:
        """Originate a new version of the own record, soon if the newest one is large, and flood it once it is on disk.

        So its number is not used again after a crash.
        """
        assert self._queue is not None, "only a router with a journal is a home"
        self._is_changed = (
            self.is_under_review or self._is_early or not (self.own.may_follow or self.own.must_supersede)
        )
        record = None if self._is_changed else self.own.originate()
        if record is not None:
            self.table.save(record)
            self._queue.after(partial(self._publish, record))

    @property
    def _is_early(self) -> bool:
        """Whether neighbours may know a version of an earlier journal, which the first of this one must not replace."""
        is_alone = not self._links.routers() and self._context.now < self._opened + ALONE
        is_waiting = (self._has_neighbours is not False and is_alone) or not self.has_all_of_neighbours
        return is_waiting and self.own.is_of_other_journal

    def _publish(self, record: HomeRecord) -> None:
        self.table.set(record)
        self.foreign.supersede(version_of(record))
        self._acknowledged[self._context.name] = version_of(record)
        self.flood(record)

    @property
    def is_under_review(self) -> bool:
        """Whether other routers know a version of the own record that this router's journal does not know."""
        return self._own is not None and (self.foreign.are_pending or self._context.home in self._requests)

    def reviewed(self, foreign: ForeignRecord) -> None:
        """Supersede a version whose subscriptions are on disk by now."""
        self.foreign.finish(foreign)
        self.own.supersede(foreign.neighbour, version_of(foreign.record), is_forged=False)
        self.announce()

    @property
    def announced(self) -> RecordVersion:
        """The version of the own record that has all present subscriptions; perhaps the next one."""
        return self.own.version.next(self._context.incarnation) if self._is_changed else self.own.version

    def unacknowledged(self, version: RecordVersion, routers: Iterable[str]) -> list[str]:
        """Return which of these routers, and this one, lack this or a later version of the own record on disk."""
        all = {self._context.name, *routers}
        return sorted(each for each in all if not self._has_acknowledged(each, version))

    def _has_acknowledged(self, router: str, version: RecordVersion) -> bool:
        present = self._acknowledged.get(router)
        return present is not None and not version.is_newer(present)

    def acknowledged(self, frame: HomeAck) -> None:
        """Handle the acknowledgement of the own record."""
        version = version_of(frame)
        is_own = frame.incarnation == self._context.incarnation and not version.is_newer(self.own.version)
        if is_own and not self._has_acknowledged(frame.router, version):
            self._acknowledged[frame.router] = version  # not one made by another router or incarnation, or not yet made

    # --- records of others

    def forget(self, owner: str) -> bool:
        """Replace the record of another home with an empty one; return whether there was one.

        Where records must be signed, only their owners can replace them.
        """
        record = self.table.get(owner)
        if record is None or is_empty(record):
            return False
        if self._signatures.are_required:
            hint = f"remove the key of {owner} from {PUBLIC_KEYS} at all routers, and reload them"
            raise InputError(f"only {owner} can sign that it has no durable subscriptions any more", hint=hint)
        sequence, incarnation = version_of(record).next(self._context.incarnation)
        empty = HomeRecord(owner, incarnation, sequence, "", [], [])  # always the same, so its version has one content
        self.table.install(empty, self._context.now)
        self.flood(empty)
        return True

    def _installed(self, link: int, record: HomeRecord) -> None:
        """Acknowledge a record once it is on disk: this router must know it after a restart."""
        if record.holder == self._context.name:  # or it was, before a restart
            if not self._has_journal or record.owner != self._context.home:
                self._report_missing_journal(link, record)
            return
        ack = HomeAck(record.holder, 0, self._context.name, record.incarnation, record.sequence)
        if self._queue is None:
            self._unicast.send(ack)
        else:
            self._queue.after(partial(self._unicast.send, ack))

    def _report_missing_journal(self, link: int, record: HomeRecord) -> None:
        """Warn that publishers wait for this router until an operator decides."""
        hint = 'set `journal` to its folder, or remove the record with "cbnet durable forget"'
        reason = f"this router has durable subscriptions ({len(record.names)}) but no journal; {hint}"
        self._context.warn("journal missing", neighbour=self._links.name(link), reason=reason)

    def _refuse(self, link: int, record: HomeRecord) -> None:
        """Do not keep or acknowledge a record until there is room, so that its owner confirms no subscription."""
        if is_empty(record):
            return
        super()._refuse(link, record)
        reason = f"there are more than {MAX_HOMES:,} homes, so durable publishers at this router do not wait for it"
        hint = 'remove homes that will not return with "cbnet durable forget"'
        self._context.warn("home not known", home=record.owner, reason=reason, hint=hint)
