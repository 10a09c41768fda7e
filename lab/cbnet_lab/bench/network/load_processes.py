"""Publisher and subscriber processes of a load test, separate from the routers.

One process publishes; the others receive and count deliveries in shared memory, so that the publisher can limit the
number of messages in flight and queueing time is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from cbnet.network.transport.event_loop import run
from cbnet_lab.bench.network.load_clients import Deliveries, DeliveryCount, Order, PublishTiming, publish, receive
from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic
from cbnet_lab.bench.plans import NetworkBenchPlan
from cbnet_lab.bench.processes import SPAWN, WorkerProcess
from cbnet_lab.bench.timing import wait_until_quiet

_START_TIMEOUT = 900.0  # seconds
_PUBLISHERS = 4  # approximate number of routers at which messages are published
_SETTLE = 0.3  # seconds of silence after the last expected delivery, to catch surplus ones
_QUIET = 10.0  # seconds


@dataclass(frozen=True)
class ReceivedDeliveries:
    """All deliveries of one run."""

    published: PublishTiming
    subscribers: np.ndarray[Any, np.dtype[np.int64]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    milliseconds: np.ndarray[Any, np.dtype[np.float64]]
    at: np.ndarray[Any, np.dtype[np.int64]]  # ns
    reconnects: int = 0  # of clients

    @property
    def seconds(self) -> float:
        """Seconds from the first message until the last delivery."""
        end = max(self.published.ended, int(self.at.max()) if len(self.at) else 0)
        return (end - self.published.began) / 1e9

    def percentiles(self, *percents: float) -> list[float | None]:
        """Return percentiles of the latency in ms; None if nothing was delivered."""
        return np.percentile(self.milliseconds, percents).tolist() if len(self.at) else [None] * len(percents)


class LoadProcesses:
    """One publishing process and several receiving ones."""

    def __init__(
        self, workers: Sequence[WorkerProcess], tally: DeliveryCount, expected: ExpectedDeliveries, publishers: int
    ) -> None:
        """Use running processes, the last of which publishes; tally: of deliveries; publishers: their number."""
        self._workers, self._tally, self._expected, self.publishers = workers, tally, expected, publishers

    @property
    def pids(self) -> tuple[int, list[int]]:
        """The publishing process, and the receiving ones."""
        *receiving, publishing = [worker.pid for worker in self._workers]
        return publishing, receiving

    def run(
        self, order: Order, meanwhile: Callable[[], None] = lambda: None, quiet: float = _QUIET
    ) -> ReceivedDeliveries:
        """Publish, wait for the expected deliveries, and return the received ones.

        meanwhile: called after publishing has started. quiet: seconds without a delivery before the wait ends.
        """
        *receiving, publishing = self._workers
        total = self._tally.total() + int(self._expected.required(order).sum())
        publishing.send(order)
        meanwhile()
        published: PublishTiming = publishing.receive()
        wait_until_quiet(self._tally.total, total, settle=_SETTLE, quiet=quiet)
        for worker in receiving:
            worker.send("report")
        reports: list[Deliveries] = [worker.receive(_START_TIMEOUT) for worker in receiving]
        return _received(published, reports)


@contextmanager
def network_load(
    plan: NetworkBenchPlan, routers: Sequence[str], traffic: Traffic, expected: ExpectedDeliveries
) -> Iterator[LoadProcesses]:
    """Run the clients of a network: subscribers round-robin over routers and processes, and publishers at some routers.

    routers: addresses.
    """
    publish_at, processes = routers[:: max(1, len(routers) // _PUBLISHERS)], plan.processes
    subscribers = [(number, routers[number % len(routers)], own) for number, own in enumerate(traffic.subscribers)]
    receivers = range(min(processes, len(subscribers)))
    roles: list[tuple[Any, ...]] = [(receive, subscribers[index::processes], index) for index in receivers]
    roles.append((publish, publish_at, traffic.contents, expected.deliveries, plan.payload))
    shared = SPAWN.RawArray("q", len(receivers))
    with ExitStack() as stack:
        started = [WorkerProcess("a client process", _run, shared, *role) for role in roles]
        workers = [stack.enter_context(closing(worker)) for worker in started]
        for worker in workers:
            worker.receive(_START_TIMEOUT)
        yield LoadProcesses(workers, DeliveryCount(shared), expected, len(publish_at))


def _received(published: PublishTiming, reports: Sequence[Deliveries]) -> ReceivedDeliveries:
    def joined(name: str) -> Any:
        return np.concatenate([np.array(getattr(each, name), np.int64) for each in reports])

    stamps = np.concatenate([np.frombuffer(each.stamps, ">u8") for each in reports]).astype(np.int64).reshape(-1, 2)
    at = joined("at")
    reconnects = published.reconnects + sum(each.reconnects for each in reports)
    return ReceivedDeliveries(published, joined("subscribers"), stamps[:, 0], (at - stamps[:, 1]) / 1e6, at, reconnects)


def _run(pipe: Connection, shared: Any, role: Callable[..., Any], *arguments: Any) -> None:
    """Run a role in this process until it ends."""

    def next_command() -> Any:
        try:
            return pipe.recv() if pipe.poll() else None
        except (EOFError, OSError):  # the parent has ended, or closed the pipe
            return "end"

    run(role(*arguments, DeliveryCount(shared), next_command, pipe.send))
