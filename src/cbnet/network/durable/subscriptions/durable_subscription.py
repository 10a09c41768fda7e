"""Durable subscription at its home: its messages, and their delivery to consumers.

    in the log ──► on disk ──► sent to a consumer ──► acknowledged: removed from its cursor
                       ▲               │
                       └── not acknowledged in time, or the consumer left: sent again, perhaps to another one;
                           after `max_deliveries`, to the dead letters

A message is sent only once it is on disk, and always the first one that no consumer holds: so messages are delivered in
the order of offsets, also to a client that reconnects. Those that are not in the tail of the log are read from the
journal, some at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf
from typing import TypeAlias

from cbnet.network.durable.home_log.journal import Entry, SavedSubscription
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_log.losses import Losses
from cbnet.network.durable.home_log.message_run import RunPart
from cbnet.network.durable.subscriptions.consumers import Consumer, Consumers
from cbnet.network.durable.subscriptions.dead_letters import DeadLetters
from cbnet.network.protocol.fields import DurableName
from cbnet.network.protocol.frames import DurableDeliver, DurableField, DurableLost

_READ_MESSAGES, _READ_BYTES = 256, 1 << 20  # read from the journal at once

SendToClient: TypeAlias = Callable[[int, DurableDeliver | DurableLost], None]


class DurableSubscription:
    """One durable subscription."""

    def __init__(
        self, saved: SavedSubscription, losses: Losses, log: Log, send: SendToClient, dead_letters: DeadLetters
    ) -> None:
        self.saved = saved
        self.losses = losses
        self.cursor = log.cursors[saved.id]
        self.consumers = Consumers()
        self._log = log
        self._send = send
        self._dead_letters = dead_letters
        self._following = self.cursor.first  # all unacknowledged messages below are held by consumers
        self._unassigned = inf  # offsets from here on are not on disk, though their messages are
        self._assigned_end = 0  # offset after the last one that was assigned
        self._deliveries: dict[int, int] = {}  # how often each unacknowledged message was sent
        self._redelivered = 0  # times that a message was sent again
        self._loaded: dict[int, Entry | None] = {}  # messages read that no consumer holds, by offset; None: damaged
        self._is_reading = False

    @property
    def id(self) -> int:
        """Its number at this router."""
        return self.saved.id

    @property
    def owner(self) -> DurableName:
        """Its account and name."""
        return self.saved.account, self.saved.name

    # --- storing

    def refusal(self, size: int) -> str:
        """Return why a message cannot be stored; empty if it can."""
        limits, cursor, use = self.saved.limits, self.cursor, self.cursor.use
        if cursor.has_room(limits, 1, size):
            return ""
        if limits.policy != "refuse":  # all that it keeps may be dropped
            return "" if use.has_room(1 - cursor.messages, size - cursor.bytes) else use.refusal
        if cursor.fits(limits, 1, size):
            return use.refusal
        return self._full

    @property
    def _full(self) -> str:
        kept = f"{self.cursor.messages:,} messages, {self.cursor.bytes:,} bytes"
        return f"durable subscription {self.saved.name} is full: {kept}"

    def has_room(self, messages: int, size: int) -> bool:
        """Return whether messages fit, also if all subscriptions of the account get them; size: of their contents."""
        use = self.cursor.use
        has_quota = use.has_room(messages * use.subscriptions, size * use.subscriptions)
        return has_quota and self.cursor.fits(self.saved.limits, messages, size)

    def extend(self, part: RunPart) -> None:
        """Add new messages of the log, for which there is room, to the cursor."""
        self.cursor.extend(part.positions, part.bytes)

    def append(self, entry: Entry) -> int:
        """Add a new message of the log to the cursor; return the number of older ones dropped for it."""
        dropped, limits = 0, self.saved.limits
        if limits.policy != "refuse":  # else there was room for it before other subscriptions of the account took it
            for offset in self.cursor.surplus(limits, len(entry.content)):
                self._drop(offset)
                dropped += 1
        self.cursor.append(entry.position, len(entry.content))
        return dropped

    def assign(self, entry: Entry) -> None:
        """Add a message of the history, which is on disk, to the cursor."""
        self._log.assign(entry, self.id)
        self._unassigned = min(self._unassigned, self.cursor.next)
        self.append(entry)
        self._assigned_end = self.cursor.next

    def assigned(self, end: int) -> None:
        """Record that all offsets below one are on disk."""
        self._unassigned = inf if end >= self._assigned_end else end

    def refuse(self, size: int | None = None) -> None:
        """Count a message as lost: it is not stored; size: if there is no room for it."""
        is_quota = size is not None and self.cursor.fits(self.saved.limits, 1, size)
        self.losses.refuse(self.cursor.use.cause if is_quota else "")

    def refusal_of_copy(self, size: int) -> str:
        """Return why a message of another subscription of this account cannot be moved here; empty if it can.

        The quotas of the account do not matter, as it keeps as many messages as before.
        """
        if self.saved.start:
            return f"durable subscription {self.saved.name} still searches the history for its messages"
        limits = self.saved.limits
        return "" if limits.policy != "refuse" or self.cursor.fits(limits, 1, size) else self._full

    def add_copy(self, entry: Entry, content: bytes) -> None:
        """Add a message that was removed from another subscription of this account, perhaps with another content."""
        copy = self._log.append([self.id], entry.source, entry.incarnation, entry.number, content)
        while self.cursor.messages and not self.cursor.fits(self.saved.limits, 1, len(content)):
            self._drop(self.cursor.first)
        self.cursor.append(copy.position, len(content))

    def _drop(self, offset: int, cause: str = "") -> None:
        """Drop a message; the loss is saved in the same transaction."""
        self._forget(offset)
        self.cursor.remove(offset)
        self.losses.add(1, cause)

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""
        age, quota = self.saved.limits.age, self.cursor.use.rights.durable_age
        is_quota = quota is not None and not 0 < age <= quota
        for offset in self.cursor.outdated(quota if is_quota and quota is not None else age, now):
            self._drop(offset, self.cursor.use.cause if is_quota else "")

    # --- sending

    def attach(self, consumer: Consumer) -> None:
        """Add a consumer."""
        self._requeue(self.consumers.set(consumer))
        self.report()

    def detach(self, link: int, id: int) -> None:
        """Remove a consumer; the messages that it holds go to others."""
        self._requeue(self.consumers.remove(link, id))
        if not len(self.consumers):
            self._loaded.clear()

    def check(self, now: float) -> None:
        """Send again the messages that were not acknowledged in time, and report losses."""
        self._requeue(self.consumers.overdue(now))
        self.report()
        self.losses.check()
        self.deliver(now)

    def report(self) -> None:
        """Send each consumer the losses not yet reported to it."""
        for consumer in self.consumers:
            for loss in self.losses.after(consumer.reported):
                self._send(consumer.link, DurableLost(consumer.id, loss.messages, loss.cause, loss.number))
                consumer.reported = loss.number

    def _requeue(self, offsets: Iterable[int]) -> None:
        self._following = min([self._following, *offsets])

    def deliver(self, now: float) -> None:
        """Send messages while consumers have room."""
        while (consumer := self.consumers.next()) is not None:
            entry = self._next()
            if entry is None:
                return
            if self._is_dead(self._following, entry):
                continue
            if not self.losses.is_reported:
                self.report()
            self._deliver(consumer, self._following, entry, now)
            self._following += 1

    def _is_dead(self, offset: int, entry: Entry) -> bool:
        """Remove a message that was delivered as often as allowed; return whether that is so."""
        most, deliveries = self.saved.limits.max_deliveries, self._deliveries.get(offset, 0)
        if not most or deliveries < most:
            return False
        if self.saved.limits.dead_letter:
            return self._dead_letters.take(self, offset, deliveries, entry)
        self.remove([offset])
        self.losses.add(1, f"not acknowledged within max_deliveries ({most:,})")
        return True

    def _deliver(self, consumer: Consumer, offset: int, entry: Entry, now: float) -> None:
        self._loaded.pop(offset, None)
        self.consumers.sent(consumer, offset, len(entry.content), now)
        count = self._deliveries[offset] = self._deliveries.get(offset, 0) + 1
        self._redelivered += count > 1
        self._send(consumer.link, consumer.delivery(offset, entry, count))

    def _next(self) -> Entry | None:
        """Return the next message to send, and move to it; None if there is none, or if it is being read."""
        entry, lost = None, 0
        while entry is None:
            offset = self._following = max(self._following, self.cursor.first)
            if not self.is_on_disk(offset):
                break
            if not self._is_due(offset):
                self._following += 1
                continue
            entry = self._log.newest(self.cursor.position(offset)) or self._loaded.get(offset)
            if entry is None and offset not in self._loaded:
                self._request()
                break
            if entry is None:
                self._forget(offset)
                lost += self.cursor.remove(offset)
        if lost:
            self.losses.add(lost, f"{lost:,} messages of durable subscription {self.saved.name} were damaged")
        return entry

    def is_on_disk(self, offset: int) -> bool:
        """Return whether a message exists, and is on disk for this subscription; True if it was acknowledged."""
        exists = offset < self.cursor.next and offset < self._unassigned
        return exists and self.cursor.position(offset) < self._log.on_disk

    def _is_due(self, offset: int) -> bool:
        """Return whether a message is not acknowledged, and no consumer holds it."""
        return offset in self.cursor and not self.consumers.holds(offset)

    def _request(self) -> None:
        """Read the next messages for which the consumers have room."""
        if self._is_reading:
            return
        offsets: list[int] = []
        size = 0
        offset = self._following
        count = min(_READ_MESSAGES, self.consumers.room)
        while len(offsets) < count and size < _READ_BYTES and self.is_on_disk(offset):
            if self._is_due(offset):
                offsets.append(offset)
                size += self.cursor.size(offset)
            offset += 1
        self._is_reading = True
        positions = [*map(self.cursor.position, offsets)]
        self._log.read(positions, partial(self._read, offsets), self.saved.account)

    def _read(self, offsets: Iterable[int], entries: Mapping[int, Entry], now: float) -> None:
        """Handle messages that were read."""
        self._is_reading = False
        if len(self.consumers):
            due = [offset for offset in offsets if self._is_due(offset)]
            self._loaded.update((offset, entries.get(self.cursor.position(offset))) for offset in due)
            self.deliver(now)

    # --- acknowledging

    def acknowledge(self, link: int, id: int, offsets: Iterable[int], up_to: int, losses: int = 0) -> None:
        """Remove acknowledged messages: those at `offsets`, and all that the client holds up to `up_to`; and losses."""
        consumer = self.consumers.get(link, id)
        held = () if consumer is None or not up_to else consumer.held
        chosen = {offset for offset in offsets if offset in self._deliveries}
        self.remove(sorted(chosen.union(offset for offset in held if offset <= up_to)))
        if losses and consumer is not None:
            self.losses.acknowledge(min(losses, consumer.reported))

    def remove(self, offsets: Iterable[int]) -> None:
        """Remove messages, in this order."""
        for offset in offsets:
            self._forget(offset)
            self.cursor.remove(offset)

    def _forget(self, offset: int) -> None:
        """Forget the deliveries of a message that is removed."""
        self.consumers.release(offset)
        self._deliveries.pop(offset, None)
        self._loaded.pop(offset, None)

    # --- status

    def deliveries(self, offset: int) -> int:
        """Return how often a message was sent."""
        return self._deliveries.get(offset, 0)

    def status(self) -> DurableField:
        """Return the status of the subscription."""
        return DurableField(
            name=self.saved.name,
            account=self.saved.account,
            predicate=self.saved.predicate,
            limits=self.saved.limits,
            messages=self.cursor.messages,
            bytes=self.cursor.bytes,
            next=self.cursor.next,
            unacknowledged=self.consumers.held,
            clients=len(self.consumers),
            lost=self.losses.lost,
            oldest=self.cursor.time(self.cursor.first) if self.cursor.messages else 0.0,
            redelivered=self._redelivered,
        )
