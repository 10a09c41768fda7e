"""Clients of a history in simulated time: publishers, and durable, replaying or plain subscribers, all recorded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cbnet.network.client.durable_publishing import Receipt
from cbnet.network.protocol.frames import (
    DurableLost,
    DurablePublished,
    Frame,
    HistoryStart,
    Lost,
    Replaying,
    Subscribed,
)
from cbnet.network.simulation.durable_client import DurableMemoryClient, StoredMessage
from cbnet_lab.faults import record
from cbnet_lab.faults.histories.plan import KEYS, PlannedSubscription

if TYPE_CHECKING:
    from cbnet_lab.faults.histories.memory_history import MemoryHistory

AGAIN = "subscribe again"  # unacknowledged messages are delivered again
_ACK_WAIT = 3.0  # seconds
_CONFIRM = 8.0  # timeout for a confirmation, in seconds
_WINDOWS = (1, 5, 100)
_ACKNOWLEDGED = {"durable": 0.9, "replay": 0.8}  # share of messages acknowledged at once
_BURSTS = (1, 1, 2, 10)  # messages
_TIMEOUTS = (3.0, 10.0, 30.0)  # seconds
_RATE = 6.0  # bursts per second, of all publishers


class MemoryPublisher(DurableMemoryClient):
    """A durable publisher."""

    def __init__(self, history: MemoryHistory, name: str, router: str) -> None:
        super().__init__(history.memory, name, router)
        self._history = history
        self.on_receipt = self._answered
        history.clients[name] = self

    def _answered(self, number: int, receipt: DurablePublished | None) -> None:
        answer = receipt or Receipt(0, 0, [self.router], [])
        self._history.record(record.receipt_event(self._memory.now, self.name, number, answer))

    def publish_later(self) -> None:
        """Publish bursts at random times, until the faults are over."""
        rate = _RATE / len(self._history.publishers)
        self._memory.after(self._history.random.expovariate(rate), self._publish_again)

    def _publish_again(self) -> None:
        if not self._history.is_over:
            self.publish_burst()
            self.publish_later()

    def publish_burst(self) -> None:
        """Publish a burst of messages."""
        random = self._history.random
        for _ in range(random.choice(_BURSTS)):
            if self.publisher.is_full:
                return
            k, timeout = random.randrange(KEYS), random.choice(_TIMEOUTS)
            number = self.publisher.next
            self._history.record(record.PublishEvent(self._memory.now, self.name, number, {"k": k}, timeout))
            self.publish_durable({"k": k}, f"{self.name} {number}".encode(), timeout)


class MemorySubscriber(DurableMemoryClient):
    """A client of a planned subscription."""

    def __init__(self, history: MemoryHistory, planned: PlannedSubscription, name: str) -> None:
        super().__init__(history.memory, name, planned.home)
        self._history, self._planned = history, planned
        self.at = planned.at  # seconds from the beginning
        self.on_answer = self._answered
        self.on_delivery = lambda delivered: self._record(0, 1, delivered.payload)
        self.acknowledges = self._stored
        history.clients[name] = self

    def begin(self) -> None:
        """Start the subscription."""
        planned, window = self._planned, self._history.random.choice(_WINDOWS)
        age = None if planned.age == record.FIRST else planned.age
        start = None if planned.age is None else HistoryStart(age=age)
        self._history.record(planned.event(self._memory.now, self.name, _ACK_WAIT))
        if planned.kind == "plain":
            self.subscribe(1, planned.predicate, wait=_CONFIRM)
        elif planned.kind == "replay" and start is not None:
            self.replay(1, planned.predicate, start, window=window)
        else:
            self.subscribe_durable(
                1, planned.name, planned.predicate, wait=_CONFIRM, window=window, ack_wait=_ACK_WAIT, start=start
            )

    def _answered(self, frame: Frame) -> None:
        """Record a frame other than a message; subscribe again until all routers have confirmed."""
        now, name = self._memory.now, self._planned.name
        if isinstance(frame, Replaying):
            self._history.record(record.ReplayEvent(now, self.name, name, frame.first))
        elif isinstance(frame, Lost | DurableLost):
            self._history.record(record.LostEvent(now, self.name, name, frame.messages, frame.cause))
        elif isinstance(frame, Subscribed):
            if frame.is_confirmed:
                self._history.record(record.ConfirmEvent(now, name, frame.routers))
            is_complete = frame.is_confirmed and frame.routers == len(self._memory.hosts)
            if self._planned.kind == "durable" and not is_complete:
                self._memory.after(_CONFIRM, self._subscribe_again)

    def _subscribe_again(self) -> None:
        self._history.record(record.FaultEvent(self._memory.now, self.name, AGAIN))
        self.send(self.durable[1])

    def _stored(self, stored: StoredMessage) -> bool:
        """Record a message; return whether the client acknowledges it at once."""
        self._record(stored.offset, stored.deliveries, stored.payload)
        kind, history = self._planned.kind, self._history
        acknowledges = history.is_over or history.random.random() < _ACKNOWLEDGED[kind]
        if kind == "durable" and acknowledges:
            history.record(record.AcknowledgeEvent(self._memory.now, self.name, self._planned.name, stored.offset))
        elif not acknowledges and kind == "replay":
            self._memory.after(0.5, partial(self.acknowledge, 1, stored.offset))
        return acknowledges

    def _record(self, offset: int, deliveries: int, payload: bytes) -> None:
        name, now = self._planned.name, self._memory.now
        self._history.record(record.ReceiveEvent(now, self.name, name, offset, deliveries, *record.sender(payload)))
