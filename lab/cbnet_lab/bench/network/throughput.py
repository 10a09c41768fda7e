"""The throughput benchmark of a network of router processes.

Routers and clients are separate processes on this machine, connected by TCP. Every delivery is compared with the
expected ones, computed by the reference matcher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, Status, statuses
from cbnet.network.link.counters import Event, drops
from cbnet.topology import topology
from cbnet_lab.bench.network.load_clients import Order
from cbnet_lab.bench.network.load_processes import LoadProcesses, network_load
from cbnet_lab.bench.network.traffic import (
    DeliveryCheck,
    ExpectedDeliveries,
    Traffic,
    expected_deliveries,
    mixed_traffic,
)
from cbnet_lab.bench.plans import NetworkBenchPlan, Report
from cbnet_lab.bench.result_table import FLAT, Cell, ResultTable, percent, ratio
from cbnet_lab.bench.timing import cpu_meter

_CONTENTS = 1_000  # distinct messages, published in turn
_DEFAULT = ("tree:1", "tree:2")  # one router, and two
_WARM = 200  # messages before anything is measured
_LOAD = 0.5  # default rate, as a share of full speed
_MAX_PACED = 10.0  # maximum duration of a run at a fixed rate, in seconds
_START = 60.0  # timeout for the routers to connect, in seconds
PATIENT = 30.0  # seconds of silence before a link is declared dead: long, because a busy machine is not a broken link
_LATE_MS = 100.0  # publisher lag from which it is reported
_MIN_CPU_SECONDS = 0.2  # below this, the resolution of a hundredth per process is too coarse


@dataclass(frozen=True)
class ThroughputResult:
    """Measurements of one run through a network."""

    topology: str
    routers: int
    links: int
    trees: str
    predicates: str
    subscribers: int
    filters: int  # of all subscribers
    payload: int
    window: int
    seed: int
    checked: int  # contents matched by the reference
    contents: int
    run: str
    rate: float | None
    messages: int
    check: DeliveryCheck = field(metadata=FLAT)
    seconds: float  # until the last delivery
    messages_per_s: float
    deliveries_per_s: float
    p50_ms: float | None  # latencies from publish to delivery; None if nothing was delivered
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    late_ms: float  # maximum lag of the publisher behind its rate
    cpu_publisher_s: float
    cpu_receivers_s: Sequence[float]  # by process
    cpu_servers_s: Sequence[float]  # by router
    matches: int  # of a message against a table, in all routers
    matching_s: float | None  # None if no match was timed
    matching_share: float | None  # of the routers' processor time; None if that was too short to measure
    changes: int  # records installed: links or predicates changed, which voids the delivery guarantee
    reconnects: int  # of clients, whose messages in flight are lost
    dropped: Mapping[str, int]  # messages dropped by routers, by reason

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if any."""
        return self.check.problem and f"{self.topology}, {self.run}: {self.check.problem}"


@dataclass(frozen=True)
class _Meter:
    """A running network with its clients, measured run by run."""

    plan: NetworkBenchPlan
    name: str
    network: ProcessNetwork
    load: LoadProcesses
    expected: ExpectedDeliveries

    def measure(self, run: str, order: Order) -> ThroughputResult:
        """Carry out an order and measure it."""
        plan, (publishing, receiving), servers = self.plan, self.load.pids, list(self.network.pids.values())
        before, cpu = counters_of(self.network), cpu_meter([publishing, *receiving, *servers])
        received = self.load.run(order)
        publisher_s, *others_s = cpu()
        servers_s = others_s[len(receiving) :]
        counters = counters_of(self.network)
        counters.subtract(before)
        check = self.expected.check(order, received.subscribers, received.numbers)
        latencies = zip(("p50_ms", "p95_ms", "p99_ms", "max_ms"), received.percentiles(50, 95, 99, 100), strict=True)
        # Routers time only some of their matches.
        timed, timed_s = counters[Event.MATCHES_TIMED], counters[Event.MATCHES_TIMED_NS] / 1e9
        matching_s = timed_s * counters[Event.MATCHES] / timed if timed else None
        return ThroughputResult(
            topology=self.name,
            routers=len(servers),
            links=len(self.network.links),
            trees=str(plan.routing),
            predicates=plan.mix,
            subscribers=plan.subscribers,
            filters=plan.subscribers * plan.filters,
            payload=plan.payload,
            window=plan.window,
            seed=plan.seed,
            checked=self.expected.checked,
            contents=len(self.expected.counts),
            run=run,
            rate=order.rate,
            messages=order.count,
            check=check,
            seconds=received.seconds,
            messages_per_s=order.count / received.seconds,
            deliveries_per_s=check.deliveries / received.seconds,
            **dict(latencies),
            late_ms=received.published.late * 1000,
            cpu_publisher_s=publisher_s,
            cpu_receivers_s=others_s[: len(receiving)],
            cpu_servers_s=servers_s,
            matches=counters[Event.MATCHES],
            matching_s=matching_s,
            matching_share=matching_share(matching_s, servers_s),
            changes=counters[Event.RECORDS_INSTALLED],
            reconnects=received.reconnects,
            dropped={reason: count for reason, count in drops(counters).items() if count},
        )


