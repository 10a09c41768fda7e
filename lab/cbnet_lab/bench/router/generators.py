"""Load generators: publishers, receivers and probes, in processes separate from the servers and the measurement.

Frames are encoded in advance, and many are sent in one write. All deliveries are counted, and checked byte by byte in
large pieces of a buffer, without decoding single messages:

    ┌──────┬───────────────┐
    │ head │ content       │   frames of one shape and length form the rows of a matrix; their heads must be equal,
    │ head │ content       │   their stamps must be consecutive, and their contents must be those of the pool
    └──────┴───────────────┘
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from cbnet.errors import CbnetError
from cbnet_lab.bench.processes import SPAWN, WorkerProcess
from cbnet_lab.bench.router.load import STAMP_BYTES, Bytes2D, Case, Load, LoadProgress, MessagePool, Target
from cbnet_lab.bench.router.router_client import RawLink
from cbnet_lab.bench.router.wire_formats import FORMATS, WireFormat

_BUFFER = 1 << 17  # bytes, or several frames
_MIN_PIECE = 1 << 15  # bytes that are checked at once while more arrive
_MAX_HEAD = 1 << 10  # bytes
_STAMP = np.dtype(">u8")
PROBE = Load(batch=1, channel="ZZ")
_PROBE_INTERVAL = 0.002  # seconds between two messages of the probe
_PROBE_TIMEOUT = 60.0  # timeout for the last messages of the probe, in seconds
_PAUSE = 0.0002  # poll interval of a publisher while the window is full, in seconds
_STALL = 60.0  # seconds without a delivery: a busy machine may not run a router for 15
_DISCARD_EVERY = 16  # writes of a publisher on a link between two discards of received bytes
_TICK = 0.002  # seconds without data after which a receiver checks all that arrived
_SETTLE = 0.02  # seconds of silence after the last expected delivery, to catch surplus ones
_QUIET = 30.0  # seconds without a delivery before the wait for missing ones ends


class DeliveryStream:
    """The deliveries to one subscriber."""

    def __init__(self, link: RawLink, format: WireFormat, pool: MessagePool, publishers: int) -> None:
        """Check deliveries from a link; publishers: number of publishers that take turns."""
        self.link = link
        self._format = format
        self._pool, self._stamp = pool.contents, pool.stamp
        self._next = np.arange(publishers)  # stamp of the next message of each publisher
        self._bytes = bytearray(max(_BUFFER, 8 * self._pool.shape[1]))
        self._view = memoryview(self._bytes)
        self._array = np.frombuffer(self._bytes, np.uint8)
        self._filled = 0
        self._content = int(self._pool.shape[1])  # bytes
        self._frame = self._content  # bytes of the last frame
        self._checked = 0

    @property
    def count(self) -> int:
        """Number of deliveries received; an estimate for those not checked yet."""
        return self._checked + self._filled // self._frame

    def receive(self) -> int:
        """Receive the available bytes; return their number."""
        total = 0
        while received := self.link.receive_into(self._view[self._filled :]):
            total += received
            self._filled += received
            if self._filled >= _MIN_PIECE:
                self.check()
            if not self.link.is_tls:  # the selector reports the rest; TLS may buffer it
                break
        return total

    def check(self) -> None:
        """Check all whole frames received."""
        start = 0
        while start < self._filled:
            piece = bytes(self._view[start : min(self._filled, start + self._content + _MAX_HEAD)])
            shape = self._format.shape(piece, self._content)
            if shape is None:
                break
            rows = self._array[start : self._filled]
            rows = rows[: len(rows) // shape.length * shape.length].reshape(-1, shape.length)
            rows = rows[: _equal_rows(rows[:, : shape.head])]
            if shape.content is not None:
                self._check_contents(rows[:, shape.content : shape.content + self._content])
                self._frame = shape.length
            start += rows.size
        self._view[: self._filled - start] = self._bytes[start : self._filled]
        self._filled -= start

    def _check_contents(self, contents: Bytes2D) -> None:
        stamps = np.ascontiguousarray(contents[:, self._stamp]).view(_STAMP).ravel().astype(np.int64)
        self._check_order(stamps)
        index, size = 0, len(self._pool)
        if len(self._next) == 1:  # consecutive
            while index < len(stamps):
                first = int(stamps[index]) % size
                count = min(size - first, len(stamps) - index)
                self._compare(contents[index : index + count], self._pool[first : first + count])
                index += count
        else:
            self._compare(contents, self._pool[stamps % size])
        self._checked += len(stamps)

    def _check_order(self, stamps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        publishers = len(self._next)
        for publisher in range(publishers):
            own = stamps[stamps % publishers == publisher] if publishers > 1 else stamps
            expected = self._next[publisher] + publishers * np.arange(len(own))
            if not np.array_equal(own, expected):
                at = int(np.argmax(own != expected))
                raise CbnetError(f"message {own[at]:,} arrived where {expected[at]:,} was expected")
            self._next[publisher] += publishers * len(own)

    def _compare(self, contents: Bytes2D, expected: Bytes2D) -> None:
        start, stop = self._stamp.start, self._stamp.stop
        for part in (slice(0, start), slice(stop, None)):
            if not np.array_equal(contents[:, part], expected[:, part]):
                raise CbnetError("the content of a message differs from the published one")


def _equal_rows(heads: Bytes2D) -> int:
    """Return the number of rows, from the first, that equal the first one."""
    differs = (heads != heads[0]).any(axis=1)
    first = int(differs.argmax())
    return first if differs[first] else len(heads)


assert _STAMP.itemsize == STAMP_BYTES


@dataclass(frozen=True)
class Transfer:
    """The result of one side of a run."""

    messages: int  # published, or deliveries received
    at: int  # ns of the monotonic clock, when publishing began, or of the last delivery
    problem: str | None = None  # why fewer were sent than ordered, or the first wrong delivery


class Publisher:
    """Publishes messages to one server, on one or more connections in turn."""

    def __init__(self, target: Target, load: Load, progress: LoadProgress) -> None:
        format, pool = FORMATS[target.format](load.channel), load.pool()
        self._load, self._progress = load, progress
        frames = b"".join(format.publication(content.tobytes()) for content in pool.contents)
        self._frames = np.frombuffer(bytearray(frames), np.uint8).reshape(len(pool), -1)
        first = format.publication(pool.contents[0].tobytes())
        start = first.index(pool.contents[0].tobytes()) + pool.stamp.start
        self._stamps = self._frames[:, start : start + STAMP_BYTES]
        self._links = []
        for index in range(load.publishers):
            link = RawLink(target.port, target.authority)
            self._links.append(link)
            format.open_publisher(link, index)
            link.end_greeting()
        self._next = 0  # stamp
        self._writes = 0

    def run(self, messages: int | None, seconds: float) -> Transfer:
        """Publish a number of messages, in whole batches; None: as many as the time allows."""
        first, began = self._next, time.monotonic_ns()
        problem = None
        try:
            while not self._progress.is_aborted:
                sent = self._next - first
                if sent >= messages if messages is not None else time.monotonic_ns() >= began + seconds * 1e9:
                    break
                self._wait(sent + self._load.batch - self._load.window)
                self.write(self._load.batch)
        except (CbnetError, OSError) as error:
            problem = str(error)
        self._progress.total = self._next - first
        return Transfer(self._next - first, began, problem)

    def write(self, batch: int) -> None:
        """Publish the next messages in one write."""
        row = self._next % len(self._frames)
        stamps = np.arange(self._next, self._next + batch, dtype=">u8")
        self._stamps[row : row + batch] = stamps.view(np.uint8).reshape(batch, STAMP_BYTES)
        link = self._links[self._writes % len(self._links)]
        link.send(self._frames[row : row + batch].data.cast("B"))
        self._next += batch
        self._writes += 1
        if self._writes // len(self._links) % _DISCARD_EVERY == 0:
            link.discard()

    def _wait(self, received: int) -> None:
        """Wait until every subscriber has received `received` messages of this run."""
        since, seen = time.monotonic(), self._progress.received
        while seen < received and not self._progress.is_aborted:
            time.sleep(_PAUSE)
            before, seen = seen, self._progress.received
            if seen > before:
                since = time.monotonic()
            elif time.monotonic() - since > _STALL:
                raise CbnetError(f"no message has been delivered for {_STALL:g} s")


class Receiver:
    """Subscribers of one server, whose deliveries are counted and checked."""

    def __init__(self, target: Target, load: Load, progress: LoadProgress) -> None:
        format, pool = FORMATS[target.format](load.channel), load.pool()
        self._progress = progress
        self._poll = select.epoll()
        self._streams: dict[int, DeliveryStream] = {}
        for index in range(load.subscribers):
            link = RawLink(target.port, target.authority)
            self._streams[link.fileno()] = DeliveryStream(link, format, pool, load.publishers)
            format.open_subscriber(link, index)
            link.end_greeting()
            self._poll.register(link.fileno(), select.EPOLLIN)

    @property
    def streams(self) -> list[DeliveryStream]:
        """The deliveries to each subscriber."""
        return list(self._streams.values())

    def run(self) -> Transfer:
        """Receive all messages of a run."""
        before = {stream: stream.count for stream in self._streams.values()}
        try:
            ended = self._receive(before)
        except (CbnetError, OSError) as error:
            self._progress.is_aborted = True
            return Transfer(0, time.monotonic_ns(), str(error))
        deliveries = sum(stream.count - count for stream, count in before.items())
        expected = max(0, self._progress.total) * len(before)
        problem = None if deliveries == expected else f"{deliveries:,} deliveries, {expected:,} expected"
        return Transfer(deliveries, ended, problem)

    def _receive(self, before: dict[DeliveryStream, int]) -> int:
        """Receive until all messages have arrived, or nothing arrives; return the time of the last delivery."""
        last = time.monotonic_ns()
        while True:
            for file, _ in self._poll.poll(_TICK):
                if self._streams[file].receive():
                    last = time.monotonic_ns()
            silent = (time.monotonic_ns() - last) / 1e9
            if silent >= _TICK:
                for stream in before:
                    stream.check()
            self._progress.received = arrived = min(stream.count - count for stream, count in before.items())
            if silent > (_SETTLE if 0 <= self._progress.total <= arrived else _QUIET):
                return last


class Probe:
    """A client that sends a message every 2 ms alongside the load, and waits for its delivery.

    Messages are sent at fixed times, whether or not earlier ones have arrived, so that a stall counts for all of them.
    """

    def __init__(self, target: Target, load: Load, progress: LoadProgress) -> None:
        self._progress = progress  # of the concurrent load
        self._receiver = Receiver(target, load, progress)
        self._publisher = Publisher(target, load, progress)

    def run(self) -> list[int]:
        """Send messages while the load is being published; return the latency of each in ns."""
        (stream,) = self._receiver.streams
        sent_at: list[int] = []
        latencies: list[int] = []
        before, due = stream.count, time.monotonic()
        poll = select.poll()
        poll.register(stream.link, select.POLLIN)
        while (is_sending := self._progress.total < 0 or not sent_at) or len(latencies) < len(sent_at):
            if is_sending and time.monotonic() >= due:
                sent_at.append(time.monotonic_ns())
                self._publisher.write(1)
                due += _PROBE_INTERVAL
            elif time.monotonic() > due + _PROBE_TIMEOUT or self._progress.is_aborted:
                break
            wait = due - time.monotonic() if is_sending else _PROBE_INTERVAL
            if poll.poll(max(0.0, wait) * 1000) and stream.receive():
                now = time.monotonic_ns()
                stream.check()
                latencies += [now - sent for sent in sent_at[len(latencies) : stream.count - before]]
        return latencies


def serve(pipe: Connection, kind: Callable[..., Publisher | Receiver | Probe], progress: LoadProgress) -> None:
    """Open and run generators, each identified by a key, until the pipe closes."""
    generators: dict[str, Any] = {}
    while True:
        key, method, *arguments = pipe.recv()
        answer: Any = None
        try:
            if method == "open":
                generators[key] = kind(*arguments, progress)
            else:
                answer = generators[key].run(*arguments)
        except (CbnetError, OSError) as error:
            answer = CbnetError(str(error))
        pipe.send(answer)


class Generators:
    """The processes that generate the load of a case: receiving, publishing, and probing if it has a probe."""

    def __init__(self, case: Case, seed: int) -> None:
        self._load, self._probe_load = replace(case.load, seed=seed), replace(PROBE, seed=seed)
        self._progress = SPAWN.RawValue(LoadProgress)
        kinds = (Receiver, Publisher, Probe) if case.has_probe else (Receiver, Publisher)
        self._processes = [WorkerProcess("a load generator", serve, kind, self._progress) for kind in kinds]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()

    def open(self, key: str, publish_at: Target, subscribe_at: Target) -> None:
        """Connect the clients of a server, all subscribers first."""
        loads = ((subscribe_at, self._load), (publish_at, self._load), (publish_at, self._probe_load))
        for process, (target, load) in zip(self._processes, loads, strict=False):
            process.call((key, "open", target, load))

    def run(self, key: str, messages: int | None, seconds: float) -> tuple[Transfer, Transfer, Sequence[int]]:
        """Publish, and wait for all deliveries; return the results of both sides, and the probe's latencies in ns."""
        receiver, publisher, *probes = self._processes
        self._progress.reset()
        for process in (receiver, *probes):
            process.send((key, "run"))
        sent: Transfer = publisher.call((key, "run", messages, seconds))
        received: Transfer = receiver.receive()
        return sent, received, probes[0].receive() if probes else ()
