"""Subscribers of a history in simulated time: durable ones, replays from the past, and plain ones; all are recorded."""

from __future__ import annotations

from functools import partial
from random import Random

from cbnet.network.protocol.frames import DurableLost, Frame, HistoryStart, Lost, Replaying, Subscribed
from cbnet.network.simulation.durable_client import DurableMemoryClient, StoredMessage
from cbnet.network.simulation.memory_client import ReceivedMessage
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults.histories.plan import PlannedSubscription
from cbnet_lab.faults.record import (
    FIRST,
    AcknowledgeEvent,
    ConfirmEvent,
    FaultEvent,
    LostEvent,
    ReceiveEvent,
    Record,
    ReplayEvent,
    SubscribeEvent,
)

AGAIN = "subscribe again"  # what waits is delivered again
_ACK_WAIT = 3.0  # seconds
_CONFIRM = 8.0  # timeout of a confirmation, in seconds
_WINDOWS = (1, 5, 100)
_ACKNOWLEDGED = {"durable": 0.9, "replay": 0.8}  # of all messages, at once


class MemorySubscriber:
    """A client of a subscription."""

    def __init__(
        self,
        memory: MemoryNetwork,
        record: Record,
        random: Random,
        planned: PlannedSubscription,
        name: str,
        routers: int,
    ) -> None:
        self._memory, self._record, self._random = memory, record, random
        self._planned, self._routers = planned, routers
        self.at = planned.at  # seconds from the beginning
        self.received = 0  # messages
        self.is_patient = False  # acknowledges everything at once
        self.client = client = DurableMemoryClient(memory, name, planned.home)
        client.on_answer = self._answered
        client.on_delivery = self._delivered
        client.acknowledges = self._stored

    def subscribe(self) -> None:
        """Begin the subscription."""
        planned, client, window = self._planned, self.client, self._random.choice(_WINDOWS)
        start = (
            None if planned.age is None else HistoryStart() if planned.age == FIRST else HistoryStart(age=planned.age)
        )
        self._record(
            SubscribeEvent(
                at=self._memory.now,
                client=client.name,
                subscription=planned.name,
                home=client.router,
                predicate=planned.predicate,
                ack_wait=_ACK_WAIT,
                kind=planned.kind,
                age=planned.age,
            )
        )
        if planned.kind == "plain":
            client.subscribe(1, planned.predicate, wait=_CONFIRM)
        elif planned.kind == "replay" and start is not None:
            client.replay(1, planned.predicate, start, window=window)
        else:
            client.subscribe_durable(
                1, planned.name, planned.predicate, wait=_CONFIRM, window=window, ack_wait=_ACK_WAIT, start=start
            )

    def _answered(self, frame: Frame) -> None:
        """Record a frame that is no message; subscribe again until all routers have confirmed."""
        now, name = self._memory.now, self._planned.name
        if isinstance(frame, Subscribed) and frame.is_confirmed:
            self._record(ConfirmEvent(now, name, frame.routers))
        elif isinstance(frame, Replaying):
            self._record(ReplayEvent(now, self.client.name, name, frame.first))
        elif isinstance(frame, Lost | DurableLost):
            self._record(LostEvent(now, self.client.name, name, frame.messages, frame.cause))
        is_confirmed = isinstance(frame, Subscribed) and frame.is_confirmed and frame.routers == self._routers
        if isinstance(frame, Subscribed) and self._planned.kind == "durable" and not is_confirmed:
            self._memory.after(_CONFIRM, self._subscribe_again)

    def _subscribe_again(self) -> None:
        self._record(FaultEvent(self._memory.now, self.client.name, AGAIN))
        self.client.send(self.client.durable[1])

    def _delivered(self, delivered: ReceivedMessage) -> None:
        self._received(0, 1, delivered.payload)

    def _stored(self, stored: StoredMessage) -> bool:
        """Record a message; return whether the client acknowledges it at once."""
        self._received(stored.offset, stored.deliveries, stored.payload)
        kind, client = self._planned.kind, self.client
        acknowledges = self.is_patient or self._random.random() < _ACKNOWLEDGED[kind]
        if kind == "durable" and acknowledges:
            self._record(AcknowledgeEvent(self._memory.now, client.name, self._planned.name, stored.offset))
        elif not acknowledges and kind == "replay":
            self._memory.after(0.5, partial(client.acknowledge, 1, stored.offset))
        return acknowledges

    def _received(self, offset: int, deliveries: int, payload: bytes) -> None:
        self.received += 1
        publisher, number = payload.decode().split()
        name, now = self.client.name, self._memory.now
        self._record(ReceiveEvent(now, name, self._planned.name, offset, deliveries, publisher, int(number)))
