"""Runs of the benchmark of announcements: routers in processes, or in memory with a simulated clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import psutil

from cbnet.errors import CbnetError
from cbnet.network import MemoryClient, MemoryNetwork, ProcessNetwork, Settings, Status, connect
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import Event
from cbnet.network.protocol.frames import Subscribed
from cbnet_lab.bench.cpu import cpu_meter
from cbnet_lab.bench.network.throughput import statuses_of
from cbnet_lab.bench.network.traffic import DeliveryCheck
from cbnet_lab.bench.result_table import FLAT, flat

if TYPE_CHECKING:
    from cbnet.network import Client, Subscription
    from cbnet.topology import Graph
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic
    from cbnet_lab.bench.routing import Routing

_START = 60.0  # seconds until the routers know each other
_TIMEOUT = 3600.0  # seconds for a confirmation
_PATIENT = 30.0  # seconds of silence before a link is declared dead: long, because a busy machine is not a broken link
_QUIET = 3.0  # seconds without a delivery, after which none is expected any more
_STEP = 0.05  # seconds of the simulated clock
_ANNOUNCEMENTS = ("Announce", "AnnounceAck")

Deliveries = list[tuple[int, int]]  # client, message


@dataclass(frozen=True)
class AnnouncementCost:
    """Announcement traffic until all subscriptions were confirmed."""

    frames: int  # of announcements, between routers
    filters_sent: int  # in these frames
    bytes: int  # between routers

    def __sub__(self, other: AnnouncementCost) -> AnnouncementCost:
        """Return the cost since `other`."""
        sent = self.filters_sent - other.filters_sent
        return AnnouncementCost(self.frames - other.frames, sent, self.bytes - other.bytes)


@dataclass(frozen=True)
class Spread:
    """The smallest, median and largest of some values."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of these values."""
        return cls(*np.percentile(values, (0, 50, 100)).tolist())


@dataclass(frozen=True)
class AnnouncementRun:
    """The measurements of a run."""

    seconds: float  # until all subscriptions were confirmed
    cpu_s: float
    cpu_max_s: float  # of the busiest process
    simulated_s: float | None  # of the simulated clock
    cost: AnnouncementCost = field(metadata=FLAT)
    held: Spread = field(metadata=flat("held_"))  # different filters, of a router
    rss_mb: Spread = field(metadata=flat("rss_mb_"))  # of a process
    check: DeliveryCheck = field(metadata=FLAT)
    reconnects: int = 0  # of clients, on a busy machine: their filters are announced again


# --- in processes


def measure_processes(
    graph: Graph, routing: Routing, traffic: Traffic, expected: ExpectedDeliveries, report: Report
) -> AnnouncementRun:
    """Run the routers as processes on this machine."""
    with ExitStack() as stack:
        network = stack.enter_context(ProcessNetwork.of(graph, dead=_PATIENT, silence=2 * _PATIENT, **routing.settings))
        report("starting routers")
        network.wait(_START)
        _settle(network)
        clients = [stack.enter_context(connect(str(address))) for address in network.addresses.values()]
        before = _cost(statuses_of(network, _START))
        report(f"announcing {traffic.filters:,} filters")
        with ThreadPoolExecutor(len(clients)) as threads:
            start, cpu_since = time.perf_counter(), cpu_meter(list(network.pids.values()))
            subscriptions = list(threads.map(_subscribe, clients, traffic.subscribers))
            seconds, cpu = time.perf_counter() - start, cpu_since()
        after = statuses_of(network, _START)
        reconnects = sum(client.reconnects for client in clients)
        memory = [psutil.Process(pid).memory_info().rss / 1e6 for pid in network.pids.values()]
        report(f"publishing {len(traffic.contents):,} messages")
        for number, content in enumerate(traffic.contents):
            clients[number % len(clients)].publish(content, str(number).encode())
        deliveries = _received(subscriptions, int(expected.counts.sum()))
    return AnnouncementRun(
        seconds=seconds,
        cpu_s=sum(cpu),
        cpu_max_s=max(cpu),
        simulated_s=None,
        cost=_cost(after) - before,
        held=Spread.of([status.filters for status in after]),
        rss_mb=Spread.of(memory),
        check=_check(traffic, expected, deliveries),
        reconnects=reconnects,
    )


def _settle(network: ProcessNetwork) -> None:
    """Wait until no router keeps an earlier version of the topology, whose trees it would announce on, too."""
    end = time.monotonic() + _START
    while any(status.versions > 1 for status in statuses_of(network, _START)):
        if time.monotonic() > end:
            raise CbnetError(f"routers that keep earlier versions of the topology after {_START:g} s")
        time.sleep(_STEP * 10)


