"""Throughput and latency of acknowledged publishing, beside plain publishing and JetStream, in alternating rounds.

    cbnet, 1 router     publisher and durable subscription at one router
    cbnet, 3 routers    publisher at a, durable subscription at c: a – b – c
    nats, 1 server      a stream in a file

A plain message is answered when it is delivered to a subscriber; an acknowledged one when it is on disk. Afterwards
all acknowledged messages are read, and must be there, once, in order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.durable.durable_delivery import DurableDelivery
from cbnet_lab.bench.acknowledged.jetstream import JetStreamLink, NatsPlainLink, jetstream_server, stored_in_stream
from cbnet_lab.bench.acknowledged.publishing_run import PublishingLink, PublishingRun, number_of, publish
from cbnet_lab.bench.acknowledged.router_link import PREDICATE, AcknowledgedLink, PlainLink
from cbnet_lab.bench.bench_input import Report
from cbnet_lab.bench.cpu import cpu_nanoseconds
from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.bench.router.servers import SERVERS

if TYPE_CHECKING:
    from cbnet_lab.bench.plans import DurablePlan

_NAME = "bench"  # of the durable subscription
_PATIENT: dict[str, Any] = {"heartbeat": 10.0, "dead": 30.0, "silence": 60.0}  # a busy machine is no failure
_WAIT = 20.0  # seconds for the next stored message


@dataclass(frozen=True)
class PublishingResult:
    """Measurements of one method of publishing."""

    name: str
    servers: int
    is_acknowledged: bool
    messages_per_s: int  # of the best round
    cpu_us_per_message: float  # of all servers, in the best round
    p50_ms: float  # of messages that are sent one at a time
    p99_ms: float
    loaded_p50_ms: float  # with many messages in flight
    messages: int
    problem: str | None


@dataclass
class AcknowledgedRival:
    """One method of publishing, and its measurements."""

    name: str
    servers: int
    is_acknowledged: bool
    link: PublishingLink
    pids: Sequence[int]
    stored: Callable[[int], list[int]] | None  # returns the numbers of so many messages
    published: int = 0
    rounds: list[tuple[PublishingRun, float]] = field(default_factory=list)  # and CPU µs for each message
    latencies: list[float] = field(default_factory=list)  # seconds, of messages that are sent one at a time

    def run(self, plan: DurablePlan) -> None:
        """Measure one round: many messages in flight, then one at a time."""
        before = sum(map(cpu_nanoseconds, self.pids))
        run = self._publish(plan.messages, plan.window, plan.payload_bytes)
        used = sum(map(cpu_nanoseconds, self.pids)) - before
        self.rounds.append((run, used / 1000 / plan.messages))
        self.latencies += self._publish(plan.probes, 1, plan.payload_bytes).latencies

    def _publish(self, count: int, window: int, size: int) -> PublishingRun:
        run = publish(self.link, self.published + 1, count, window, size)
        self.published += count
        return run

    def close(self) -> None:
        """Close the connections."""
        self.link.publisher.close()
        self.link.answers.close()

    def result(self) -> PublishingResult:
        """Read all acknowledged messages, and return the measurements."""
        numbers = range(1, self.published + 1)
        stored = list(numbers) if self.stored is None else self.stored(self.published)
        wrong = f"{self.name}: {len(stored):,} of {self.published:,} messages stored, or not in order"
        loaded = [each for run, _ in self.rounds for each in run.latencies]
        return PublishingResult(
            name=self.name,
            servers=self.servers,
            is_acknowledged=self.is_acknowledged,
            messages_per_s=round(max(run.messages / run.seconds for run, _ in self.rounds)),
            cpu_us_per_message=min(cpu for _, cpu in self.rounds),
            p50_ms=float(np.percentile(self.latencies, 50)) * 1000,
            p99_ms=float(np.percentile(self.latencies, 99)) * 1000,
            loaded_p50_ms=float(np.percentile(loaded, 50)) * 1000,
            messages=self.published,
            problem=None if stored == list(numbers) else wrong,
        )


def run(plan: DurablePlan, report: Report) -> Iterator[PublishingResult]:
    """Measure all in turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cbnet-bench-")))
        rivals = [rival for size in (1, 3) for rival in _routers(stack, size, folder / str(size))]
        rivals += _nats(stack)
        for rival in rivals:
            stack.callback(rival.close)
        for number in range(plan.rounds):
            for rival in rivals:
                report(f"round {number + 1} of {plan.rounds}: {rival.name}")
                rival.run(plan)
        for rival in rivals:
            report(f"checking {rival.name}")
            yield rival.result()


def tables(plan: DurablePlan, rows: Sequence[PublishingResult]) -> Iterator[str | ResultTable[PublishingResult]]:
    """Yield the speed and latency of each method."""
    yield f"{SERVERS['nats'].version()}: answers before it syncs its file"
    title = f"{plan.messages:,} messages of {plan.payload_bytes:,} bytes, best of {plan.rounds} rounds"
    yield ResultTable(title, rows, {
        "server": "name",
        "answered when": lambda row: "stored" if row.is_acknowledged else "delivered",
        "messages/s": "messages_per_s",
        "CPU µs/message": "cpu_us_per_message",
        "p50 ms": "p50_ms",
        "p99 ms": "p99_ms",
        f"p50 ms of {plan.window}": "loaded_p50_ms",
    })  # fmt: skip


def _routers(stack: ExitStack, size: int, folder: Path) -> Iterator[AcknowledgedRival]:
    """Start routers in a chain: one network for plain messages, and one with a journal for acknowledged ones."""
    names = "abc"[:size]
    for is_acknowledged in (False, True):
        journals = folder if is_acknowledged else None
        settings = [Settings(name, **_PATIENT) for name in names]
        network = stack.enter_context(ProcessNetwork(settings, list(pairwise(names)), journals=journals))
        network.wait()
        first, last = network.addresses[names[0]], network.addresses[names[-1]]
        link: PublishingLink
        if is_acknowledged:
            with connect(str(last)) as client:
                client.subscribe(PREDICATE, durable=_NAME, wait=True)
            link = AcknowledgedLink(first, 1)
        else:
            link = PlainLink(first, last)
        name = f"cbnet, {size} router{'s' if size > 1 else ''}"
        stored = (lambda count, at=str(last): _stored(at, count)) if is_acknowledged else None
        yield AcknowledgedRival(name, size, is_acknowledged, link, list(network.pids.values()), stored)


def _stored(address: str, count: int) -> list[int]:
    """Return the numbers of the messages of the durable subscription."""
    numbers: list[int] = []
    with connect(address) as client:
        subscription = client.subscribe("", durable=_NAME)
        while len(numbers) < count and (batch := subscription.take(timeout=_WAIT)):
            numbers += [number_of(delivery.payload) for delivery in batch]
            if isinstance(batch[-1], DurableDelivery):
                subscription.acknowledge_up_to(batch[-1].offset)
    return numbers


def _nats(stack: ExitStack) -> list[AcknowledgedRival]:
    server = stack.enter_context(jetstream_server())
    plain, stream = NatsPlainLink(server.port), JetStreamLink(server.port)
    return [
        AcknowledgedRival("nats, 1 server", 1, False, plain, [server.pid], None),
        AcknowledgedRival(
            "JetStream, 1 server", 1, True, stream, [server.pid], lambda count: stored_in_stream(server.port, count)
        ),
    ]
