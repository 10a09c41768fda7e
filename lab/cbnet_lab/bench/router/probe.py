"""Latency probe: a client that sends a message every 2 ms beside the load, and waits for it.

Messages are sent at fixed times, whether or not the ones before have arrived, so that a stall counts for all of them.
"""

from __future__ import annotations

import select
import time

from cbnet_lab.bench.router.load import Load, LoadProgress, Target
from cbnet_lab.bench.router.publisher import Publisher
from cbnet_lab.bench.router.receiver import Receiver

PROBE = Load(batch=1, channel="ZZ")
_INTERVAL = 0.002  # seconds between two messages
_TIMEOUT = 20.0  # seconds to wait for the last ones


class Probe:
    """A publisher and a subscriber of one server, in one process."""

    def __init__(self, target: Target, load: Load, progress: LoadProgress) -> None:
        self._progress = progress  # of the load beside
        self._receiver = Receiver(target, load, progress)
        self._publisher = Publisher(target, load, progress)

    def run(self) -> list[int]:
        """Send messages as long as the load is published; return the latency of each in ns."""
        (stream,) = self._receiver.streams
        sent_at: list[int] = []
        latencies: list[int] = []
        before, due = stream.count, time.monotonic()
        poll = select.poll()
        poll.register(stream.link, select.POLLIN)
        while (is_sending := self._progress.total is None or not sent_at) or len(latencies) < len(sent_at):
            if is_sending and time.monotonic() >= due:
                sent_at.append(time.monotonic_ns())
                self._publisher.write(1)
                due += _INTERVAL
            elif time.monotonic() > due + _TIMEOUT or self._progress.is_aborted:
                break
            wait = due - time.monotonic() if is_sending else _INTERVAL
            if poll.poll(max(0.0, wait) * 1000) and stream.receive():
                now = time.monotonic_ns()
                stream.check()
                latencies += [now - sent for sent in sent_at[len(latencies) : stream.count - before]]
        return latencies

    def close(self) -> None:
        """Close both connections."""
        self._publisher.close()
        self._receiver.close()