def _subscribe(client: Client, predicates: Sequence[str]) -> list[Subscription]:
    """Subscribe to all predicates; the last confirmation confirms all."""
    last = len(predicates) - 1
    return [client.subscribe(text, wait=index == last, timeout=_TIMEOUT) for index, text in enumerate(predicates)]


def _received(subscriptions: Sequence[Sequence[Subscription]], count: int) -> Deliveries:
    """Return all deliveries, when no more come."""
    received: Deliveries = []
    seen, seen_at = -1, time.monotonic()
    while time.monotonic() - seen_at < (_QUIET if len(received) < count else _QUIET / 10):
        if len(received) != seen:
            seen, seen_at = len(received), time.monotonic()
        for number, own in enumerate(subscriptions):
            for subscription in own:
                while (delivery := subscription.get(0.0)) is not None:
                    received.append((number, int(delivery.payload)))
        time.sleep(_STEP)
    return received


def _cost(found: Sequence[Status]) -> AnnouncementCost:
    """Return the announcement traffic of the routers so far."""
    frames, filters = (
        sum(status.counters.get(event, 0) for status in found) for event in (Event.ANNOUNCES_SENT, Event.FILTERS_SENT)
    )
    sent = sum(peer.sent for status in found for peer in status.peers if peer.role == "router")
    return AnnouncementCost(frames, filters, sent)


# --- in memory


def measure_in_memory(
    graph: Graph, routing: Routing, traffic: Traffic, expected: ExpectedDeliveries, report: Report
) -> AnnouncementRun:
    """Run the routers in this process, with a simulated clock."""
    process = psutil.Process()
    memory = MemoryNetwork()
    names = [str(name) for name in graph.names]
    for name in names:
        memory.add(Settings(name, **routing.settings))
    for u, v, _ in graph.edges():
        memory.add_cable(names[u], names[v])
    clients = [MemoryClient(memory, f"client-{name}", name) for name in names]
    report("starting routers")
    while not all(memory.router(name).is_settled and len(memory.router(name).version) == len(names) for name in names):
        memory.run(_STEP)
    before, used = _cost_in_memory(memory), process.memory_info()
    report(f"announcing {traffic.filters:,} filters")
    start, begun, simulated = time.perf_counter(), time.process_time(), memory.now
    for client, texts in zip(clients, traffic.subscribers, strict=True):
        for id, text in enumerate(texts):
            client.subscribe(id, text, _TIMEOUT if id == len(texts) - 1 else 0.0)
    while not all(map(_is_confirmed, clients)):
        memory.run(_STEP)
    seconds, cpu, simulated = time.perf_counter() - start, time.process_time() - begun, memory.now - simulated
    cost = _cost_in_memory(memory) - before
    held = [len(memory.router(name).subscriptions.aggregation) for name in names]
    share = (process.memory_info().rss - used.rss) / len(names) / 1e6
    report(f"publishing {len(traffic.contents):,} messages")
    for number, content in enumerate(traffic.contents):
        attributes = {name: value for name, value in content.items() if name != "#"}
        clients[number % len(clients)].publish(attributes, str(number).encode(), tuple(content.get("#", ())))
    memory.run(_QUIET * 2)
    deliveries = [(number, int(each.payload)) for number, client in enumerate(clients) for each in client.deliveries]
    return AnnouncementRun(
        seconds, cpu, cpu, simulated, cost, Spread.of(held), Spread.of([share]), _check(traffic, expected, deliveries)
    )


def _cost_in_memory(memory: MemoryNetwork) -> AnnouncementCost:
    """Return the announcement traffic of the routers so far."""
    filters = sum(memory.router(name).counters[Event.FILTERS_SENT] for name in memory.hosts)
    return AnnouncementCost(memory.frames["Announce"], filters, sum(memory.bytes[kind] for kind in _ANNOUNCEMENTS))


def _is_confirmed(client: MemoryClient) -> bool:
    last = len(client.subscriptions) - 1
    return any(isinstance(each, Subscribed) and each.id == last and each.is_confirmed for each in client.answers)


def _check(traffic: Traffic, expected: ExpectedDeliveries, deliveries: Deliveries) -> DeliveryCheck:
    subscribers, numbers = np.array(deliveries, np.int64).reshape(-1, 2).T
    return expected.check(Order(0, len(traffic.contents)), subscribers, numbers)
