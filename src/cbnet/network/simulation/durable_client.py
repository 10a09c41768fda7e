"""A scripted client of a network in memory with durable subscriptions and acknowledged publishing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cbnet.network.client.durable.durable_publishing import DurablePublisher, Required, required_names
from cbnet.network.protocol import frames
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import TICK, ConnectionEnd, MemoryNetwork

GRACE = 1.0  # seconds after its timeout for which a client waits for an answer


@dataclass(frozen=True)
class StoredMessage:
    """A message received for a durable subscription."""

    subscription: int
    offset: int
    deliveries: int
    incarnation: int  # of its publisher; with the number, the identity of a durable message
    number: int
    attributes: Mapping[str, Any]
    payload: bytes
    at: float


class DurableMemoryClient(MemoryClient):
    """A client that acknowledges messages unless `acknowledges` returns False, and resends unanswered messages."""

    def __init__(self, memory: MemoryNetwork, name: str, router: str, *, token: str = "") -> None:
        """Connect; token: of its account, if routers have a list of clients."""
        self.publisher = DurablePublisher(memory.random.getrandbits(63))
        self.durable: dict[int, frames.DurableSubscribe] = {}  # by id
        self.replays: dict[int, frames.Replay] = {}  # by id
        self.stored: list[StoredMessage] = []
        self.receipts: dict[int, frames.DurablePublished | None] = {}  # by number; None: no answer in time
        self.acknowledges: Callable[[StoredMessage], bool] = lambda _: True
        self.on_receipt: Callable[[int, frames.DurablePublished | None], None] = lambda _number, _receipt: None
        self._deadlines: dict[int, float] = {}
        super().__init__(memory, name, router, token=token)
        memory.every(TICK, self._give_up)

    # --- operations

    def subscribe_durable(
        self,
        id: int,
        name: str,
        predicate: str = "",
        *,
        wait: float = 0.0,
        window: int = 100,
        ack_wait: float = 5.0,
        limits: frames.DurableLimits | None = None,
        start: frames.HistoryStart | None = None,
    ) -> None:
        """Subscribe, now and after each reconnection."""
        self.durable[id] = frames.DurableSubscribe(id, name, predicate, wait, window, ack_wait, limits, start)
        self.send(self.durable[id])

    def replay(
        self, id: int, predicate: str, start: frames.HistoryStart, *, window: int = 100, wait: float = 0.0
    ) -> None:  # fmt: skip
        """Subscribe from a point in the past on; after each reconnection, resume after the last message."""
        self.replays[id] = frames.Replay(id, predicate, wait, window, start)
        self.send(self.replays[id])

    def publish_durable(
        self, attributes: Mapping[str, Any], payload: bytes = b"", timeout: float = 10.0, require: Required = ()
    ) -> int:
        """Publish a message, and resend it at each reconnection until it is answered; return its number."""
        number = self.publisher.add(
            dict(attributes), [], payload, self._memory.now, timeout, required=required_names(require)
        )
        self._deadlines[number] = self._memory.now + timeout + GRACE
        self.send(self.publisher.frame(number, self._memory.now))
        return number

    def publish_run(
        self, all: Iterable[tuple[Mapping[str, Any], bytes]], timeout: float = 10.0
    ) -> list[int]:  # fmt: skip
        """Publish messages, with their payloads, like `publish_durable`: they arrive together. Return their numbers."""
        now = self._memory.now
        numbers = [self.publisher.add(dict(each), [], payload, now, timeout, required=[]) for each, payload in all]
        self._deadlines.update(dict.fromkeys(numbers, now + timeout + GRACE))
        self.send(*(self.publisher.frame(number, now) for number in numbers))
        return numbers

    def acknowledge(self, id: int, *offsets: int, up_to: int = 0) -> None:
        """Acknowledge messages."""
        self.send(frames.Acknowledge(id, list(offsets), up_to))

    def move(self, router: str) -> None:
        """Connect to another router."""
        self.disconnect()
        self._host, self.router = self._memory.hosts[router], router
        self.reconnect()

    # --- callbacks of the network

    def opened(self, end: ConnectionEnd) -> None:
        """Send the Hello, subscriptions, and unanswered messages."""
        super().opened(end)
        for subscribe in self.durable.values():
            self.send(msgspec.structs.replace(subscribe, is_restored=True))
        for replay in self.replays.values():
            self.send(replay)
        for publish in self.publisher.frames(self._memory.now):
            self.send(publish)

    def received(self, end: ConnectionEnd, frame: frames.Frame) -> None:
        """Record a frame."""
        is_mine = end is self._end and not self.is_frozen
        if is_mine and isinstance(frame, frames.DurableDeliver):
            self._last_received = self._memory.now
            self._receive(frame)
            return
        super().received(end, frame)
        if not is_mine:
            return
        match frame:
            case frames.DurablePublished():
                self._settle(frame.sequence, frame)
            case frames.DurablePublishedRun():
                for each in frame.each():
                    self._settle(each.sequence, each)
            case frames.DurableLost() if frame.number:
                self.send(frames.Acknowledge(frame.id, [], 0, frame.number))
            case frames.Replaying():
                self._go_on(frame.id, frame.first)
            case frames.RefusedFrame() if frame.frame == frames.frame_number(frames.DurablePublish):
                self._settle(frame.number, None)

    def _receive(self, frame: frames.DurableDeliver) -> None:
        attributes, _, payload = msgspec.msgpack.decode(frame.content)
        identity = frame.incarnation, frame.number
        stored = StoredMessage(
            frame.id, frame.offset, frame.deliveries, *identity, attributes, payload, at=self._memory.now
        )
        self.stored.append(stored)
        self._go_on(frame.id, frame.offset + 1)
        if self.acknowledges(stored):
            self.acknowledge(frame.id, frame.offset)

    def _go_on(self, id: int, offset: int) -> None:
        """Set the offset at which a replay resumes when it is sent again."""
        if id in self.replays:
            self.replays[id] = msgspec.structs.replace(self.replays[id], start=frames.HistoryStart(offset))

    def _settle(self, number: int, receipt: frames.DurablePublished | None) -> None:
        if self.publisher.settle(number):
            self.receipts[number] = receipt
            self._deadlines.pop(number, None)
            self.on_receipt(number, receipt)

    def _give_up(self) -> None:
        for number in [each for each, deadline in self._deadlines.items() if self._memory.now > deadline]:
            self._settle(number, None)
