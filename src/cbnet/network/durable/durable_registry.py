"""Durable subscriptions of a router: creation, sharing, confirmation, limits and removal.

A subscription takes effect once it is on disk: its filters are announced like those of clients, and the record of
this home is flooded. With `wait`, a client is answered when all reachable routers have the record and the announcement.

A subscription that begins in the past first receives the messages of the history (`HistoryScan`). Meanwhile new
matching messages reach it through the history, which stores them, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from msgspec.structs import replace

from cbnet.errors import InputError, LimitError
from cbnet.language.relations.covering import covers
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.confirmations import SUBSCRIPTION
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad, filter_load
from cbnet.network.durable.histories.history import StartPoint, no_history
from cbnet.network.durable.histories.replays import HistoryScan, Replays, scan_key
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.cursor import AccountUse
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_log.losses import Losses
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.durable.subscriptions.consumers import Consumer
from cbnet.network.durable.subscriptions.dead_letters import DeadLetters
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet.network.durable.subscriptions.ended_subscriptions import EndedSubscription, EndedSubscriptions, end_cause
from cbnet.network.durable.subscriptions.stored_messages import StoredMessages
from cbnet.network.forwarding.forwarding_table import InternalSubscriber
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol import frames
from cbnet.network.protocol.durable_frames import NO_LIMITS, DurableLimits
from cbnet.network.protocol.fields import MAX_FRAME_FILTERS, DurableName
from cbnet.network.protocol.predicate_texts import filters_of, predicate_of
from cbnet.network.protocol.reasons import ReasonCode, Refusal, refused

_MAX_FILTER_BYTES = 1 << 21  # of all durable subscriptions of a router: they share one record


class _Unconfirmed(NamedTuple):
    """A client whose subscription is in a version of this router's record that some routers lack."""

    link: int
    id: int
    filters: Collection[bytes]
    version: RecordVersion  # of the record that contains it
    deadline: float


class RemovedFigures(NamedTuple):
    """Figures of the subscriptions of an account that were removed in this run of the router."""

    lost: int
    redelivered: int


_NONE_REMOVED: Final = RemovedFigures(0, 0)


