"""Records of homes, which every router has: who must store a message, also while a home is away.

A home floods a record of its durable subscriptions. Its version is a sequence number, and the life of the router that
made it: the home, or one that replaced the record by an empty one (`forget`). So no version has two contents, also if
two routers count to one number, or a journal was restored from a backup. Every router keeps the newest version, in its
journal if it has one, until the owner or an operator replaces it. When a link comes up, both sides tell which versions
they have, and request what they lack: a link loses nothing while it is up. Each router acknowledges a record to its
owner, so that a new subscription can be confirmed.

A router that has just started may know of no home, and so may its neighbours, if they have just started, too. So it is
*complete* only when it has the records of a neighbour that is. One with a journal has saved them: it is complete after
some seconds, as all of them may have started. One without a journal never is on its own: homes may be away, or cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from cbnet.errors import InputError
from cbnet.matching import LiveTable
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.network.announce.timed_table import empty_table
from cbnet.network.durable.journal import SaveHome
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.records import RecordVersion, version_of
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_HOMES
from cbnet.network.protocol.frames import HomeAck, HomeRecord, HomeRequest, HomeSummary, RecordEntry
from cbnet.network.protocol.wire import WireError

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
        self._records: dict[str, HomeRecord] = {}
        self._table: LiveTable[str] = LiveTable(empty_table())  # type: ignore[arg-type]
        self._summarised: set[int] = set()  # links over which a summary was received
        self._requested: dict[int, set[str]] = {}  # owners, by link
        self._is_complete = False
        self._complete_links: set[int] = set()  # to neighbours that are complete
        self._acknowledged: dict[str, RecordVersion] = {}  # of the own record, on disk, by router
        self.on_own: Callable[[RecordVersion], None] = lambda _: None  # called with a newer version of the own record
        for record in map(_decoder.decode, saved.values()):
            self._set(record)
            if record.owner == context.name:
                self._acknowledged[record.owner] = version_of(record)

    # --- lookup

    def get(self, owner: str) -> HomeRecord | None:
        """Return the record of a home."""
        return self._records.get(owner)

    def matching(self, content: Content) -> list[str]:
        """Return the homes that must store a message."""
        return sorted(self._table.match(content.members))

    def home_of(self, account: str, name: str) -> HomeRecord | None:
        """Return the record of the home of a durable subscription."""
        return next((each for each in self._records.values() if (account, name) in each.names), None)

    def counts(self) -> dict[str, int]:
        """Return the homes, each with the number of its durable subscriptions; one with a history may have none."""
        return {owner: len(record.names) for owner, record in sorted(self._records.items()) if record.filters}

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has all records that its neighbours have, and is complete."""
        return self._is_complete and self._has_all_of_neighbours

    @property
    def _has_all_of_neighbours(self) -> bool:
        return self._summarised.issuperset(self._links.routers()) and not self._requested

    def check(self) -> None:
        """Inform the neighbours once this router is complete."""
        if self._is_complete or not self._has_all_of_neighbours:
            return
        is_only_home = self._records.keys() <= {self._context.name}
        is_alone = (is_only_home and not self._links.routers()) or self._context.now >= ALONE
        if self._complete_links or (self._queue is not None and is_alone):
            self._is_complete = True
            self._context.outbox.send_all(self._links.routers(), self._summary())

    def _summary(self) -> HomeSummary:
        entries = [RecordEntry(each.owner, each.life, each.sequence) for each in self._records.values()]
        return HomeSummary(entries, self._is_complete)

    def unacknowledged(self, version: RecordVersion, routers: Iterable[str]) -> list[str]:
        """Return which routers, and this one, do not have a version of the own record, or a later one, on disk."""
        all = {self._context.name, *routers}
        return sorted(each for each in all if not self._has_acknowledged(each, version))

    def _has_acknowledged(self, router: str, version: RecordVersion) -> bool:
        present = self._acknowledged.get(router)
        return present is not None and not version.is_newer(present)

    # --- changes

    def set_own(self, record: HomeRecord) -> None:
        """Replace the own record, and flood it, once it is on disk: after a crash, its number is not used again."""
        assert self._queue is not None, "only a router with a journal is a home"
        self._queue.add(SaveHome(record.owner, _encode(record)))
        self._queue.after(partial(self._tell_own, record))

    def _tell_own(self, record: HomeRecord) -> None:
        self._set(record)
        self._acknowledged[record.owner] = version_of(record)
        self._flood(record)

    def forget(self, owner: str) -> bool:
        """Replace the record of another home by an empty one; return whether there was one."""
        record = self._records.get(owner)
        if record is None or not record.filters:
            return False
        sequence, life = version_of(record).next(self._context.life)
        empty = HomeRecord(owner, life, sequence, "", [], [])  # always the same, so its version has one content
        self._install(empty)
        self._flood(empty)
        return True

    def _install(self, record: HomeRecord) -> None:
        self._set(record)
        if self._queue is not None:
            self._queue.add(SaveHome(record.owner, _encode(record)))

    def _set(self, record: HomeRecord) -> None:
        before = self._records.get(record.owner)
        old = set() if before is None else set(before.filters)
        new = set(record.filters)
        try:
            added = [*map(tests_from_bytes, new - old)]
        except InputError as error:
            raise WireError(error.summary) from None
        self._records[record.owner] = record
        self._table.remove_tests(record.owner, [*map(tests_from_bytes, old - new)])
        self._table.add_tests(record.owner, added)

    def _flood(self, record: HomeRecord, except_link: int | None = None) -> None:
        self._context.outbox.send_all([link for link in self._links.routers() if link != except_link], record)

    # --- links

    def greet(self, link: int) -> None:
        """Send a new neighbour a summary of all records."""
        self._context.outbox.send(link, self._summary())

    def remove_link(self, link: int) -> None:
        """Remove a closed link."""
        self._summarised.discard(link)
        self._requested.pop(link, None)
        self._complete_links.discard(link)  # its records may not have arrived

    # --- frames

    def summary(self, link: int, frame: HomeSummary) -> None:
        """Request the records that this router lacks."""
        self._summarised.add(link)
        if frame.is_complete:
            self._complete_links.add(link)
        lacking = [entry for entry in frame.entries if self._lacks(entry.owner, version_of(entry))]
        if lacking:
            self._requested[link] = {entry.owner for entry in lacking}
            self._context.outbox.send(link, HomeRequest(lacking))
        self.check()

    def request(self, link: int, frame: HomeRequest) -> None:
        """Send a neighbour the records that it requests."""
        for entry in frame.entries:
            record = self._records.get(entry.owner)
            if record is not None:
                self._context.outbox.send(link, record)

    def record(self, link: int, frame: HomeRecord) -> None:
        """Handle a record: keep it if it is newer, and acknowledge it."""
        requested = self._requested.get(link, set())
        requested.discard(frame.owner)
        if not requested:
            self._requested.pop(link, None)
        if self._lacks(frame.owner, version_of(frame)):
            self._take(link, frame)
        self.check()

    def _take(self, link: int, record: HomeRecord) -> None:
        if record.owner == self._context.name:
            self._foreign(link, record)
        else:
            self._install(record)
            self._flood(record, except_link=link)
            self._acknowledge(record)

    def _acknowledge(self, record: HomeRecord) -> None:
        """Acknowledge a record when it is on disk: after a restart, this router must know it."""
        send = partial(self._unicast.send, HomeAck(record.owner, 0, self._context.name, record.life, record.sequence))
        if self._queue is None:
            send()
        else:
            self._queue.after(send)

    def acknowledged(self, _: int, frame: HomeAck) -> None:
        """Handle the acknowledgement of a record, or forward it."""
        self._unicast.receive(frame, self._record_acknowledgement)

    def _record_acknowledgement(self, frame: HomeAck) -> None:
        version = version_of(frame)
        if frame.life == self._context.life and not self._has_acknowledged(frame.router, version):
            self._acknowledged[frame.router] = version  # and not one of another maker

    def _lacks(self, owner: str, version: RecordVersion) -> bool:
        present = self._records.get(owner)
        if present is None:
            return len(self._records) < MAX_HOMES
        return version.is_newer(version_of(present))

    def _foreign(self, link: int, record: HomeRecord) -> None:
        """Handle a record of this router that it did not make: it was forgotten, or its journal was lost."""
        if self._queue is None:
            hint = 'set `journal` to its folder, or remove the record with "cbnet durable forget"'
            reason = f"this router has durable subscriptions ({len(record.names)}) but no journal; {hint}"
            self._context.warn("journal missing", neighbour=self._links.name(link), reason=reason)
            self._install(record)  # publishers wait for this home until somebody decides
            return
        self._context.warn("home record superseded", neighbour=self._links.name(link), names=len(record.names))
        self.on_own(version_of(record))
