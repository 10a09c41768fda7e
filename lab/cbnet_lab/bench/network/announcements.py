"""The benchmark of announcements: many subscriptions at once, until every one is confirmed.

One client at each router subscribes to many filters. All subscribe at the same time, and wait until every router that
needs the filters has confirmed them. Then messages are published, and every delivery is compared with the expected
ones. Routers are processes on this machine.

The cost of flooding the same filters is computed, not measured: each router sends its predicate once, and every other
router forwards it to all neighbours except the one it came from. With n routers and m links that is 2m - n + 1 frames
for each router, and every router holds all filters.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import psutil

from cbnet.errors import CbnetError
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_form import canonical_filter, filter_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.network import Client, ProcessNetwork, Status, Subscription, connect
from cbnet.network.link.counters import Event
from cbnet.topology import Graph, topology
from cbnet_lab.bench.network.load_clients import Order
from cbnet_lab.bench.network.throughput import PATIENT, statuses_of
from cbnet_lab.bench.network.traffic import (
    DeliveryCheck,
    ExpectedDeliveries,
    Traffic,
    expected_deliveries,
    filter_population,
)
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.bench.plans import AnnouncementsPlan, Report
from cbnet_lab.bench.result_table import FLAT, Cell, ResultTable, flat, ratio
from cbnet_lab.bench.timing import cpu_meter, wait_until_quiet

_START = 60.0  # timeout for the routers to know each other, in seconds
_TIMEOUT = 3600.0  # timeout for a confirmation, in seconds
_QUIET = 3.0  # seconds without a delivery after which no more are expected
_POLL = 0.5  # interval of status requests to all routers, in seconds


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
class ValueRange:
    """The smallest, median and largest of some values."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> ValueRange:
        """Return the range of these values."""
        return cls(*np.percentile(values, (0, 50, 100)).tolist())


@dataclass(frozen=True)
class AnnouncementRun:
    """The measurements of a run."""

    seconds: float  # until all subscriptions were confirmed
    cpu_s: float
    cpu_max_s: float  # of the busiest process
    cost: AnnouncementCost = field(metadata=FLAT)
    held: ValueRange = field(metadata=flat("held_"))  # distinct filters, per router
    rss_mb: ValueRange = field(metadata=flat("rss_mb_"))  # per process
    check: DeliveryCheck = field(metadata=FLAT)
    reconnects: int = 0  # of clients, on a busy machine: their filters are announced again


