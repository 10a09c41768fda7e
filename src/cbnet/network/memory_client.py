"""Memory client: a client of a network in memory that does as it is told, remembers what it got, and reconnects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cbnet.language.values import Value
from cbnet.network.frames import (
    Deliver,
    Frame,
    Hello,
    Ping,
    Pong,
    Publish,
    Subscribe,
    Trace,
    Unsubscribe,
)
from cbnet.network.links import HIGH, LOW
from cbnet.network.memory import REDIAL, TICK, End, Memory

_DELAY = 0.001
_SILENT, _DEAD = 1.0, 3.5


@dataclass(frozen=True)
class Delivery:
    """A message that came for one subscription."""

    subscription: int
    message: tuple[str, int, int]  # source, its life, number
    payload: bytes
    at: float


class MemoryClient:
    """A client of one router."""

    def __init__(self, memory: Memory, name: str, router: str) -> None:
        self._memory = memory
        self._name = name
        self._host = memory.hosts[router]
        self._end: End | None = None
        self._heard = 0.0
        self.router = router
        self.subscriptions: dict[int, str] = {}
        self.deliveries: list[Delivery] = []
        self.answers: list[Frame] = []
        memory.every(REDIAL, self._redial)
        memory.every(TICK, self._tick)
        self._redial()

    # --- what it is told

    def subscribe(self, id: int, predicate: str, wait: float = 0.0) -> None:
        """Subscribe now, and again after each new connection."""
        self.subscriptions[id] = predicate
        self.send(Subscribe(id, predicate, wait))

    def unsubscribe(self, id: int) -> None:
        """Subscribe no longer."""
        del self.subscriptions[id]
        self.send(Unsubscribe(id))

    def publish(self, attributes: Mapping[str, Value], payload: bytes = b"", tags: tuple[str, ...] = ()) -> bool:
        """Publish a message; return whether there is a connection to do it."""
        return self.send(Publish(0, dict(attributes), list(tags), payload, False))

    def trace(
        self, number: int, attributes: Mapping[str, Value], *, is_dry: bool = True, predicate: str = "", at: str = ""
    ) -> None:
        """Ask what happens to a message."""
        self.send(Trace(number, dict(attributes), [], b"", is_dry, predicate, at))

    def send(self, frame: Frame) -> bool:
        """Send any frame; return whether there is a connection to do it."""
        if self._end is not None:
            self._memory.send(self._end, frame)
        return self._end is not None

    # --- what happens to it

    def opened(self, end: End) -> None:
        """Say who this is, and what it wants."""
        self._end = end
        self._heard = self._memory.now
        self.send(Hello(LOW, HIGH, "client", self._name, self._host.settings.network, 0, ""))
        for id, predicate in self.subscriptions.items():
            self.send(Subscribe(id, predicate, 0))

    def received(self, end: End, frame: Frame) -> None:
        """Remember what came."""
        if end is not self._end:
            return
        self._heard = self._memory.now
        if isinstance(frame, Ping):
            self.send(Pong(frame.number))
        elif isinstance(frame, Deliver):
            message = (frame.source, frame.life, frame.number)
            self.deliveries += [Delivery(id, message, frame.payload, self._memory.now) for id in frame.subscriptions]
        elif not isinstance(frame, Pong):
            self.answers.append(frame)

    def failed(self, end: End, reason: str) -> None:
        """Give up a connection over which nonsense came."""
        raise AssertionError(f"link {end.link} of {self._name}: {reason}")

    def closed(self, end: End) -> None:
        """Take note that the connection is gone."""
        if end is self._end:
            self._end = None

    def _redial(self) -> None:
        if self._end is None and self._host.router is not None:
            self._memory.dial(self, self._host, _DELAY)

    def _tick(self) -> None:
        if self._end is None:
            return
        if self._memory.now - self._heard > _DEAD:
            end, self._end = self._end, None
            self._memory.hang_up(end)
        elif self._memory.now - self._heard > _SILENT:
            self.send(Ping(0))
