"""Prober of the churn trial: a process that pings routers, sends messages through them, and connects repeatedly.

Probes are sent at fixed times, whether or not earlier ones have been answered, so that a stall counts for all of them.
A ping and a message carry the time when they were due.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from selectors import EVENT_READ, DefaultSelector
from typing import Any, NamedTuple

from cbnet.network.protocol.frames import Deliver, Ping, Pong, Publish
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.router_client import RouterClient
from cbnet_lab.faults.record import PublishEvent, ReceiveEvent

_INTERVAL = 0.005  # seconds between two pings, and between two messages
_CONNECT_INTERVAL = 0.1  # seconds between two new clients
_MESSAGE: dict[str, Any] = {"airline": "ZZ", "price": 1}
PROBES = {"prober": 'airline = "ZZ"'}  # predicate of the subscription, by client
MAX_PING_MS, MAX_MESSAGE_MS = 100, 250  # goals


@dataclass
class LongestWaits:
    """Longest waits in a phase, in milliseconds; a probe counts in its phase, even if the answer comes later."""

    ping_ms: float = 0.0
    message_ms: float = 0.0
    connect_ms: float = 0.0
    late_ms: float = 0.0  # delays of the prober itself, caused by the machine: an error bound for the others

    def add(self, name: str, seconds: float) -> None:
        """Record a wait if it is the longest so far."""
        setattr(self, name, max(getattr(self, name), 1000 * seconds))

    @property
    def is_within_goals(self) -> bool:
        """Whether no ping and no message took too long."""
        return self.ping_ms <= MAX_PING_MS and self.message_ms <= MAX_MESSAGE_MS


class Probed(NamedTuple):
    """The longest waits of a phase, and the numbers and times of the messages sent and received."""

    waits: LongestWaits
    sent: list[tuple[int, float]]
    received: list[tuple[int, float]]

    def events(self) -> list[PublishEvent | ReceiveEvent]:
        """Return the messages as events, by time."""
        sent = [PublishEvent(at, "prober", number, _MESSAGE) for number, at in self.sent]
        received = [ReceiveEvent(at, "prober", "prober", 0, 1, "prober", number) for number, at in self.received]
        return sorted([*sent, *received], key=lambda event: event.at)


class Prober:
    """Probes the first router and the last one; messages go from the first to the last."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.probed = Probed(LongestWaits(), [], [])  # since the last answer
        self.selector = DefaultSelector()
        self._number = 0
        self._pings = [RouterClient(RawLink(port), f"ping-{index}") for index, port in enumerate(ports)]
        self._publisher = RouterClient(RawLink(ports[0]), "publisher")
        subscriber = RouterClient(RawLink(ports[-1]), "subscriber")
        subscriber.subscribe([*PROBES.values()])
        for client in (*self._pings, self._publisher, subscriber):
            self.selector.register(client.link.end_greeting(), EVENT_READ, client)
        threading.Thread(target=self._connect, args=(ports[-1],), daemon=True, name="cbnet-connect").start()

    def send(self, due: float) -> None:
        """Send pings and a message."""
        nanoseconds = round(due * 1e9)
        for client in self._pings:
            client.send(Ping(nanoseconds))
        self._number += 1
        self.probed.sent.append((self._number, time.monotonic()))
        stamp = self._number.to_bytes(8) + nanoseconds.to_bytes(8)
        self._publisher.send(Publish(0, _MESSAGE, [], stamp, False))

    def receive(self, client: RouterClient) -> None:
        """Handle the answers that have arrived."""
        for frame in client.received():
            now = time.monotonic()
            if isinstance(frame, Pong):
                self.probed.waits.add("ping_ms", now - frame.number / 1e9)
            elif isinstance(frame, Deliver):
                self.probed.received.append((int.from_bytes(frame.payload[:8]), now))
                self.probed.waits.add("message_ms", now - int.from_bytes(frame.payload[8:]) / 1e9)

    def _connect(self, port: int) -> None:
        """Connect new clients in turn, each of which disconnects when its first ping is answered."""
        while True:
            began = time.monotonic()
            RouterClient(RawLink(port), "probe").link.close()
            self.probed.waits.add("connect_ms", time.monotonic() - began)
            time.sleep(max(0.0, began + _CONNECT_INTERVAL - time.monotonic()))


def probe(pipe: Connection, ports: Sequence[int]) -> None:
    """Probe routers until the pipe closes; answer each request with the results since the last one.

    A request is a bool: whether to continue probing, or only to receive.
    """
    prober, is_probing, due = Prober(ports), True, time.monotonic()
    prober.selector.register(pipe, EVENT_READ, None)
    while True:
        now = time.monotonic()
        if now >= due and is_probing:
            prober.probed.waits.add("late_ms", now - due)
            prober.send(due)
            due = max(due + _INTERVAL, now - _INTERVAL)  # a prober that was not scheduled does not catch up
        for key, _ in prober.selector.select(max(0.0, due - time.monotonic()) if is_probing else _CONNECT_INTERVAL):
            if key.data is not None:
                prober.receive(key.data)
            else:
                is_probing = pipe.recv()
                pipe.send(prober.probed)
                prober.probed = Probed(LongestWaits(), [], [])
