"""The durable subscriptions of a router: created, shared, confirmed and removed.

A subscription takes effect when it is on disk: then its filters are announced like those of clients, and the record of
this home is flooded. With `wait`, a client is answered when all reachable routers have the record and the announcement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from cbnet.errors import InputError, LimitError
from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.confirmations import SUBSCRIPTION
from cbnet.network.announce.subscriptions import InternalSubscriber
from cbnet.network.durable.backlog import Backlog
from cbnet.network.durable.consumers import Consumer
from cbnet.network.durable.durable_subscription import DurableSubscription
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_records import HomeRecords
from cbnet.network.durable.journal import DropSubscription, RecoveredState, SavedSubscription, SaveSubscription
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.durable_frames import NO_LIMITS, DurableLimits
from cbnet.network.protocol.fields import MAX_FRAME_FILTERS
from cbnet.network.protocol.frame import FrameNumber
from cbnet.network.protocol.frames import (
    DurableSubscribe,
    HomeRecord,
    RefusedFrame,
    Subscribed,
)

_MAX_FILTER_BYTES = 1 << 21  # of all durable subscriptions of a router, which are in one record


@dataclass
class _Unconfirmed:
    """A client that waits until all routers know of its subscription."""

    link: int
    id: int
    filters: Collection[bytes]
    sequence: int  # of the record that has it
    deadline: float


class DurableRegistry:
    """The durable subscriptions of one router, by account and name."""

    def __init__(
        self,
        context: RouterContext,
        versions: Versions,
        announcements: Announcements,
        home: Home,
        records: HomeRecords,
        queue: JournalQueue,
        state: RecoveredState,
    ) -> None:
        self._context = context
        self._versions = versions
        self._table = announcements.subscriptions
        self._confirmations = announcements.confirmations
        self._home = home
        self._records = records
        self._queue = queue
        self._journal_id = state.id
        self._by_name: dict[tuple[str, str], DurableSubscription] = {}
        self._filters: dict[int, Collection[bytes]] = {}  # of those that are on disk, by id
        self._attached: dict[tuple[int, int], DurableSubscription] = {}  # by link and id of a client
        self._unconfirmed: list[_Unconfirmed] = []
        self._flooded = 0.0  # time
        self._above: RecordVersion | None = None  # a version to outbid
        self.address = ""  # that clients connect to
        self._next_id = max((saved.id for saved in state.subscriptions), default=0) + 1
        for saved in state.subscriptions:
            backlog = Backlog(state.next_offsets[saved.id], state.stock.get(saved.id, ()))
            self._add(saved, backlog)
            self._activate(saved)
        records.on_own = self._outbid
        own = records.get(context.name)
        if own is None or own.life != self._journal_id or {*own.filters} != self._all_filters():
            self._announce()

    # --- clients

    def subscribe(self, link: int, frame: DurableSubscribe, account: str) -> None:
        """Let a client receive the messages of a subscription, which is created if it does not exist."""
        subscription = self._by_name.get((account, frame.name))
        if subscription is None:
            subscription = self._create(frame, account)
        else:
            self._check_same(subscription.saved, frame)
            self._change_limits(subscription, frame.limits)
        self.detach(link, frame.id)
        self._attached[link, frame.id] = subscription
        subscription.attach(Consumer(link, frame.id, frame.window, frame.ack_wait))
        self._queue.after(partial(self._ready, link, frame, subscription, self._context.now + frame.wait))

    def detach(self, link: int, id: int) -> bool:
        """Stop sending messages to a client; return whether it had such a subscription."""
        subscription = self._attached.pop((link, id), None)
        if subscription is None:
            return False
        subscription.detach(link, id)
        subscription.deliver(self._context.now)
        self._unconfirmed = [each for each in self._unconfirmed if (each.link, each.id) != (link, id)]
        return True

    def remove_client(self, link: int) -> None:
        """Stop sending messages to a client that has left."""
        for _, id in [key for key in self._attached if key[0] == link]:
            self.detach(link, id)

    def acknowledge(self, link: int, id: int, offsets: Collection[int], up_to: int) -> None:
        """Remove messages that a client has handled."""
        subscription = self._attached.get((link, id))
        if subscription is not None:
            subscription.acknowledge(link, id, offsets, up_to)
            subscription.deliver(self._context.now)

    def remove(self, account: str, name: str, done: Callable[[], None]) -> None:
        """Remove a subscription and its messages; done: called when they are gone from the disk."""
        subscription = self._by_name.pop((account, name), None)
        if subscription is None:
            raise InputError(f"there is no durable subscription {name!r} at router {self._context.name}")
        for link, id in [key for key, each in self._attached.items() if each is subscription]:
            self.detach(link, id)
            reason = f"durable subscription {name!r} was removed"
            self._context.outbox.send(link, RefusedFrame(FrameNumber.DURABLE_SUBSCRIBE, id, reason))
        del self._home.subscriptions[subscription.id]
        self._queue.add(DropSubscription(subscription.id))
        if self._filters.pop(subscription.id, None) is not None:
            self._table.remove(InternalSubscriber.DURABLE, subscription.id)
            self._announce()
        self._queue.after(done)

    def predicate(self, account: str, name: str) -> str:
        """Return the predicate of a subscription; empty if there is none."""
        subscription = self._by_name.get((account, name))
        return "" if subscription is None else subscription.saved.predicate

    def attached(self, link: int) -> list[tuple[int, str]]:
        """Return the id and predicate of each subscription whose messages a client receives."""
        return [(id, each.saved.predicate) for (of, id), each in self._attached.items() if of == link]

    def all(self, account: str | None) -> list[DurableSubscription]:
        """Return the subscriptions of an account; None: of all."""
        return [each for (owner, _), each in sorted(self._by_name.items()) if account in (None, owner)]

    # --- creation

    def _create(self, frame: DurableSubscribe, account: str) -> DurableSubscription:
        elsewhere = self._records.home_of(account, frame.name)
        if elsewhere is not None and elsewhere.owner != self._context.name:
            where = f"{elsewhere.owner}, {elsewhere.address}" if elsewhere.address else elsewhere.owner
            raise InputError(f"durable subscription {frame.name!r} lives at router {where}", hint="connect there")
        if not frame.predicate:
            raise InputError(f"there is no durable subscription {frame.name!r}", hint="give a predicate to create it")
        filters = self._all_filters().union(predicate_to_bytes(frame.predicate))
        for what, count, limit in (
            ("filters of the durable subscriptions of a router", len(filters), MAX_FRAME_FILTERS),
            ("bytes of these filters", sum(map(len, filters)), _MAX_FILTER_BYTES),
            ("durable subscriptions of a router", len(self._by_name) + 1, MAX_FRAME_FILTERS),
        ):
            if count > limit:
                raise LimitError(what, count, limit)
        saved = SavedSubscription(self._next_id, account, frame.name, frame.predicate, frame.limits or NO_LIMITS)
        self._next_id += 1
        self._queue.add(SaveSubscription(saved))
        self._queue.after(partial(self._created, saved))
        return self._add(saved, Backlog())

    def _add(self, saved: SavedSubscription, backlog: Backlog) -> DurableSubscription:
        subscription = DurableSubscription(saved, backlog, self._queue, self._context.outbox.send)
        self._by_name[saved.account, saved.name] = self._home.subscriptions[saved.id] = subscription
        return subscription

    def _created(self, saved: SavedSubscription) -> None:
        if saved.id in self._home.subscriptions:  # else it was removed meanwhile
            self._activate(saved)
            self._announce()

    def _activate(self, saved: SavedSubscription) -> None:
        """Receive the messages of a subscription that is on disk."""
        self._filters[saved.id] = predicate_to_bytes(saved.predicate)
        self._table.set(InternalSubscriber.DURABLE, saved.id, self._filters[saved.id])

    def _check_same(self, saved: SavedSubscription, frame: DurableSubscribe) -> None:
        if frame.predicate and {*predicate_to_bytes(frame.predicate)} != {*predicate_to_bytes(saved.predicate)}:
            raise InputError(
                f"durable subscription {saved.name!r} has another predicate: {saved.predicate}",
                hint="use that one, another name, or remove the subscription first",
            )

    def _change_limits(self, subscription: DurableSubscription, limits: DurableLimits | None) -> None:
        saved = subscription.saved
        if limits is not None and limits != saved.limits:
            subscription.saved = SavedSubscription(saved.id, saved.account, saved.name, saved.predicate, limits)
            self._queue.add(SaveSubscription(subscription.saved))

    # --- confirmation

    def _ready(self, link: int, frame: DurableSubscribe, subscription: DurableSubscription, deadline: float) -> None:
        """Answer a client whose subscription is on disk, or wait until all routers know of it."""
        if self._attached.get((link, frame.id)) is not subscription:
            return
        subscription.deliver(self._context.now)
        if not frame.wait:
            self._context.outbox.send(link, Subscribed(frame.id, False, 1, []))
            return
        filters = self._filters.get(subscription.id, ())
        sequence = self._version.sequence
        self._unconfirmed.append(_Unconfirmed(link, frame.id, filters, sequence, deadline))
        if self._missing(sequence):
            self._announce()  # those who have this version do not acknowledge it again

    def _missing(self, sequence: int) -> list[str]:
        return self._records.unacknowledged(sequence, self._versions.newest.names)

    def check(self) -> None:
        """Confirm subscriptions whose record all routers have; flood it again if some have not acknowledged it."""
        now = self._context.now
        waiting, self._unconfirmed = self._unconfirmed, []
        for each in waiting:
            missing = self._missing(each.sequence)
            if not missing:
                left = max(0.001, each.deadline - now)
                self._confirmations.wait(each.link, each.id, SUBSCRIPTION, each.filters, left)
            elif now >= each.deadline:
                routers = len(self._versions.newest.names)
                self._context.outbox.send(each.link, Subscribed(each.id, False, routers, missing))
            else:
                self._unconfirmed.append(each)
        is_due = now - self._flooded >= self._context.settings.retry
        if is_due and (self._unconfirmed or self._above is not None):
            self._announce()

    # --- the own record

    @property
    def _version(self) -> RecordVersion:
        own = self._records.get(self._context.name)
        return RecordVersion(0, self._journal_id) if own is None else RecordVersion(own.sequence, own.life)

    def _all_filters(self) -> set[bytes]:
        return {filter for filters in self._filters.values() for filter in filters}

    def _announce(self) -> None:
        """Flood a new version of the own record."""
        own = self._records.get(self._context.name)
        if own is None and not self._filters and self._above is None:
            return
        sequence, life = (self._above or self._version).next(self._journal_id)
        self._above = None
        names = [key for key, each in sorted(self._by_name.items()) if each.id in self._filters]
        filters = sorted(self._all_filters())
        self._flooded = self._context.now
        self._records.set_own(HomeRecord(self._context.name, life, sequence, self.address, names, filters))

    def _outbid(self, version: RecordVersion) -> None:
        """Outbid a version of the own record at the next check: another router may have this name, and do so, too."""
        self._above = version

    def set_address(self, address: str) -> None:
        """Set the address that clients connect to; the record has it."""
        self.address = address
        own = self._records.get(self._context.name)
        if own is not None and own.names and own.address != address:
            self._announce()
