"""A durable subscription at its home: its messages, and their way to consumers.

    appended ──► on disk ──► sent to a consumer ──► acknowledged: removed from the disk
                     ▲               │
                     └── not acknowledged in time, or the consumer left: sent again, perhaps to another one

A message is sent only when it is on disk. New ones are kept in memory, as far as there is room, until they are sent;
others are read from the journal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import TypeAlias

from cbnet.network.durable.backlog import Backlog
from cbnet.network.durable.consumers import Consumer, Consumers
from cbnet.network.durable.journal import Append, Discard, Entry, Read, ReadResult, SavedSubscription
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.protocol.frames import DurableDeliver, DurableField, DurableLost

_MAX_FRESH = 1 << 20  # bytes of new messages that are kept in memory
_READ_MESSAGES, _READ_BYTES = 256, 1 << 20  # read from the journal at once

SendToClient: TypeAlias = Callable[[int, DurableDeliver | DurableLost], None]


class DurableSubscription:
    """One durable subscription."""

    def __init__(self, saved: SavedSubscription, backlog: Backlog, queue: JournalQueue, send: SendToClient) -> None:
        self.saved = saved
        self.backlog = backlog
        self.consumers = Consumers()
        self.lost = 0  # messages dropped because of the limits
        self._unreported = 0  # of these
        self._queue = queue
        self._send = send
        self._on_disk = backlog.next  # offsets below are on disk
        self._cursor = backlog.first  # offsets below were sent, or are in `ready`
        self._deliveries: dict[int, int] = {}  # how often messages were sent that are not acknowledged
        self._again: list[int] = []  # a heap of messages to send again; acknowledged ones may be among them
        self._ready: deque[Entry] = deque()  # read, and to be sent next
        self._fresh: deque[Entry] = deque()  # the last ones that were appended
        self._fresh_bytes = 0
        self._is_reading = False

    @property
    def id(self) -> int:
        """Its number at this router."""
        return self.saved.id

    # --- storing

    def refusal(self, size: int) -> str:
        """Return why a message is not stored; empty if it is."""
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

    def append(self, source: str, life: int, number: int, content: bytes, time: float) -> int:
        """Store a message; return how many older ones were dropped for it."""
        dropped = 0
        while self.backlog.messages and self._is_over(len(content)):
            self._drop(self.backlog.first)
            dropped += 1
        offset = self.backlog.append(len(content), time)
        entry = Entry(self.id, offset, time, source, life, number, content)
        self._queue.add(Append(entry))
        if len(self.consumers):
            self._fresh.append(entry)
            self._fresh_bytes += len(content)
            while self._fresh_bytes > _MAX_FRESH:
                self._forget_fresh()
        return dropped

    def _forget_fresh(self) -> Entry:
        entry = self._fresh.popleft()
        self._fresh_bytes -= len(entry.content)
        return entry

    def written(self, end: int) -> None:
        """Handle that all messages before an offset are on disk."""
        self._on_disk = end

    def refuse(self, messages: int = 1) -> None:
        """Count messages that are not stored, and whose publishers do not learn of it."""
        self.lost += messages
        self._unreported += messages

    def notify(self, cause: str) -> None:
        """Notify the clients that messages may be missing; how many is not known."""
        for consumer in self.consumers:
            self._send(consumer.link, DurableLost(consumer.id, 0, cause))

    def _drop(self, offset: int) -> None:
        self._remove([offset])
        self.refuse()

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""
        age, backlog = self.saved.limits.age, self.backlog
        while age and backlog.messages and backlog.time(backlog.first) < now - age:
            self._drop(backlog.first)

    # --- sending

    def attach(self, consumer: Consumer) -> None:
        """Add a consumer."""
        self._requeue(self.consumers.set(consumer))

    def detach(self, link: int, id: int) -> None:
        """Remove a consumer: what it holds goes to others."""
        self._requeue(self.consumers.remove(link, id))
        if not len(self.consumers):
            self._fresh.clear()
            self._fresh_bytes = 0

    def check(self, now: float) -> None:
        """Send messages again that were not acknowledged in time, and report dropped ones."""
        self._requeue(self.consumers.overdue(now))
        if self._unreported and len(self.consumers):
            for consumer in self.consumers:
                self._send(consumer.link, DurableLost(consumer.id, self._unreported))
            self._unreported = 0
        self.deliver(now)

    def _requeue(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            heappush(self._again, offset)

    def deliver(self, now: float) -> None:
        """Send messages while consumers have room."""
        while (consumer := self.consumers.next()) is not None:
            entry = self._next()
            if entry is None:
                return
            self._deliver(consumer, entry, now)

    def _deliver(self, consumer: Consumer, entry: Entry, now: float) -> None:
        offset = entry.offset
        self.consumers.sent(consumer, offset, len(entry.content), now)
        count = self._deliveries[offset] = self._deliveries.get(offset, 0) + 1
        self._send(
            consumer.link,
            DurableDeliver(
                id=consumer.id,
                offset=offset,
                deliveries=count,
                source=entry.source,
                life=entry.life,
                number=entry.number,
                content=entry.content,
            ),
        )

    def _next(self) -> Entry | None:
        """Return the next message to send; None if there is none, or if it is being read."""
        while self._ready:
            entry = self._ready.popleft()
            if entry.offset in self.backlog:
                return entry
        while self._again and self._again[0] not in self.backlog:
            heappop(self._again)
        while self._cursor < self._on_disk and self._cursor not in self.backlog:
            self._cursor += 1
        while self._fresh and self._fresh[0].offset < self._cursor:
            self._forget_fresh()
        if not self._again and self._fresh and self._fresh[0].offset == self._cursor < self._on_disk:
            self._cursor += 1
            return self._forget_fresh()
        if (self._again or self._cursor < self._on_disk) and not self._is_reading:
            self._is_reading = True
            first = min([*self._again[:1], self._cursor])
            self._queue.add(Read(self.id, first, min(_READ_MESSAGES, self.consumers.room), _READ_BYTES))
        return None

    def read(self, result: ReadResult) -> None:
        """Handle messages that were read."""
        self._is_reading = False
        end = min(result.end, self._on_disk)
        again = {offset for offset in self._again if result.first <= offset < end}
        if again:
            self._again = sorted(offset for offset in self._again if offset not in again)  # which is a heap
        for entry in result.entries:
            if entry.offset < end and (entry.offset in again or entry.offset >= self._cursor):
                self._ready.append(entry)
        self._cursor = max(self._cursor, end)

    # --- acknowledging

    def acknowledge(self, link: int, id: int, offsets: Iterable[int], up_to: int) -> None:
        """Remove messages that a client has handled: some, and all up to an offset that it holds."""
        consumer = self.consumers.get(link, id)
        held = () if consumer is None else consumer.held
        chosen = {offset for offset in offsets if offset in self._deliveries}
        self._remove(sorted(chosen.union(offset for offset in held if offset <= up_to)))

    def _remove(self, offsets: Iterable[int]) -> None:
        """Remove messages, in the order of offsets."""
        first = end = 0
        for offset in offsets:
            self.consumers.release(offset)
            self._deliveries.pop(offset, None)
            if not self.backlog.remove(offset):
                continue
            if offset != end:
                self._discard(first, end)
                first = offset
            end = offset + 1
        self._discard(first, end)

    def _discard(self, first: int, end: int) -> None:
        if end:
            self._queue.add(Discard(self.id, first, end))

    # --- status

    def status(self) -> DurableField:
        """Return its state."""
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
            lost=self.lost,
        )
