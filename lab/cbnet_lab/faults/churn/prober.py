"""Prober of the churn trial: a process that pings routers, sends messages through them, and connects again and again.

Everything is sent at fixed times, whether or not the answer to what was sent before has come, so that a stall counts
for all of it. A ping and a message carry the time when they were due.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple

from cbnet.network.protocol.frames import Deliver, Frame, Hello, Ping, Pong, Publish
from cbnet.network.protocol.wire import MAX_VERSION, MIN_VERSION, FrameReader, encode
from cbnet_lab.bench.router.load import Target
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.faults.churn.router_client import RouterClient
from cbnet_lab.faults.record import PublishEvent, ReceiveEvent

_INTERVAL = 0.005  # seconds between two pings, and between two messages
_CONNECT_INTERVAL = 0.1  # seconds between two new clients
_AIRLINE = "ZZ"
PROBES = {"prober": f'airline = "{_AIRLINE}"'}  # predicate of the subscription, by client
MAX_PING_MS, MAX_MESSAGE_MS = 100, 250  # goals
_HELLO = encode(
    Hello(low=MIN_VERSION, high=MAX_VERSION, role="client", name="probe", network="cbnet", life=0, link=0, scheme="")
)


@dataclass
class LongestWaits:
    """Longest waits in a phase, in milliseconds; a probe counts in its phase, even if the answer comes later."""

    ping_ms: float = 0.0
    message_ms: float = 0.0
    connect_ms: float = 0.0
    late_ms: float = 0.0  # delays of the prober itself by the machine: a bound of the error of the others

    def add(self, name: str, seconds: float) -> None:
        """Keep a wait if it is the longest."""
        setattr(self, name, max(getattr(self, name), 1000 * seconds))

    @property
    def is_within_goals(self) -> bool:
        """Whether no ping and no message took too long."""
        return self.ping_ms <= MAX_PING_MS and self.message_ms <= MAX_MESSAGE_MS


class Probed(NamedTuple):
    """The longest waits of a phase, and the numbers and times of the messages that were sent and received."""

    waits: LongestWaits
    sent: list[tuple[int, float]]
    received: list[tuple[int, float]]

    def events(self) -> list[PublishEvent | ReceiveEvent]:
        """Return the messages as events, by time."""
        sent = [PublishEvent(at, "prober", number, {"airline": _AIRLINE, "price": 1}) for number, at in self.sent]
        received = [ReceiveEvent(at, "prober", "prober", 0, 1, "prober", number) for number, at in self.received]
        return sorted([*sent, *received], key=lambda event: event.at)


class Prober:
    """Probes the first router and the last one; messages go from the first to the last."""

    def __init__(self, targets: Sequence[Target], pipe: Connection) -> None:
        self._pipe = pipe
        self._probed = Probed(LongestWaits(), [], [])  # since the last answer
        self._selector = DefaultSelector()
        self._last = targets[-1]
        self._number = 0
        self._pings = [self._client(target, f"ping-{index}", self._pong) for index, target in enumerate(targets)]
        self._client(targets[-1], "subscriber", self._delivered, [*PROBES.values()])
        self._publisher = self._client(targets[0], "publisher", lambda _: None)
        self._connecting: RawLink | None = None
        self._is_probing = True
        self._selector.register(pipe, EVENT_READ, self._answer)

    def run(self) -> None:
        """Probe until the other end of the pipe closes; answer each message with what was probed since the last."""
        due = connect_due = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= due and self._is_probing:
                self._probed.waits.add("late_ms", now - due)
                self._probe(due)
                due = max(due + _INTERVAL, now - _INTERVAL)  # a prober that was not run does not make up for it
            if now >= connect_due and self._connecting is None:
                self._connect()
                connect_due = now + _CONNECT_INTERVAL
            pause = max(0.0, due - time.monotonic()) if self._is_probing else _CONNECT_INTERVAL
            for key, _ in self._selector.select(pause):
                key.data()

    def _client(
        self, target: Target, name: str, on_frame: Callable[[Frame], None], predicates: Sequence[str] = ()
    ) -> RouterClient:
        client = RouterClient(target, name)
        if predicates:
            client.subscribe(predicates)

        def read() -> None:
            for frame in client.received():
                on_frame(frame)

        self._selector.register(client.link.end_greeting(), EVENT_READ, read)
        return client

    def _probe(self, due: float) -> None:
        nanoseconds = round(due * 1e9)
        for client in self._pings:
            client.send(Ping(nanoseconds))
        self._number += 1
        self._probed.sent.append((self._number, time.monotonic()))
        stamp = self._number.to_bytes(8) + nanoseconds.to_bytes(8)
        self._publisher.send(Publish(0, {"airline": _AIRLINE, "price": 1}, [], stamp, False))

    def _pong(self, frame: Frame) -> None:
        if isinstance(frame, Pong):
            self._probed.waits.add("ping_ms", time.monotonic() - frame.number / 1e9)

    def _delivered(self, frame: Frame) -> None:
        if isinstance(frame, Deliver):
            now = time.monotonic()
            self._probed.received.append((int.from_bytes(frame.payload[:8]), now))
            self._probed.waits.add("message_ms", now - int.from_bytes(frame.payload[8:]) / 1e9)

    def _connect(self) -> None:
        """Connect a new client; it leaves when its first ping is answered."""
        began, link, reader = time.monotonic(), RawLink(self._last.port), FrameReader()

        def read() -> None:
            if any(isinstance(frame, Pong) for frame in reader.feed(link.receive())):
                self._probed.waits.add("connect_ms", time.monotonic() - began)
                self._connecting = None
                self._selector.unregister(link)
                link.close()

        self._connecting = link
        self._selector.register(link, EVENT_READ, read)
        link.send(memoryview(_HELLO + encode(Ping(1))))

    def _answer(self) -> None:
        """Send what was probed since the last time; raise EOFError if the pipe has closed."""
        self._is_probing = self._pipe.recv()
        self._pipe.send(self._probed)
        self._probed = Probed(LongestWaits(), [], [])


def probe(pipe: Connection, targets: Sequence[Target]) -> None:
    """Probe routers until the pipe closes; each command is whether to go on probing, or only to receive."""
    Prober(targets, pipe).run()