def matching_share(seconds: float | None, servers: Sequence[float]) -> float | None:
    """Return the share of matching in the routers' processor time, or None if that was too short to measure."""
    used = sum(servers)
    return seconds / used if seconds is not None and used >= _MIN_CPU_SECONDS else None


def statuses_of(network: ProcessNetwork, timeout: float = 10.0, **access: Any) -> dict[str, Status]:
    """Return the status of all running routers, by name; access: TLS and the token, if they need them."""
    failed: list[str] = []
    found = statuses(
        {name: network.addresses[name] for name in network.pids}, timeout=timeout,
        on_failure=lambda name, error: failed.append(f"{name}: {error}"), **access,
    )  # fmt: skip
    if failed:
        raise CbnetError(f"routers do not answer: {'; '.join(failed)}")
    return found


def counters_of(network: ProcessNetwork) -> Counter[str]:
    """Return the sum of the counters of all running routers."""
    return sum((Counter(status.counters) for status in statuses_of(network).values()), Counter[str]())


def traffic_of(plan: NetworkBenchPlan) -> Traffic:
    """Return the subscriptions and messages of the clients."""
    return mixed_traffic(plan.mix, plan.subscribers, plan.filters, _CONTENTS, plan.seed)


def run(plan: NetworkBenchPlan, report: Report) -> Iterator[ThroughputResult]:
    """Measure each network: at full speed, then at a fixed rate."""
    report("generating predicates and messages")
    traffic = traffic_of(plan)
    report("computing the expected deliveries")
    expected = expected_deliveries(traffic)
    for name in plan.graphs or _DEFAULT:
        graph = topology(name, plan.seed)
        with ProcessNetwork.of(graph, dead=PATIENT, silence=2 * PATIENT, **plan.routing.settings) as network:
            report(f"{name}: starting routers")
            network.wait(_START)
            addresses = [str(address) for address in network.addresses.values()]
            report(f"{name}: starting clients")
            with network_load(plan, addresses, traffic, expected) as load:
                meter = _Meter(plan, name, network, load, expected)
                meter.measure("warm-up", Order(0, _WARM, window=plan.window))
                report(f"{name}: messages at full speed")
                full = meter.measure("full speed", Order(_WARM, plan.messages, window=plan.window))
                yield full
                rate = plan.rate or max(1.0, full.messages_per_s * _LOAD)
                report(f"{name}: {rate:,.0f} messages per second")
                count = max(1, min(plan.messages, int(rate * _MAX_PACED)))
                yield meter.measure("at a rate", Order(_WARM + plan.messages, count, rate))


def tables(plan: NetworkBenchPlan, rows: Sequence[ThroughputResult]) -> Iterator[str | ResultTable[ThroughputResult]]:
    """Yield the speed, latency and processor time of each run, and the outcome of its check."""
    first = rows[0]
    clients = f"{plan.subscribers:,} subscribers with {plan.filters:,} filters each ({plan.mix})"
    yield f"network, trees {plan.routing}, seed {plan.seed}: {clients}, {plan.payload} bytes of payload"
    processes = f"1 publishing process, {plan.processes} receiving"
    yield f"{processes}; at full speed at most {plan.window:,} deliveries in flight\n"
    named: dict[str, Cell[ThroughputResult]] = {"topology": "topology", "run": "run"}
    yield ResultTable("Speed, and latency from publish to delivery", rows, {
        **named,
        "messages": "messages",
        "messages/s": "messages_per_s",
        "deliveries/s": "deliveries_per_s",
        "p50 ms": "p50_ms",
        "p95 ms": "p95_ms",
        "p99 ms": "p99_ms",
        "max ms": "max_ms",
        "server µs / message": lambda row: sum(row.cpu_servers_s) / row.messages * 1e6,
    })  # fmt: skip
    yield ResultTable("CPU seconds, and the share of matching in the routers' time", rows, {
        **named,
        "publisher": "cpu_publisher_s",
        "receivers": lambda row: sum(row.cpu_receivers_s),
        "routers": lambda row: sum(row.cpu_servers_s),
        "busiest router": lambda row: max(row.cpu_servers_s, default=None),
        "µs / match": lambda row: ratio(row.matching_s, row.matches / 1e6),
        "matching": lambda row: percent(row.matching_share),
    })  # fmt: skip
    oracle = "the reference" if first.checked == first.contents else "a table checked against the reference"
    for row in rows:
        summary = f"{row.topology}, {row.run}: {row.check.deliveries:,} of {row.check.expected:,} deliveries"
        if row.check.problem is None:
            yield f"{summary}, each exactly once, as in {oracle}."
        else:
            yield f"{summary}, WRONG: {row.check.problem}; dropped: {dict(row.dropped) or 'nothing'}."
        if row.changes or row.reconnects:
            changes = f"{row.changes:,} records changed, {row.reconnects:,} clients reconnected"
            yield f"  Meanwhile {changes}: a peer timed out, and messages in flight may be missed."
        if row.rate is not None and row.late_ms > _LATE_MS:
            yield f"  Publisher lag: up to {row.late_ms / 1000:.1f} s; the machine is busy."
