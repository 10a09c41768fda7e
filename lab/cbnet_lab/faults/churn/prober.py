"""Prober of the churn trial: a process that pings routers, sends messages through them, and connects again and again.

Everything is sent at fixed times, whether or not the answer to what was sent before has come, so that a stall counts
for all of it. A ping and a message carry the time when they were due.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from selectors import EVENT_READ, DefaultSelector
from signal import SIG_IGN, SIGINT, signal
from typing import NamedTuple

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import Deliver, Frame, Hello, Ping, Pong, Publish
from cbnet.network.protocol.wire import MAX_VERSION, MIN_VERSION, FrameReader, encode
from cbnet_lab.bench.router.load import Target
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import CbnetFormat
from cbnet_lab.faults.churn.longest_waits import LongestWaits
from cbnet_lab.faults.record import PublishEvent, ReceiveEvent

_INTERVAL = 0.005  # seconds between two pings, and between two messages
_CONNECT_INTERVAL = 0.1  # seconds between two new clients
_READ = 1 << 16
AIRLINE = "ZZ"
_HELLO = encode(
    Hello(low=MIN_VERSION, high=MAX_VERSION, role="client", name="probe", network="cbnet", life=0, link=0, scheme="")
)


class Probed(NamedTuple):
    """The longest waits of a phase, and the numbers and times of the messages that were sent and received."""

    waits: LongestWaits
    sent: list[tuple[int, float]]
    received: list[tuple[int, float]]

    def events(self) -> list[PublishEvent | ReceiveEvent]:
        """Return the messages as events, by time."""
        sent = [PublishEvent(at, "prober", number, {"airline": AIRLINE, "price": 1}) for number, at in self.sent]
        received = [ReceiveEvent(at, "prober", "probes", 0, 1, "prober", number) for number, at in self.received]
        return sorted([*sent, *received], key=lambda event: event.at)


class ProbedLink:
    """A connection of the prober."""

    def __init__(self, target: Target, on_frame: Callable[[Frame], None]) -> None:
        self.raw = RawLink(target.port)
        self._on_frame = on_frame
        self.reader = FrameReader()
        self._space = memoryview(bytearray(_READ))

    def read(self) -> None:
        """Handle the frames that have arrived."""
        for frame in self.reader.feed(bytes(self._space[: self.raw.receive_into(self._space)])):
            self._on_frame(frame)

    def send(self, *frames: Frame) -> None:
        """Send frames."""
        self.raw.send(memoryview(b"".join(map(encode, frames))))


class Prober:
    """Probes the first router and the last one; messages go from the first to the last."""

    def __init__(self, targets: list[Target], pipe: Connection) -> None:
        self._pipe = pipe
        self._waits = LongestWaits()
        self._selector = DefaultSelector()
        self._last = targets[-1]
        self._sent: list[tuple[int, float]] = []  # number and time of messages, since the last answer
        self._received: list[tuple[int, float]] = []
        self._number = 0
        self._pings = [self._greeted(target, f"ping-{index}", self._pong) for index, target in enumerate(targets)]
        self._subscriber = self._greeted(targets[-1], "subscriber", self._delivered, f'airline = "{AIRLINE}"')
        self._publisher = self._greeted(targets[0], "publisher", lambda _: None)
        self._connecting: tuple[ProbedLink, float] | None = None
        self._is_open = self._is_probing = True
        self._selector.register(pipe, EVENT_READ, self._ask)

    def run(self) -> None:
        """Probe until the other end of the pipe closes; answer each message with the waits since the last."""
        due = connect_due = time.monotonic()
        while self._is_open:
            now = time.monotonic()
            if now >= due and self._is_probing:
                self._waits.late = max(self._waits.late, now - due)
                self._probe(due)
                due = max(due + _INTERVAL, now - _INTERVAL)  # a prober that was not run does not make up for it
            if now >= connect_due and self._connecting is None:
                self._connect()
                connect_due = now + _CONNECT_INTERVAL
            for key, _ in self._selector.select(
                max(0.0, due - time.monotonic()) if self._is_probing else _CONNECT_INTERVAL
            ):
                key.data()

    def _greeted(self, target: Target, name: str, on_frame: Callable[[Frame], None], predicate: str = "") -> ProbedLink:
        link, client = ProbedLink(target, on_frame), CbnetFormat("")
        link.reader = client.greet(link.raw, name)
        if predicate:
            client.subscribe(link.raw, [predicate])
        link.raw.end_greeting()
        self._selector.register(link.raw, EVENT_READ, link.read)
        return link

    def _probe(self, due: float) -> None:
        nanoseconds = round(due * 1e9)
        for link in self._pings:
            link.send(Ping(nanoseconds))
        self._number += 1
        self._sent.append((self._number, time.monotonic()))
        stamp = self._number.to_bytes(8) + nanoseconds.to_bytes(8)
        self._publisher.send(Publish(0, {"airline": AIRLINE, "price": 1}, [], stamp, False))

    def _pong(self, frame: Frame) -> None:
        if isinstance(frame, Pong):
            self._waits.ping = max(self._waits.ping, time.monotonic() - frame.number / 1e9)

    def _delivered(self, frame: Frame) -> None:
        if isinstance(frame, Deliver):
            now = time.monotonic()
            self._received.append((int.from_bytes(frame.payload[:8]), now))
            self._waits.message = max(self._waits.message, now - int.from_bytes(frame.payload[8:]) / 1e9)

    def _connect(self) -> None:
        """Connect a new client; it has done so when a ping is answered, and leaves."""
        began = time.monotonic()
        link = ProbedLink(self._last, self._connected)
        self._connecting = link, began
        link.raw.end_greeting()
        link.raw.send(memoryview(_HELLO + encode(Ping(1))))
        self._selector.register(link.raw, EVENT_READ, link.read)

    def _connected(self, frame: Frame) -> None:
        if isinstance(frame, Pong) and self._connecting is not None:
            link, began = self._connecting
            self._waits.connect = max(self._waits.connect, time.monotonic() - began)
            self._connecting = None
            self._selector.unregister(link.raw)
            link.raw.close()

    def _ask(self) -> None:
        """Answer with what was probed since the last time."""
        try:
            is_probing = self._pipe.recv()
        except (EOFError, OSError):
            self._is_open = False
            return
        self._pipe.send(Probed(self._waits, self._sent, self._received))
        self._waits, self._sent, self._received = LongestWaits(), [], []
        self._is_probing = is_probing


class ProberProcess:
    """The prober, in a process of its own."""

    def __init__(self, targets: list[Target]) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(targets, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.first = self.take()  # it has connected

    def take(self, *, is_last: bool = False) -> Probed:
        """Return what was probed since the last call; is_last: probe no more, and only receive."""
        try:
            self._pipe.send(not is_last)
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise CbnetError("the prober died") from None
        if isinstance(answer, CbnetError):
            raise answer
        assert isinstance(answer, Probed)
        return answer

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(1.0)
        self._process.kill()
        self._process.join()


def _run(targets: list[Target], pipe: Connection) -> None:
    signal(SIGINT, SIG_IGN)  # on Ctrl-C the parent ends this process
    try:
        Prober(targets, pipe).run()
    except (CbnetError, OSError) as error:
        pipe.send(CbnetError(f"the prober failed: {error}"))
