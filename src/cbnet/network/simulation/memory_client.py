"""A scripted client of a network in memory, which records deliveries and reconnects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cbnet.language.message import Message
from cbnet.network.client.async_pull import pull_frame
from cbnet.network.client.client_link import client_hello
from cbnet.network.protocol import frames
from cbnet.network.protocol.request_codec import RequestLike, request_from_bytes
from cbnet.network.protocol.wire import WireError, encode
from cbnet.network.simulation.memory_network import REDIAL, TICK, ConnectionEnd, MemoryNetwork

Handler = Callable[[Message], frames.ItemField | None]
_DELAY = 0.001
_SILENT, _DEAD = 1.0, 3.5


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
        self._end: ConnectionEnd | None = None
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
        if self._end is not None:
            self._memory.send_frames(self._end, b"".join(map(encode, all)))
        return self._end is not None

    # --- failures

    def disconnect(self, *, silently: bool = False) -> None:
        """Disconnect until `reconnect`; silently: the router does not notice at once."""
        self.is_disconnected = True
        if self._end is not None:
            end, self._end = self._end, None
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

    @property
    def end(self) -> ConnectionEnd | None:
        """The client's end of the connection; None if it knows that it is disconnected."""
        return self._end

    def opened(self, end: ConnectionEnd) -> None:
        """Send the Hello, subscriptions and offers."""
        self._end = end
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
        if end is not self._end:
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
        elif end is self._end:
            self._end = None

    def _redial(self) -> None:
        if self._end is None and self._host.router is not None and not (self.is_disconnected or self.is_frozen):
            self._memory.dial(self, self._host, _DELAY)

    def _tick(self) -> None:
        if self._end is None or self.is_frozen:
            return
        if self._memory.now - self._last_received > _DEAD:
            end, self._end = self._end, None
            self._memory.close(end)
        elif self._memory.now - self._last_received > _SILENT:
            self.send(frames.Ping(0))
