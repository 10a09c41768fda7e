"""Bounded table of the home records that one router knows, by owner.

    homes       with durable subscriptions or a history    at most MAX_HOMES, including the own one; others are refused
    empty       of others that were homes                  at most MAX_EMPTY; beyond that the oldest are dropped

An empty record only keeps out its older versions. A router that has dropped one may learn an older version from a
neighbour, and then waits for a home that no longer exists, until another neighbour corrects it; nothing is lost.
"""

from __future__ import annotations

import msgspec

from cbnet._kernels.frame_matching import LiveMatcher
from cbnet.errors import InputError, UndecidedError
from cbnet.matching import LiveTable
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.network.durable.home_log.journal import DropHome, SaveHome
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.forwarding.router_core import HomeRouters
from cbnet.network.forwarding.search_credit import MessageCredit
from cbnet.network.forwarding.timed_table import empty_table
from cbnet.network.linkstate.records import InstallOutcome, RecordTable
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_HOME_RECORDS, MAX_HOMES, DurableName
from cbnet.network.protocol.frames import HomeRecord, RecordEntry
from cbnet.network.protocol.wire import WireError
from cbnet.routing.aggregation.match_slots import Slots

MAX_EMPTY = MAX_HOME_RECORDS - MAX_HOMES
_encode = msgspec.msgpack.Encoder().encode


def is_empty(record: HomeRecord) -> bool:
    """Return whether the owner of a record is no longer a home."""
    return not record.names and not record.filters


class HomeTable(RecordTable[HomeRecord]):
    """The home records that one router knows, in its journal while it holds a home."""

    def __init__(self, own: str, routers: HomeRouters | None = None) -> None:
        """Initialise; own: the home of this router, whose record always fits. routers: kept up to date."""
        super().__init__()
        self._own = own
        self._routers = routers or HomeRouters()
        self.queue: JournalQueue | None = None
        self._empty: dict[str, None] = {}  # owners of empty records, oldest first, without the own one
        self._by_name: dict[DurableName, HomeRecord] = {}  # empty after a change
        self.slots: Slots[str] = Slots()  # of the match table, each of a home
        self._table: LiveTable[int] = LiveTable(empty_table())
        self.matcher = LiveMatcher(self._table)  # of messages in frames

    # --- lookup

    def matching(self, content: Content) -> list[str]:
        """Return the homes that must store a message, with those where it is undecided whether one must."""
        try:
            found = self._table.match(content.members, MessageCredit())
        except UndecidedError as error:
            found = [*{*error.rules, *error.undecided}]
        return sorted(map(self.slots.holder, found))

    def home_of(self, account: str, name: str) -> HomeRecord | None:
        """Return the record of the home of a durable subscription."""
        if not self._by_name:
            for record in self:
                for each in record.names:
                    self._by_name.setdefault(each, record)
        return self._by_name.get((account, name))

    def counts(self) -> dict[str, int]:
        """Return the homes, each with the number of its durable subscriptions; one with a history may have none."""
        return {owner: len(record.names) for owner, record in sorted(self._records.items()) if not is_empty(record)}

    def entries(self) -> list[RecordEntry]:
        """Return an entry for each record."""
        return [RecordEntry(each.owner, each.incarnation, each.sequence, each.journal) for each in self]

    @property
    def room(self) -> int:
        """The number of other homes for which there is room."""
        others = len(self._records) - len(self._empty) - (self._own in self._records)
        return MAX_HOMES - 1 - others

    def fits(self, record: HomeRecord) -> bool:
        """Return whether a newer record can be kept."""
        present = self._records.get(record.owner)
        if record.owner == self._own:
            return True
        if is_empty(record):
            return present is not None or len(self._empty) < MAX_EMPTY
        return (present is not None and not is_empty(present)) or self.room > 0

    # --- changes

    def install(self, record: HomeRecord, now: float) -> InstallOutcome:
        """Add or replace a record if it is newer and there is room for it, also on disk."""
        outcome = super().install(record, now)
        if outcome is InstallOutcome.INSTALLED:
            self.save(record)
        return outcome

    def save(self, record: HomeRecord) -> None:
        """Save a record on disk."""
        if self.queue is not None:
            self.queue.add(SaveHome(record.owner, _encode(record)))

    def set(self, record: HomeRecord, _: float = 0.0) -> list[str]:
        """Add or replace a record; return the owners of empty records that were dropped for it."""
        owner, before = record.owner, self._records.get(record.owner)
        old = set() if before is None else set(before.filters)
        new = set(record.filters)
        try:
            added = [*map(tests_from_bytes, new - old)]
        except InputError as error:
            raise WireError(error.summary) from None
        self._records[owner] = record
        self._routers.set(owner, record.holder)
        self._by_name.clear()
        slot = self.slots.take(owner)
        self._table.remove_tests(slot, [*map(tests_from_bytes, old - new)])
        self._table.add_tests(slot, added)
        self._empty.pop(owner, None)
        if is_empty(record) and owner != self._own:
            self._empty[owner] = None
        return self._trim()

    def remove(self, owner: str, _: float = 0.0) -> None:
        """Remove a record, also from the disk."""
        filters = set(self._records.pop(owner).filters)
        self._routers.set(owner, owner)
        self._by_name.clear()
        self._table.remove_tests(self.slots.release(owner), [*map(tests_from_bytes, filters)])
        self._empty.pop(owner, None)
        if self.queue is not None:
            self.queue.add(DropHome(owner))

    def _trim(self) -> list[str]:
        dropped: list[str] = []
        while len(self._empty) > MAX_EMPTY:
            dropped.append(next(iter(self._empty)))
            self.remove(dropped[-1])
        return dropped
