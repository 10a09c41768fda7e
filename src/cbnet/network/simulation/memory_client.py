"""Scripted clients of a network in memory, which record deliveries and reconnect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cbnet.language.message import Message
from cbnet.network.client.async_pull import pull_frame
from cbnet.network.client.client_link import client_hello
from cbnet.network.client.durable.durable_publishing import DurablePublisher, Required, required_names
from cbnet.network.protocol import frames
from cbnet.network.protocol.request_codec import RequestLike, request_from_bytes
from cbnet.network.protocol.wire import WireError, encode
from cbnet.network.simulation.memory_network import REDIAL, TICK, ConnectionEnd, MemoryNetwork

Handler = Callable[[Message], frames.ItemField | None]
_DELAY = 0.001
_SILENT, _DEAD = 1.0, 3.5
GRACE = 1.0  # seconds after its timeout for which a client waits for an answer


@dataclass(frozen=True)
class ReceivedMessage:
    """A message received for one subscription."""

    subscription: int
    message: tuple[str, int, int]  # source, its incarnation, number
    payload: bytes
    at: float


class MemoryClient:
    """A client of one router; frames other than deliveries are kept in `answers`, and passed to `on_answer`.

    Like any client, it drops a message that it already received before it reconnected: a restarted router does not
    know what it delivered. A message that arrives twice over one connection is recorded twice.
    """

    def __init__(self, memory: MemoryNetwork, name: str, router: str, *, token: str = "") -> None:
        """Connect; token: of its account, if routers have a list of clients."""
        self._memory = memory
        self._token = token
        self._host = memory.hosts[router]
        self.end: ConnectionEnd | None = None  # of the connection; None if it knows that it is disconnected
        self._last_received = 0.0
        self._delayed: list[Callable[[], None]] = []  # callbacks that arrived while frozen
        self.name = name
        self.router = router
        self.is_disconnected = False
        self.is_frozen = False
        self.subscriptions: dict[int, str] = {}
        self._groups: dict[int, str] = {}
        self.offers: dict[int, tuple[str, Handler]] = {}
        self.deliveries: list[ReceivedMessage] = []
        self._received: dict[tuple[str, int, int], int] = {}  # message -> link of the connection
        self.answers: list[frames.Frame] = []
        self.on_answer: Callable[[frames.Frame], None] = lambda _: None
        self.on_delivery: Callable[[ReceivedMessage], None] = lambda _: None
        memory.every(REDIAL, self._redial)
        memory.every(TICK, self._tick)
        self._redial()

    # --- operations

    def subscribe(self, id: int, predicate: str, wait: float = 0.0, group: str = "") -> None:
        """Subscribe, now and after each reconnection."""
        self.subscriptions[id], self._groups[id] = predicate, group
        self.send(frames.Subscribe(id, predicate, wait, group=group))

    def unsubscribe(self, id: int) -> None:
        """End a subscription."""
        del self.subscriptions[id]
        self.send(frames.Unsubscribe(id))

    def offer(self, id: int, predicate: str, handler: Handler, wait: float = 0.0) -> None:
        """Offer, now and after each reconnection."""
        self.offers[id] = predicate, handler
        self.send(frames.OfferFrame(id, predicate, wait))

    def withdraw(self, id: int) -> None:
        """End an offer."""
        del self.offers[id]
        self.send(frames.Withdraw(id))

    def request(
        self,
        number: int,
        request: RequestLike,
        *,
        timeout: float = 5.0,
        max_holders: int = 8,
        is_fresh: bool = False,
        is_traced: bool = False,
    ) -> bool:
        """Send a request; return whether the client is connected. The reply is added to `answers`."""
        return self.send(pull_frame(number, request, timeout, max_holders, fresh=is_fresh, trace=is_traced))

    def publish(self, attributes: Mapping[str, Any], payload: bytes = b"", tags: tuple[str, ...] = ()) -> bool:
        """Publish a message; return whether the client is connected."""
        return self.send(frames.Publish(0, dict(attributes), list(tags), payload, False))

    def trace(
        self, number: int, attributes: Mapping[str, Any], *, is_dry: bool = True, predicate: str = "", at: str = ""
    ) -> None:
        """Trace a message."""
        self.send(frames.Trace(number, dict(attributes), [], b"", is_dry, predicate, at))

    def send(self, *all: frames.Frame) -> bool:
        """Send frames, which arrive together; return whether the client is connected."""
        if self.end is not None:
            self._memory.send_frames(self.end, b"".join(map(encode, all)))
        return self.end is not None

    # --- failures

    def disconnect(self, *, silently: bool = False) -> None:
        """Disconnect until `reconnect`; silently: the router does not notice at once."""
        self.is_disconnected = True
        if self.end is not None:
            end, self.end = self.end, None
            if silently:
                self._memory.disconnect_silently(end)
            else:
                self._memory.close(end)

    def reconnect(self) -> None:
        """Connect again, and restore subscriptions and offers."""
        self.is_disconnected = False

    def freeze(self, seconds: float) -> None:
        """Read and send nothing for `seconds`; then handle the frames that have arrived."""
        self.is_frozen = True
        self._memory.after(seconds, self._thaw)

    def _thaw(self) -> None:
        self.is_frozen = False
        delayed, self._delayed = self._delayed, []
        for call in delayed:
            call()

    # --- callbacks of the network

    def opened(self, end: ConnectionEnd) -> None:
        """Send the Hello, subscriptions and offers."""
        self.end = end
        self._last_received = self._memory.now
        self.send(client_hello(self.name, self._host.settings.network, self._token))
        for id, predicate in self.subscriptions.items():
            self.send(frames.Subscribe(id, predicate, 0, group=self._groups[id]))
        for id, (predicate, _) in self.offers.items():
            self.send(frames.OfferFrame(id, predicate, 0))

    def received_bytes(self, end: ConnectionEnd, data: bytes) -> None:
        """Record frames."""
        try:
            for frame in end.reader.feed(data):
                self.received(end, frame)
        except WireError as error:
            raise AssertionError(f"a router has sent invalid bytes to {self.name}: {error.reason}") from None

    def received(self, end: ConnectionEnd, frame: frames.Frame) -> None:
        """Record a frame."""
        if self.is_frozen:
            self._delayed.append(lambda: self.received(end, frame))
            return
        if end is not self.end:
            return
        self._last_received = self._memory.now
        if isinstance(frame, frames.Ping):
            self.send(frames.Pong(frame.number))
        elif isinstance(frame, frames.Deliver):
            message = (frame.source, frame.incarnation, frame.number)
            if self._received.setdefault(message, end.link) == end.link:
                for id in frame.subscriptions:
                    self.deliveries.append(ReceivedMessage(id, message, frame.payload, self._memory.now))
                    self.on_delivery(self.deliveries[-1])
        elif isinstance(frame, frames.HolderRequest):
            self._answer(frame)
        elif not isinstance(frame, frames.Pong):
            self.answers.append(frame)
            self.on_answer(frame)

    def _answer(self, frame: frames.HolderRequest) -> None:
        _, handler = self.offers.get(frame.offer, ("", lambda _: None))
        self.send(frames.Answer(frame.number, handler(request_from_bytes(frame.request).content)))

    def closed(self, end: ConnectionEnd) -> None:
        """Handle the end of the connection."""
        if self.is_frozen:
            self._delayed.append(lambda: self.closed(end))
        elif end is self.end:
            self.end = None

    def _redial(self) -> None:
        if self.end is None and self._host.router is not None and not (self.is_disconnected or self.is_frozen):
            self._memory.dial(self, self._host, _DELAY)

    def _tick(self) -> None:
        if self.end is None or self.is_frozen:
            return
        if self._memory.now - self._last_received > _DEAD:
            end, self.end = self.end, None
            self._memory.close(end)
        elif self._memory.now - self._last_received > _SILENT:
            self.send(frames.Ping(0))


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
        is_mine = end is self.end and not self.is_frozen
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
