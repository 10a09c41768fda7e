"""Durable subscription at its home: its messages, and their delivery to consumers.

    appended ──► on disk ──► sent to a consumer ──► acknowledged: removed from the disk
                     ▲               │
                     └── not acknowledged in time, or the consumer left: sent again, perhaps to another one

A message is sent only once it is on disk, and always the first one that no consumer holds: so messages are delivered in
the order of offsets, also to a client that reconnects. New messages are kept in memory until they are sent, as far as
there is room; others are read from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from cbnet.network.durable.backlog import Backlog
from cbnet.network.durable.consumers import Consumer, Consumers
from cbnet.network.durable.journal import Append, Discard, Entry, Read, ReadResult, SavedSubscription
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.durable.losses import Losses
from cbnet.network.protocol.frames import DurableDeliver, DurableField, DurableLost

_MAX_LOADED = 1 << 20  # bytes of messages in memory beyond which new ones are not kept there
_READ_MESSAGES, _READ_BYTES = 256, 1 << 20  # read from the journal at once

SendToClient: TypeAlias = Callable[[int, DurableDeliver | DurableLost], None]


class DurableSubscription:
    """One durable subscription."""

    def __init__(
        self, saved: SavedSubscription, backlog: Backlog, losses: Losses, queue: JournalQueue, send: SendToClient
    ) -> None:
        self.saved = saved
        self.backlog = backlog
        self.losses = losses
        self.consumers = Consumers()
        self._dropped: list[int] = []  # offsets, in this turn
        self._queue = queue
        self._send = send
        self._on_disk = backlog.next  # offsets below are on disk
        self._cursor = backlog.first  # all unacknowledged messages below are held by consumers
        self._deliveries: dict[int, int] = {}  # how often each unacknowledged message was sent
        self._loaded: dict[int, Entry] = {}  # messages in memory that no consumer holds: new ones, and those read
        self._loaded_bytes = 0
        self._is_reading = False

    @property
    def id(self) -> int:
        """Its number at this router."""
        return self.saved.id

    # --- storing

    def refusal(self, size: int) -> str:
        """Return why a message cannot be stored; empty if it can."""
        limits = self.saved.limits
        if limits.policy != "refuse" or not self._is_over(size):
            return ""
        kept = f"{self.backlog.messages:,} messages, {self.backlog.bytes:,} bytes"
        return f"durable subscription {self.saved.name} is full: {kept}"

    def _is_over(self, size: int) -> bool:
        """Return whether another message would exceed a limit."""
        limits, backlog = self.saved.limits, self.backlog
        is_over_count = bool(limits.messages) and backlog.messages + 1 > limits.messages
        return is_over_count or (bool(limits.bytes) and backlog.bytes + size > limits.bytes)

    def append(self, source: str, incarnation: int, number: int, content: bytes, time: float) -> int:
        """Store a message; return the number of older ones dropped for it."""
        dropped = 0
        while self.backlog.messages and self._is_over(len(content)):
            self._drop(self.backlog.first)
            dropped += 1
        offset = self.backlog.append(len(content), time)
        entry = Entry(self.id, offset, time, source, incarnation, number, content)
        self._queue.add(Append(entry))
        if len(self.consumers) and self._loaded_bytes < _MAX_LOADED:
            self._load(entry)
        return dropped

    def _load(self, entry: Entry) -> None:
        self._loaded[entry.offset] = entry
        self._loaded_bytes += len(entry.content)

    def _unload(self, offset: int) -> Entry | None:
        entry = self._loaded.pop(offset, None)
        if entry is not None:
            self._loaded_bytes -= len(entry.content)
        return entry

    def written(self, end: int) -> None:
        """Record that all messages before an offset are on disk."""
        self._on_disk = end

    def refuse(self) -> None:
        """Count a message that is not stored and whose publisher is not notified."""
        self.losses.refuse()

    def _drop(self, offset: int) -> None:
        self._forget(offset)
        self.backlog.remove(offset)
        self._dropped.append(offset)
        self._queue.before_submit(self._discard_dropped)

    def _discard_dropped(self) -> None:
        """Remove dropped messages from the disk, and save their number as a loss in the same transaction."""
        if self._dropped:
            self._discard(self._dropped[0], self._dropped[-1] + 1)
            self.losses.add(len(self._dropped))
            self._dropped.clear()

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""
        age, backlog = self.saved.limits.age, self.backlog
        while age and backlog.messages and backlog.time(backlog.first) < now - age:
            self._drop(backlog.first)

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
            self._loaded_bytes = 0

    def check(self, now: float) -> None:
        """Send again the messages that were not acknowledged in time, and report losses."""
        self._requeue(self.consumers.overdue(now))
        self.report()
        self.losses.check()
        self.deliver(now)

    def report(self) -> None:
        """Send each consumer the losses not yet reported to it."""
        self._discard_dropped()
        for consumer in self.consumers:
            for loss in self.losses.after(consumer.reported):
                self._send(consumer.link, DurableLost(consumer.id, loss.messages, loss.cause, loss.number))
                consumer.reported = loss.number

    def _requeue(self, offsets: Iterable[int]) -> None:
        self._cursor = min([self._cursor, *offsets])

    def deliver(self, now: float) -> None:
        """Send messages while consumers have room."""
        while (consumer := self.consumers.next()) is not None:
            entry = self._next()
            if entry is None:
                return
            if self._dropped or not self.losses.is_reported:
                self.report()
            self._deliver(consumer, entry, now)

    def _deliver(self, consumer: Consumer, entry: Entry, now: float) -> None:
        offset = entry.offset
        self.consumers.sent(consumer, offset, len(entry.content), now)
        count = self._deliveries[offset] = self._deliveries.get(offset, 0) + 1
        self._send(consumer.link, consumer.delivery(entry, count))

    def _next(self) -> Entry | None:
        """Return the next message to send; None if there is none, or if it is being read."""
        while self._cursor < self._on_disk:
            entry = self._unload(self._cursor)
            if entry is None and self._is_due(self._cursor):
                self._request()
                return None
            self._cursor += 1
            if entry is not None:
                return entry
        return None

    def _is_due(self, offset: int) -> bool:
        """Return whether a message is not acknowledged, and no consumer holds it."""
        return offset in self.backlog and not self.consumers.holds(offset)

    def _request(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._queue.add(Read(self.id, self._cursor, min(_READ_MESSAGES, self.consumers.room), _READ_BYTES))

    def read(self, result: ReadResult) -> None:
        """Handle messages that were read; count those that should be among them and are not as lost."""
        self._is_reading = False
        if not len(self.consumers):
            return
        for entry in result.entries:
            if self._is_due(entry.offset) and entry.offset not in self._loaded:
                self._load(entry)
        missing = 0
        end = min(result.end, self._on_disk)
        while result.first <= self._cursor < end and self._cursor not in self._loaded:
            if self._is_due(self._cursor):
                self._forget(self._cursor)
                missing += self.backlog.remove(self._cursor)
            self._cursor += 1
        if missing:
            self.losses.add(missing, f"{missing:,} messages of durable subscription {self.saved.name} were damaged")

    # --- acknowledging

    def acknowledge(self, link: int, id: int, offsets: Iterable[int], up_to: int, losses: int = 0) -> None:
        """Remove acknowledged messages: those at `offsets`, and all that the client holds up to `up_to`; and losses."""
        consumer = self.consumers.get(link, id)
        held = () if consumer is None else consumer.held
        chosen = {offset for offset in offsets if offset in self._deliveries}
        self._remove(sorted(chosen.union(offset for offset in held if offset <= up_to)))
        if losses and consumer is not None:
            self.losses.acknowledge(min(losses, consumer.reported))

    def _remove(self, offsets: Iterable[int]) -> None:
        """Remove messages, in the order of offsets."""
        first = end = 0
        for offset in offsets:
            self._forget(offset)
            if not self.backlog.remove(offset):
                continue
            if offset != end:
                self._discard(first, end)
                first = offset
            end = offset + 1
        self._discard(first, end)

    def _forget(self, offset: int) -> None:
        """Forget the deliveries of a message that is removed."""
        self.consumers.release(offset)
        self._deliveries.pop(offset, None)
        self._unload(offset)

    def _discard(self, first: int, end: int) -> None:
        if end:
            self._queue.add(Discard(self.id, first, end))

    # --- status

    def status(self) -> DurableField:
        """Return the status of the subscription."""
        return DurableField(
            name=self.saved.name,
            account=self.saved.account,
            predicate=self.saved.predicate,
            limits=self.saved.limits,
            messages=self.backlog.messages,
            bytes=self.backlog.bytes,
            next=self.backlog.next,
            unacknowledged=self.consumers.held,
            clients=len(self.consumers),
            lost=self.losses.lost,
        )