class DurableRegistry:
    """The durable subscriptions of one router, by account and name."""

    def __init__(
        self,
        core: RouterCore,
        announcements: Announcements,
        home: Home,
        records: HomeRecords,
        queue: JournalQueue,
        log: Log,
        state: journal.RecoveredState,
        replays: Replays | None,
    ) -> None:
        """Initialise with the content of the journal; replays: readers of the history, if there is one."""
        self._core = core
        self._table = announcements.subscriptions
        self._home = home
        self._queue = queue
        self._log = log
        self._replays = replays
        self._records = records
        self._own = records.own
        self._confirmations = announcements.confirmations
        self._unconfirmed: list[_Unconfirmed] = []  # while some routers lack the record
        self._by_name: dict[DurableName, DurableSubscription] = {}
        self._dead_letters = DeadLetters(self._core, queue, self._by_name)
        self.messages = StoredMessages(self._core, queue, log, self._by_name, self._made_room)
        self._loads: dict[str, FilterLoad] = {}  # by account
        self._uses: dict[str, AccountUse] = {}  # by account
        self._filters = Counter[bytes]()  # of the history and all subscriptions, also of those not on disk yet
        self._attached: dict[tuple[int, int], DurableSubscription] = {}  # by link and id of a client
        self.removed: dict[str, RemovedFigures] = {}  # by account, so that its sums never decrease
        self._unready: dict[tuple[int, int], frames.DurableSubscribe] = {}  # of these: not on disk yet
        # No number is used again while messages of the log still name it.
        self._next_id = max([0, *(saved.id for saved in state.subscriptions), *chain(*state.sets.values())]) + 1
        self.recovered = {saved.id for saved in state.subscriptions}  # ids of those older than this run of the router
        gone = (EndedSubscription(each, state.losses[each.id]) for each in state.subscriptions if each.ended)
        self._ended = EndedSubscriptions(queue, gone)
        if replays is not None:
            history = home.subscriptions[journal.HISTORY_ID] = replays.history
            self._filters.update(history.filters)
            self._own.set_history(history.filters)
            self._table.set(InternalSubscriber.DURABLE, journal.HISTORY_ID, history.filters)
        for saved in state.subscriptions:
            if saved.id != journal.HISTORY_ID and not saved.ended:
                self._recover(saved, state.losses[saved.id])
        if self._own.is_outdated:
            self._records.announce()

    def _recover(self, saved: journal.SavedSubscription, losses: journal.SaveLosses) -> None:
        subscription = self._add(saved, losses)
        history = None if self._replays is None else self._replays.history
        if saved.start and (history is None or not covers(history.predicate, predicate_of(saved.predicate))):
            subscription.losses.add(0, f"{self._core.home} has no history any more to search for messages")
            subscription.saved = replace(saved, start=0)
            self._queue.add(journal.SaveSubscription(subscription.saved))
        self._activate(subscription)

    # --- clients

    def subscribe(self, link: int, frame: frames.DurableSubscribe, account: str) -> None:
        """Attach a client to a subscription, which is created if it does not exist."""
        subscription = self._by_name.get((account, frame.name))
        start: StartPoint | None = None
        if subscription is None:
            if not frame.is_restored:  # else the client goes on waiting
                self._queue.check_writable()
            start = self._locate(frame)
            subscription = self._create(frame, account, 0 if start is None else start.offset)
        else:
            _check_same(subscription.saved, frame)
        self.detach(link, frame.id)
        self._attached[link, frame.id] = subscription
        subscription.attach(Consumer(link, frame.id, frame.window, frame.ack_wait))
        if start is not None and self._replays is not None:
            self._core.outbox.send(link, self._replays.history.replaying(frame.id, start))
            if start.missing:
                subscription.losses.add(0, start.missing)
                subscription.report()
        deadline = self._core.now + frame.wait
        if self._own.has(subscription.id):
            self._ready(link, frame, subscription, deadline)  # also if the disk cannot be written
        else:
            self._unready[link, frame.id] = frame
            self._queue.after(partial(self._ready, link, frame, subscription, deadline))

    def detach(self, link: int, id: int) -> bool:
        """Detach a client from a subscription; return whether it was attached."""
        subscription = self._attached.pop((link, id), None)
        if subscription is None:
            return False
        self._unready.pop((link, id), None)
        subscription.detach(link, id)
        subscription.deliver(self._core.now)
        self._unconfirmed = [each for each in self._unconfirmed if (each.link, each.id) != (link, id)]
        return True

    def acknowledge(self, link: int, frame: frames.Acknowledge) -> None:
        """Remove the messages that a client has acknowledged."""
        subscription = self._attached.get((link, frame.id))
        if subscription is not None:
            subscription.acknowledge(link, frame.id, frame.offsets, frame.up_to, frame.losses)
            self._made_room(subscription)

    def _made_room(self, subscription: DurableSubscription) -> None:
        """Resume what waits for the removal of messages."""
        subscription.deliver(self._core.now)
        if subscription.saved.start and self._replays is not None:
            self._replays.run(scan_key(subscription.id))

    def remove(self, subscription: DurableSubscription) -> int:
        """Remove a subscription and its messages; return their number."""
        self._queue.check_writable()
        messages = self._close(subscription)
        self._queue.add(journal.DropSubscription(subscription.id))
        return messages

    def end(self, account: str) -> list[tuple[str, int]]:
        """End all subscriptions of an account that does not exist; return their names and numbers of messages."""
        self._queue.check_writable()
        ended: list[tuple[str, int]] = []
        for subscription in self.all(account):
            saved, messages = subscription.saved, self._close(subscription)
            subscription.losses.add(messages, end_cause(saved))
            self._ended.add(saved, subscription.losses.saved(), self._log.next)
            ended.append((saved.name, messages))
        return ended

    def _close(self, subscription: DurableSubscription) -> int:
        """Remove a subscription and its messages, except from the disk; return their number."""
        account, name = subscription.owner
        del self._by_name[account, name]
        for link, id in [key for key, each in self._attached.items() if each is subscription]:
            self.detach(link, id)
            removed = Refusal(f"durable subscription {name!r} was removed", ReasonCode.REMOVED)
            self._core.outbox.send(link, refused(frames.frame_number(frames.DurableSubscribe), id, removed))
        del self._home.subscriptions[subscription.id]
        self._loads[account] = self._loads[account].minus(_load(subscription.saved))
        subscription.cursor.use.subscriptions -= 1
        self._filters -= Counter(filters_of(subscription.saved.predicate))
        messages = subscription.cursor.messages
        removed_before, status = self.removed.get(account, _NONE_REMOVED), subscription.status()
        self.removed[account] = RemovedFigures(
            removed_before.lost + status.lost, removed_before.redelivered + status.redelivered
        )
        self._log.close(subscription.id)
        if self._replays is not None:
            self._replays.remove(scan_key(subscription.id))
        if self._own.remove(subscription.id):
            self._table.remove(InternalSubscriber.DURABLE, subscription.id)
            self._table.fib.durable_accounts.pop(subscription.id, None)
            self._records.announce()
        return messages

    def limit(self, subscription: DurableSubscription, frame: frames.DurableLimit) -> DurableLimits:
        """Change limits of a subscription, for further messages; return all."""
        self._queue.check_writable()
        limits = frame.applied_to(subscription.saved.limits)
        self._dead_letters.check(*subscription.owner, limits)
        subscription.saved = replace(subscription.saved, limits=limits)
        self._queue.add(journal.SaveSubscription(subscription.saved))
        if self._own.filters(subscription.id):  # else it is not on disk yet
            self._own.set(subscription.saved, self._own.filters(subscription.id))
            self._queue.after(self._records.announce)
        return limits

    def find(self, account: str, name: str) -> DurableSubscription | None:
        """Return a subscription, if it exists."""
        return self._by_name.get((account, name))

    def existing(self, account: str, name: str) -> DurableSubscription:
        """Return a subscription; raise an `InputError` if there is none."""
        subscription = self.find(account, name)
        if subscription is None:
            of = f" of account {account!r}" if account else ""
            raise InputError(f"there is no durable subscription {name!r}{of} at router {self._core.name}")
        return subscription

    def __len__(self) -> int:
        return len(self._by_name)

    def load(self, account: str) -> FilterLoad:
        """Return the load of the subscriptions of an account."""
        return self._loads.get(account, NO_LOAD)

    def use(self, account: str) -> AccountUse:
        """Return what the subscriptions of an account keep, with its quotas."""
        use = self._uses.get(account)
        if use is None:
            use = self._uses[account] = AccountUse(account, self._core.links.access.rights_of(account))
        return use

    def account_status(self, account: str) -> frames.AccountField:
        """Return what the subscriptions of an account keep, and its quotas."""
        use = self.use(account)
        return frames.AccountField(
            account=account,
            subscriptions=use.subscriptions,
            messages=use.messages,
            bytes=use.bytes,
            max_subscriptions=use.rights.durable_subscriptions,
            max_messages=use.rights.durable_messages,
            max_bytes=use.rights.durable_bytes,
            max_age=use.rights.durable_age,
        )

    def uses(self) -> list[AccountUse]:
        """Return what the subscriptions of each account keep."""
        return [*self._uses.values()]

    def save_former_seconds(self, use: AccountUse) -> None:
        """Save the seconds for which an account has not existed; 0: it exists."""
        use.saved_seconds = use.former_seconds
        for each in self.all(use.account):
            each.saved = replace(each.saved, former_seconds=use.former_seconds)
            self._queue.add(journal.SaveSubscription(each.saved))

    def change_quotas(self) -> None:
        """Apply the quotas of all accounts: they may have changed. What exceeds them stays, without growing."""
        for account, use in self._uses.items():
            use.rights = self._core.links.access.rights_of(account)

    def attached(self, link: int) -> list[tuple[int, str]]:
        """Return the id and predicate of each subscription that a client is attached to."""
        return [(id, each.saved.predicate) for (of, id), each in self._attached.items() if of == link]

    def all(self, account: str | None, after: tuple[str, str] | None = None) -> list[DurableSubscription]:
        """Return the subscriptions of an account, or of all (None), in order; after: those beyond this one."""
        names = sorted(key for key in self._by_name if account in (None, key[0]) and (after is None or key > after))
        return [self._by_name[key] for key in names]

    # --- creation

    def _locate(self, frame: frames.DurableSubscribe) -> StartPoint | None:
        """Return the start point of a new subscription in the history; None: it begins now."""
        if frame.start is None or not frame.predicate:
            return None
        if self._replays is None:
            raise no_history(self._core.name)
        return self._replays.history.locate(frame.start)

    def _create(self, frame: frames.DurableSubscribe, account: str, start: int) -> DurableSubscription:
        if not frame.predicate:
            self._ended.check(account, frame.name)
            raise InputError(f"there is no durable subscription {frame.name!r}", hint="give a predicate to create it")
        count = self.use(account).subscriptions + 1
        self.use(account).rights.check_count("durable_subscriptions", count, f"at this router: {count:,}")
        limits = frame.limits or NO_LIMITS
        self._dead_letters.check(account, frame.name, limits)
        return self.create(account, frame.name, frame.predicate, limits, start)

    def create(
        self, account: str, name: str, predicate: str, limits: DurableLimits, start: int = 0
    ) -> DurableSubscription:
        """Create a subscription, which begins at an offset of the history, or now."""
        self._check_room(predicate)
        saved = journal.SavedSubscription(self._next_id, account, name, predicate, limits, start)
        self._next_id += 1
        self._queue.add(journal.SaveSubscription(saved))
        past = self._replays.history.cursor.anchor(start) if start and self._replays is not None else self._log.next
        self._log.open(saved.id, past)
        losses = journal.SaveLosses(saved.id)
        former = self._ended.take(account, name)
        if former is not None:
            losses = former._replace(subscription=saved.id)
            self._queue.add(losses)
        subscription = self._add(saved, losses)
        self._queue.after(partial(self._created, subscription))
        return subscription

    def _check_room(self, predicate: str) -> None:
        """Raise an `InputError` if there is no room for another subscription."""
        filters = self._filters.keys() | filters_of(predicate)
        for what, count, limit in (
            ("filters of the durable subscriptions of a router", len(filters), MAX_FRAME_FILTERS),
            ("bytes of these filters", sum(map(len, filters)), _MAX_FILTER_BYTES),
            ("durable subscriptions of a router", len(self._by_name) + 1, MAX_FRAME_FILTERS),
        ):
            if count > limit:
                raise LimitError(what, count, limit)

    def _add(self, saved: journal.SavedSubscription, losses: journal.SaveLosses) -> DurableSubscription:
        use = self.use(saved.account)
        use.subscriptions += 1
        use.former_seconds = use.saved_seconds = max(use.former_seconds, saved.former_seconds)
        self._log.cursors[saved.id].charge(use)
        subscription = DurableSubscription(
            saved, Losses(self._queue, losses), self._log, self._core.outbox.send, self._dead_letters
        )
        self._by_name[saved.account, saved.name] = self._home.subscriptions[saved.id] = subscription
        self._loads[saved.account] = self.load(saved.account).plus(_load(saved))
        self._filters.update(filters_of(saved.predicate))
        return subscription

    def _created(self, subscription: DurableSubscription) -> None:
        if subscription.id in self._home.subscriptions:  # else it was removed meanwhile
            self._activate(subscription)
            self._records.announce()

    def _activate(self, subscription: DurableSubscription) -> None:
        """Start storing messages for a subscription that is on disk, first those of the history if it begins there."""
        saved = subscription.saved
        filters = filters_of(saved.predicate)
        self._own.set(saved, filters)
        if saved.start and self._replays is not None:
            scan = HistoryScan(subscription, self._core, self._queue, self._replays, self._receive)
            self._replays.add(scan.key, scan, filters)
            self._replays.run(scan.key)
        else:
            self._receive(subscription)

    def _receive(self, subscription: DurableSubscription) -> None:
        """Store new messages for a subscription from now on."""
        saved = subscription.saved
        self._table.fib.durable_accounts[saved.id] = saved.account
        self._table.set(InternalSubscriber.DURABLE, saved.id, self._own.filters(saved.id))
        self._home.join(saved.id, predicate_of(saved.predicate))

    # --- confirmation

    def _ready(
        self, link: int, frame: frames.DurableSubscribe, subscription: DurableSubscription, deadline: float
    ) -> None:
        """Answer a client whose subscription is on disk, or wait until all routers know it."""
        if self._attached.get((link, frame.id)) is not subscription:
            return
        self._unready.pop((link, frame.id), None)
        subscription.deliver(self._core.now)
        if not frame.wait:
            self._core.outbox.send(link, frames.Subscribed(frame.id, False, 1, []))
            return
        id = journal.HISTORY_ID if subscription.saved.start else subscription.id  # the log that gets its messages
        version = self._records.announced
        self._unconfirmed.append(_Unconfirmed(link, frame.id, self._own.filters(id), version, deadline))
        if self._missing(version) and self._own.may_repeat:
            self._records.announce()  # routers that have this version do not acknowledge it again

    def _confirm(self) -> None:
        """Confirm subscriptions whose record all routers have; flood it again if some have not acknowledged it.

        A router knows a subscription when it has the record and the announcement of its filters. Records are awaited
        first, then announcements, then records again, until no new router lacks one.
        """
        now = self._core.now
        waiting, self._unconfirmed = self._unconfirmed, []
        for each in waiting:
            missing = self._missing(each.version)
            if not missing:
                left = max(0.001, each.deadline - now)
                waits_on = partial(self._waits_on, each)
                self._confirmations.wait(each.link, each.id, SUBSCRIPTION, each.filters, left, waits_on)
            elif now >= each.deadline:
                routers = len(self._core.versions.newest.names)
                self._core.outbox.send(each.link, frames.Subscribed(each.id, False, routers, missing))
            else:
                self._unconfirmed.append(each)
        if self._unconfirmed and self._own.may_repeat:
            self._records.announce()

    def _waits_on(self, each: _Unconfirmed) -> bool:
        """Return whether a router that lacks the record has joined meanwhile; if so, wait for it, too."""
        is_missing = bool(self._missing(each.version))
        if is_missing:
            self._unconfirmed.append(each)
        return is_missing

    def _missing(self, version: RecordVersion) -> list[str]:
        return self._records.unacknowledged(version, self._core.versions.newest.names)

    def check(self) -> None:
        """Do periodic work."""
        self._confirm()
        for (link, id), frame in [*self._unready.items()] if self._queue.stall else ():
            if not frame.is_restored:
                problem = f"durable subscription {frame.name!r} is not created yet: {self._queue.stall}"
                refusal = Refusal(problem, ReasonCode.UNWRITABLE, hint="subscribe again when the disk can be written")
                self._core.outbox.send(link, refused(frames.frame_number(frames.DurableSubscribe), id, refusal))
                self.detach(link, id)

    # --- end

    @property
    def links(self) -> set[int]:
        """The clients that are attached to subscriptions."""
        return {link for link, _ in self._attached}

    def close(self) -> None:
        """Stop receiving messages for all subscriptions, and the history: the router has lost the home."""
        for id in self._home.subscriptions:
            self._table.remove(InternalSubscriber.DURABLE, id)
            self._table.fib.durable_accounts.pop(id, None)


def _check_same(saved: journal.SavedSubscription, frame: frames.DurableSubscribe) -> None:
    """Raise an `InputError` if a client requests an existing subscription with another predicate or other limits."""
    if frame.predicate and {*filters_of(frame.predicate)} != {*filters_of(saved.predicate)}:
        raise InputError(
            f"durable subscription {saved.name!r} has another predicate: {saved.predicate}",
            hint="use that one, another name, or remove the subscription first",
        )
    if frame.limits not in (None, saved.limits) and not frame.is_restored:
        raise InputError(
            f"durable subscription {saved.name!r} has other limits: {saved.limits}, not {frame.limits}",
            hint=f"leave the limits out, or change them by `cbnet durable limit {saved.name}`",
        )


def _load(saved: journal.SavedSubscription) -> FilterLoad:
    load = filter_load(filters_of(saved.predicate))
    return load if load.filters else FilterLoad(0, 1)
