"""Subscribers of a history in simulated time: durable ones, replays from the past, and plain ones; all are recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from cbnet.network.protocol.frames import DurableLost, Frame, HistoryStart, Lost, Replaying, Subscribed
from cbnet.network.simulation.durable_client import DurableMemoryClient, StoredMessage
from cbnet.network.simulation.memory_client import MemoryClient, ReceivedMessage
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet_lab.faults.histories.history import (
    FIRST,
    AcknowledgeEvent,
    ConfirmEvent,
    Event,
    FaultEvent,
    LostEvent,
    ReceiveEvent,
    ReplayEvent,
    SubscribeEvent,
    SubscriptionKind,
)

PREDICATES: Final = ("k >= 0", "k in (0, 2, 4)", "k < 2")
LOGS: Final = {  # predicates of logs: what can be subscribed to from there
    "k >= 0": ("k >= 0", "k in (0, 2, 4)", "k >= 0 and k < 2"),
    "k < 4": ("k < 4", "k in (0, 2)", "k < 2"),
}
_ACK_WAIT = 3.0  # seconds
_CONFIRM = 8.0  # timeout of a confirmation, in seconds
_WINDOWS = (1, 5, 100)
_AGES = (0.0, 0.5, 4.0)  # seconds


class SimulatedSubscribers:
    """The subscribers of one history."""

    def __init__(self, memory: MemoryNetwork, random: Random, record: Callable[[Event], None], routers: int) -> None:
        self._memory = memory
        self._random = random
        self._record = record
        self._routers = routers
        self.clients: list[MemoryClient] = []
        self.received = 0  # messages
        self.is_quiet = False  # whether everything is acknowledged at once

    @property
    def lives(self) -> set[int]:
        """The lives of durable publishers that subscribers have seen."""
        durable = (each for each in self.clients if isinstance(each, DurableMemoryClient))
        return {message.life for client in durable for message in client.stored[-10:]}

    def subscribe_durable(self, home: str) -> None:
        """Let one or two clients share a durable subscription."""
        predicate = self._random.choice(PREDICATES)
        for n in range(self._random.randint(1, 2)):
            self._subscribe_durable(f"c{n} at {home}", home, f"{predicate} at {home}", predicate)

    def subscribe_past(self, home: str, log: str) -> None:
        """Begin a subscription, durable or not, in the log of a router."""
        random, name = self._random, f"past {len(self.clients)} at {home}"
        age = random.choice((FIRST, FIRST, *_AGES))
        start = HistoryStart() if age == FIRST else HistoryStart(age=age)
        predicate = random.choice(LOGS[log])
        subscription = f"{predicate} of {name}"
        if random.random() < 0.3:
            self._subscribe_durable(name, home, subscription, predicate, age, start)
            return
        client = DurableMemoryClient(self._memory, name, home)
        client.acknowledges = partial(self._replayed, client, subscription)
        client.on_answer = partial(self._noted, client, subscription)
        self._add(client, subscription, predicate, "replay", age)
        client.replay(1, predicate, start, window=random.choice(_WINDOWS))

    def subscribe_plain(self, router: str) -> None:
        """Begin a plain subscription."""
        name, predicate = f"plain {len(self.clients)} at {router}", self._random.choice(PREDICATES)
        client, subscription = MemoryClient(self._memory, name, router), f"{predicate} of {name}"

        def received(delivered: ReceivedMessage) -> None:
            self._received(name, subscription, 0, 1, delivered.payload)

        client.on_delivery = received
        client.on_answer = partial(self._noted, client, subscription)
        self._add(client, subscription, predicate, "plain", None)
        client.subscribe(1, predicate, wait=_CONFIRM)

    # --- inside

    def _add(
        self, client: MemoryClient, subscription: str, predicate: str, kind: SubscriptionKind, age: float | None
    ) -> None:
        self.clients.append(client)
        self._record(
            SubscribeEvent(
                at=self._memory.now,
                client=client.name,
                subscription=subscription,
                home=client.router,
                predicate=predicate,
                ack_wait=_ACK_WAIT,
                kind=kind,
                age=age,
            )
        )

    def _subscribe_durable(
        self,
        name: str,
        home: str,
        subscription: str,
        predicate: str,
        age: float | None = None,
        start: HistoryStart | None = None,
    ) -> None:
        client = DurableMemoryClient(self._memory, name, home)
        client.acknowledges = partial(self._stored, name, subscription)

        def again() -> None:
            self._record(FaultEvent(self._memory.now, name, "subscribe again"))  # what waits is delivered again
            client.send(client.durable[1])

        def answered(frame: Frame) -> None:
            self._noted(client, subscription, frame)
            if isinstance(frame, Subscribed) and not (frame.is_confirmed and frame.routers == self._routers):
                self._memory.after(_CONFIRM, again)

        client.on_answer = answered
        self._add(client, subscription, predicate, "durable", age)
        client.subscribe_durable(
            1,
            subscription,
            predicate,
            wait=_CONFIRM,
            window=self._random.choice(_WINDOWS),
            ack_wait=_ACK_WAIT,
            start=start,
        )

    def _noted(self, client: MemoryClient, subscription: str, frame: Frame) -> None:
        """Record a frame that is no message."""
        now, name = self._memory.now, client.name
        if isinstance(frame, Subscribed) and frame.is_confirmed:
            self._record(ConfirmEvent(now, subscription, frame.routers))
        elif isinstance(frame, Replaying):
            self._record(ReplayEvent(now, name, subscription, frame.first))
        elif isinstance(frame, (Lost, DurableLost)):
            self._record(LostEvent(now, name, subscription, frame.messages, frame.cause))

    def _stored(self, client: str, subscription: str, stored: StoredMessage) -> bool:
        """Record a message of a durable subscription; return whether the client acknowledges it."""
        self._received(client, subscription, stored.offset, stored.deliveries, stored.payload)
        acknowledges = self.is_quiet or self._random.random() < 0.9
        if acknowledges:
            self._record(AcknowledgeEvent(self._memory.now, client, subscription, stored.offset))
        return acknowledges

    def _replayed(self, client: DurableMemoryClient, subscription: str, stored: StoredMessage) -> bool:
        """Record a message of a replay; return whether the client acknowledges it at once."""
        self._received(client.name, subscription, stored.offset, stored.deliveries, stored.payload)
        acknowledges = self.is_quiet or self._random.random() < 0.8
        if not acknowledges:
            self._memory.after(0.5, lambda: client.acknowledge(1, stored.offset))
        return acknowledges

    def _received(self, client: str, subscription: str, offset: int, deliveries: int, payload: bytes) -> None:
        self.received += 1
        publisher, number = payload.decode().split()
        self._record(
            ReceiveEvent(
                at=self._memory.now,
                client=client,
                subscription=subscription,
                offset=offset,
                deliveries=deliveries,
                publisher=publisher,
                number=int(number),
            )
        )