@dataclass(frozen=True)
class AnnouncementResult:
    """A run, and the computed cost of flooding."""

    topology: str
    routers: int
    links: int
    trees: str
    population: str
    filters: int  # of each client
    distinct: int  # filters of all clients
    seed: int
    messages: int
    measured: AnnouncementRun = field(metadata=FLAT)
    flooding: AnnouncementCost = field(metadata=flat("flooding_"))
    flooding_held: int  # distinct filters, per router

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if any."""
        wrong = self.measured.check.problem
        return wrong and f"{self.population}, trees {self.trees}: {wrong}"


def run(plan: AnnouncementsPlan, report: Report) -> Iterator[AnnouncementResult]:
    """Subscribe at every router, wait for all confirmations, and check deliveries; for each population and routing."""
    graph = topology(plan.topology, plan.seed)
    for population in plan.population:
        report("generating filters and messages")
        traffic = filter_population(population, len(graph), plan.filters, plan.messages, plan.seed)
        report("computing the expected deliveries")
        expected = expected_deliveries(traffic)
        report("computing the cost of flooding")
        clients = [[filter for text in texts for filter in parse(text)] for texts in traffic.subscribers]
        flooding, held = flooding_cost(graph, clients)
        for routing in plan.trees:
            yield AnnouncementResult(
                topology=plan.topology,
                routers=len(graph),
                links=graph.edge_count,
                trees=str(routing),
                population=population,
                filters=plan.filters,
                distinct=len({_encoded(filter) for filters in clients for filter in filters}),
                seed=plan.seed,
                messages=plan.messages,
                measured=_measure(graph, routing, traffic, expected, report),
                flooding=flooding,
                flooding_held=held,
            )


def _measure(
    graph: Graph, routing: Routing, traffic: Traffic, expected: ExpectedDeliveries, report: Report
) -> AnnouncementRun:
    """Run the routers as processes on this machine."""
    with ExitStack() as stack:
        network = stack.enter_context(ProcessNetwork.of(graph, dead=PATIENT, silence=2 * PATIENT, **routing.settings))
        report("starting routers")
        network.wait(_START)
        _settle(network)
        clients = [stack.enter_context(connect(str(address))) for address in network.addresses.values()]
        before = _cost(statuses_of(network, _START).values())
        report(f"announcing {traffic.filters:,} filters")
        with ThreadPoolExecutor(len(clients)) as threads:
            start, cpu_since = time.perf_counter(), cpu_meter(list(network.pids.values()))
            subscriptions = list(threads.map(_subscribe, clients, traffic.subscribers))
            seconds, cpu = time.perf_counter() - start, cpu_since()
        after = [*statuses_of(network, _START).values()]
        reconnects = sum(client.reconnects for client in clients)
        memory = [psutil.Process(pid).memory_info().rss / 1e6 for pid in network.pids.values()]
        report(f"publishing {len(traffic.contents):,} messages")
        for number, content in enumerate(traffic.contents):
            clients[number % len(clients)].publish(content, str(number).encode())
        deliveries = np.array(_received(subscriptions, int(expected.counts.sum())), np.int64).reshape(-1, 2)
    return AnnouncementRun(
        seconds=seconds,
        cpu_s=sum(cpu),
        cpu_max_s=max(cpu),
        cost=_cost(after) - before,
        held=ValueRange.of([status.filters for status in after]),
        rss_mb=ValueRange.of(memory),
        check=expected.check(Order(0, len(traffic.contents)), *deliveries.T),
        reconnects=reconnects,
    )


def _settle(network: ProcessNetwork) -> None:
    """Wait until no router keeps an earlier version of the topology, on whose trees it would announce, too."""
    end = time.monotonic() + _START
    while any(status.versions > 1 for status in statuses_of(network, _START).values()):
        if time.monotonic() > end:
            raise CbnetError(f"routers that keep earlier versions of the topology after {_START:g} s")
        time.sleep(_POLL)


def _subscribe(client: Client, predicates: Sequence[str]) -> list[Subscription]:
    """Subscribe to all predicates; the last confirmation confirms all."""
    last = len(predicates) - 1
    return [client.subscribe(text, wait=index == last, timeout=_TIMEOUT) for index, text in enumerate(predicates)]


def _received(subscriptions: Sequence[Sequence[Subscription]], count: int) -> list[tuple[int, int]]:
    """Return the client and the message of all deliveries, once no more arrive."""
    received: list[tuple[int, int]] = []

    def receive() -> int:
        for number, own in enumerate(subscriptions):
            for subscription in own:
                while (delivery := subscription.get(0.0)) is not None:
                    received.append((number, int(delivery.payload)))
        return len(received)

    wait_until_quiet(receive, count, settle=_QUIET / 10, quiet=_QUIET)
    return received


def _cost(found: Collection[Status]) -> AnnouncementCost:
    """Return the announcement traffic of the routers so far."""
    frames, filters = (
        sum(status.counters.get(event, 0) for status in found) for event in (Event.ANNOUNCES_SENT, Event.FILTERS_SENT)
    )
    sent = sum(peer.sent for status in found for peer in status.peers if peer.role == "router")
    return AnnouncementCost(frames, filters, sent)


def tables(
    plan: AnnouncementsPlan, rows: Sequence[AnnouncementResult]
) -> Iterator[str | ResultTable[AnnouncementResult]]:
    """Yield the traffic, the state of the routers, and the cost of flooding."""
    first = rows[0]
    size = f"{first.routers:,} routers, {first.links:,} links; a client with {first.filters:,} filters at each router"
    yield f"{plan.topology}, seed {plan.seed}: {size}\n"
    named: dict[str, Cell[AnnouncementResult]] = {"population": "population", "trees": "trees"}
    yield ResultTable("Until all subscriptions are confirmed", rows, {
        **named,
        "seconds": "seconds",
        "CPU s": "cpu_s",
        "frames": "frames",
        "filters sent": "filters_sent",
        "MB": lambda row: row.measured.cost.bytes / 1e6,
        "flooding: frames": "flooding_frames",
        "flooding: filters": "flooding_filters_sent",
        "flooding: MB": lambda row: row.flooding.bytes / 1e6,
        "filters, flooding / sent": lambda row: ratio(row.flooding.filters_sent, row.measured.cost.filters_sent),
    })  # fmt: skip
    yield ResultTable("Different filters that a router holds, and its memory", rows, {
        **named,
        "filters min": "held_min",
        "filters median": "held_median",
        "filters max": "held_max",
        "flooding": "flooding_held",
        "MB min": "rss_mb_min",
        "MB median": "rss_mb_median",
        "MB max": "rss_mb_max",
        "reconnects": "reconnects",
        "deliveries": "deliveries",
        "expected": "expected",
    })  # fmt: skip
    yield (
        "Flooding is computed for the same filters, not measured: each router sends its predicate, reduced, once; on n"
        f" routers with m links it passes 2m - n + 1 = {2 * first.links - first.routers + 1} times over a link. Every"
        " router holds all filters."
    )
    if any(row.measured.reconnects for row in rows):
        yield "Clients timed out and subscribed again, so more was sent: the machine is too busy."
    is_right = all(row.problem is None for row in rows)
    yield f"deliveries: {'each exactly once, as in the reference' if is_right else 'WRONG'}."


def flooding_cost(graph: Graph, clients: Sequence[Sequence[Filter]]) -> tuple[AnnouncementCost, int]:
    """Return the cost of flooding each client's reduced filters once, and the number of filters that a router holds."""
    own = [{_encoded(filter) for filter in reduce(Predicate(filters))} for filters in clients]
    copies = 2 * graph.edge_count - len(graph) + 1
    sizes = [len(filter) for each in own for filter in each]
    return AnnouncementCost(len(graph) * copies, copies * len(sizes), copies * sum(sizes)), len(set().union(*own))


def _encoded(filter: Filter) -> bytes:
    return filter_to_bytes(canonical_filter(filter))
