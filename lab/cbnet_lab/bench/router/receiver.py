"""Receiving load generator: the subscribers of one server, whose deliveries are counted and checked."""

from __future__ import annotations

import select
import time

from cbnet.errors import CbnetError
from cbnet_lab.bench.router.delivery_stream import DeliveryStream
from cbnet_lab.bench.router.load import Load, LoadProgress, Received, Target
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import FORMATS

_TICK = 0.002  # seconds without data after which all that arrived is checked
_SETTLE = 0.02  # seconds of silence after the last expected delivery, to catch surplus ones
_QUIET = 10.0  # seconds without a delivery before the wait for missing ones ends


class Receiver:
    """Subscribers of one server."""

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

    def run(self) -> Received:
        """Receive all messages of a run."""
        before = {stream: stream.count for stream in self._streams.values()}
        try:
            ended = self._receive(before)
        except (CbnetError, OSError) as error:
            self._progress.abort()
            return Received(0, time.monotonic_ns(), str(error))
        deliveries = sum(stream.count - count for stream, count in before.items())
        expected = (self._progress.total or 0) * len(before)
        problem = None if deliveries == expected else f"{deliveries:,} deliveries, {expected:,} expected"
        return Received(deliveries, ended, problem)

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for stream in self._streams.values():
            stream.link.close()

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
            arrived = min(stream.count - count for stream, count in before.items())
            self._progress.received = arrived
            total = self._progress.total
            if silent > (_QUIET if total is None or arrived < total else _SETTLE):
                return last
