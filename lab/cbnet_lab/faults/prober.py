"""A prober: a process that measures the waits of honest clients, and the messages that they lose.

It sends probes at fixed times, whether or not earlier ones have been answered, so that a stall counts for all of them.
A ping and a message carry the time when they were due.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Final, NamedTuple

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import Deliver, Frame, Ping, Pong, Publish
from cbnet_lab.bench.router.router_client import ClientAccess, RouterClient
from cbnet_lab.faults.record import PublishEvent, ReceiveEvent

INTERVAL: Final = 0.005  # seconds between two pings, and between two messages
_CONNECT_INTERVAL: Final = 0.1  # seconds between two new clients
_KEEP_ALIVE: Final = 100  # messages between two pings of the subscriber, which is silent otherwise
_PUBLISHER, _SUBSCRIBER, _PING = "publisher", "subscriber", "ping"  # names of clients
_MESSAGE: Final[dict[str, Any]] = {"airline": "ZZ", "price": 1}
PROBES: Final = {"prober": 'airline = "ZZ"'}  # predicate of the subscription, by client
MAX_PING_MS, MAX_MESSAGE_MS = 100, 250  # goals of the churn trial


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
    """The longest waits since the last answer, and the messages sent and received, with their times."""

    waits: LongestWaits
    sent: list[tuple[int, float]]  # when they were due
    received: list[tuple[int, float]]
    failures: list[str]  # of new clients, and of others that were closed

    def events(self) -> list[PublishEvent | ReceiveEvent]:
        """Return the messages as events, by time."""
        sent = [PublishEvent(at, "prober", number, _MESSAGE) for number, at in self.sent]
        received = [ReceiveEvent(at, "prober", "prober", 0, 1, "prober", number) for number, at in self.received]
        return sorted([*sent, *received], key=lambda event: event.at)


class Prober:
    """Probes the first router and the last one; messages go from the first to the last.

    A client whose connection is closed connects again, in a thread; probes that are due meanwhile are lost.
    """

    def __init__(self, routers: Sequence[ClientAccess]) -> None:
        self.probed = Probed(LongestWaits(), [], [], [])  # since the last answer
        self.selector = DefaultSelector()
        self._number = 0
        self._connecting: float | None = None  # time since when a new client waits
        self._clients: dict[str, RouterClient] = {}  # by name, while connected
        self._connected: SimpleQueue[tuple[str, RouterClient]] = SimpleQueue()
        self._routers = {_PUBLISHER: routers[0], _SUBSCRIBER: routers[-1]}
        self._routers |= {f"{_PING}-{index}": router for index, router in enumerate(routers)}
        for name in self._routers:
            self._connect(name)
        self._add_connected()
        threading.Thread(target=self._try_connecting, args=(routers[-1],), daemon=True, name="cbnet-connect").start()

    def send(self, due: float) -> None:
        """Send pings and a message."""
        self._add_connected()
        nanoseconds = round(due * 1e9)
        for name in [*self._clients]:
            if name.startswith(_PING):
                self._send(name, Ping(nanoseconds))
        self._number += 1
        self.probed.sent.append((self._number, due))
        stamp = self._number.to_bytes(8) + nanoseconds.to_bytes(8)
        self._send(_PUBLISHER, Publish(0, _MESSAGE, [], stamp, False))
        if self._number % _KEEP_ALIVE == 0:
            self._send(_SUBSCRIBER, Ping(0))

    def receive(self, name: str) -> None:
        """Handle the answers to a client that have arrived."""
        try:
            frames = [*self._clients[name].received()]
        except (CbnetError, OSError) as error:
            self._lose(name, error)
            return
        now = time.monotonic()
        for frame in frames:
            if isinstance(frame, Pong) and frame.number:
                self.probed.waits.add("ping_ms", now - frame.number / 1e9)
            elif isinstance(frame, Deliver):
                self.probed.received.append((int.from_bytes(frame.payload[:8]), now))
                self.probed.waits.add("message_ms", now - int.from_bytes(frame.payload[8:]) / 1e9)

    def _send(self, name: str, frame: Frame) -> None:
        if name in self._clients:
            try:
                self._clients[name].send(frame)
            except (CbnetError, OSError) as error:
                self._lose(name, error)

    def _lose(self, name: str, error: Exception) -> None:
        """Connect a client again."""
        self.probed.failures.append(f"{name}: {error}")
        client = self._clients.pop(name)
        self.selector.unregister(client.link)
        client.link.close()
        threading.Thread(target=self._connect, args=(name,), daemon=True, name="cbnet-connect").start()

    def _connect(self, name: str) -> None:
        while True:
            try:
                client = self._routers[name].connect(name)
                if name == _SUBSCRIBER:
                    client.subscribe([*PROBES.values()])
            except (CbnetError, OSError):
                time.sleep(_CONNECT_INTERVAL)
                continue
            self._connected.put((name, client))
            return

    def _add_connected(self) -> None:
        while not self._connected.empty():
            name, client = self._connected.get()
            self._clients[name] = client
            self.selector.register(client.link.end_greeting(), EVENT_READ, name)

    def take(self) -> Probed:
        """Return the results since the last call."""
        since, taken = self._connecting, self.probed
        if since is not None:
            taken.waits.add("connect_ms", time.monotonic() - since)
        self.probed = Probed(LongestWaits(), [], [], [])
        return taken

    def _try_connecting(self, router: ClientAccess) -> None:
        """Connect new clients in turn, each of which disconnects when its first ping is answered."""
        while True:
            began = self._connecting = time.monotonic()
            try:
                router.connect("probe").link.close()
            except (CbnetError, OSError) as error:
                self.probed.failures.append(str(error))
            self._connecting = None
            self.probed.waits.add("connect_ms", time.monotonic() - began)
            time.sleep(max(0.0, began + _CONNECT_INTERVAL - time.monotonic()))


def probe(pipe: Connection, routers: Sequence[ClientAccess]) -> None:
    """Probe routers until the pipe closes; answer each request with the results since the last one.

    A request is a bool: whether to continue probing, or only to receive.
    """
    prober, is_probing, due = Prober(routers), True, time.monotonic()
    prober.selector.register(pipe, EVENT_READ, None)
    while True:
        now = time.monotonic()
        if now >= due and is_probing:
            prober.probed.waits.add("late_ms", now - due)
            prober.send(due)
            due = max(due + INTERVAL, now - INTERVAL)  # a prober that was not scheduled does not catch up
        for key, _ in prober.selector.select(max(0.0, due - time.monotonic()) if is_probing else _CONNECT_INTERVAL):
            if key.data is not None:
                prober.receive(key.data)
            else:
                is_probing = pipe.recv()
                pipe.send(prober.take())
