"""Publishing load generator: frames encoded in advance, many in one write."""

from __future__ import annotations

import time

import numpy as np

from cbnet.errors import CbnetError
from cbnet_lab.bench.router.load import Load, LoadProgress, SentLoad, Target, Until
from cbnet_lab.bench.router.message_pool import STAMP_BYTES
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import FORMATS

_PAUSE = 0.0002  # poll interval while the window is full, in seconds
_STALL = 20.0  # seconds without a delivery
_DISCARD_EVERY = 16  # writes on a link


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

    def run(self, until: Until) -> SentLoad:
        """Publish until a number of messages or a time is reached."""
        first, began = self._next, time.monotonic_ns()
        problem = None
        try:
            self._publish(first, until, began + int(until.seconds * 1e9))
        except (CbnetError, OSError) as error:
            problem = str(error)
        self._progress.total = self._next - first
        return SentLoad(self._next - first, began, problem)

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

    def close(self) -> None:
        """Close all connections."""
        for link in self._links:
            link.close()

    def _publish(self, first: int, until: Until, end: int) -> None:
        batch, window, limit = self._load.batch, self._load.window, until.messages
        while not self._progress.is_aborted:
            sent = self._next - first
            if sent >= limit if limit is not None else time.monotonic_ns() >= end:
                break
            self._wait(sent + batch - window)
            self.write(batch)

    def _wait(self, received: int) -> None:
        """Wait until every subscriber has received so many messages of this run."""
        since, seen = time.monotonic(), self._progress.received
        while seen < received:
            time.sleep(_PAUSE)
            before, seen = seen, self._progress.received
            if seen > before:
                since = time.monotonic()
            elif time.monotonic() - since > _STALL:
                raise CbnetError(f"no message has been delivered for {_STALL:g} s")
