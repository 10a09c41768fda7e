"""The throughput benchmark of a network of router processes.

Routers and clients are separate processes on this machine, connected by TCP. Every delivery is compared with the
expected ones, computed by the reference matcher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, statuses
from cbnet.network.client.load_clients import Order
from cbnet.topology import topology
from cbnet_lab.bench.cpu import cpu_of, used_since
from cbnet_lab.bench.network.delivery_check import check_deliveries, expected_count
from cbnet_lab.bench.network.load_processes import network_load
from cbnet_lab.bench.network.run_result import SPEED, Cpu, RunResult, run_result
from cbnet_lab.bench.network.traffic import (
    ExpectedDeliveries,
    Traffic,
    expected_deliveries,
    keyed_traffic,
    mixed_traffic,
)
from cbnet_lab.bench.result_table import FLAT, Cell, ResultTable, percent, ratio

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.load_processes import LoadProcesses
    from cbnet_lab.bench.plans import NetworkBenchPlan

CONTENTS = 1_000  # distinct messages, published in turn
_DEFAULT = ("tree:1", "tree:2")  # one router, and two
_WARM = 200  # messages before anything is measured
_LOAD = 0.5  # of full speed, the default rate
_MAX_PACED = 10.0  # seconds of messages at a rate
_START = 60.0  # timeout for the routers to connect, in seconds
PATIENT = 30.0  # seconds of silence before a link is declared dead: long, because a busy machine is not a broken link
_PUBLISHERS = 4  # routers where messages are published
_LATE_MS = 100.0  # lag of the publisher that is reported


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
    measured: RunResult = field(metadata=FLAT)

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if there are any."""
        return self.measured.problem and f"{self.topology}, {self.run}: {self.measured.problem}"


def traffic_of(plan: NetworkBenchPlan) -> Traffic:
    """Return the subscriptions and messages of the clients."""
    if plan.mix == "equality":
        return keyed_traffic("equality", plan.subscribers * plan.filters, plan.subscribers, CONTENTS)
    return mixed_traffic("2002", plan.subscribers, plan.filters, CONTENTS, plan.seed)


def run(plan: NetworkBenchPlan, report: Report) -> Iterator[ThroughputResult]:
    """Measure each network: at full speed, then at a rate."""
    for name in plan.graphs or _DEFAULT:
        yield from _measured(plan, name, report)


def _measured(plan: NetworkBenchPlan, name: str, report: Report) -> Iterator[ThroughputResult]:
    graph = topology(name, plan.seed)
    report("generating predicates and messages")
    traffic = traffic_of(plan)
    report("computing the expected deliveries")
    expected = expected_deliveries(traffic)

    def result(run: str, measured: RunResult) -> ThroughputResult:
        return ThroughputResult(
            topology=name,
            routers=len(graph),
            links=graph.edge_count,
            trees=str(plan.routing),
            predicates=plan.mix,
            subscribers=plan.subscribers,
            filters=plan.subscribers * plan.filters,
            payload=plan.payload,
            window=plan.window,
            seed=plan.seed,
            checked=expected.checked,
            contents=len(traffic.contents),
            run=run,
            measured=measured,
        )

    with ProcessNetwork.of(graph, dead=PATIENT, silence=2 * PATIENT, **plan.routing.settings) as network:
        report(f"{name}: starting routers")
        network.wait(_START)
        addresses = [str(address) for address in network.addresses.values()]
        report(f"{name}: starting clients")
        publish_at = addresses[:: max(1, len(addresses) // _PUBLISHERS)]
        with network_load(addresses, publish_at, traffic, expected, plan.payload, plan.processes) as load:
            meter = NetworkMeter.of_network(network, load, expected)
            meter.run(Order(0, _WARM, window=plan.window))
            report(f"{name}: messages at full speed")
            full = meter.run(Order(_WARM, plan.messages, window=plan.window))
            yield result("full speed", full)
            rate = plan.rate or max(1.0, full.messages_per_s * _LOAD)
            report(f"{name}: {rate:,.0f} messages per second")
            count = max(1, min(plan.messages, int(rate * _MAX_PACED)))
            yield result("at a rate", meter.run(Order(_WARM + plan.messages, count, rate)))


def tables(plan: NetworkBenchPlan, rows: Sequence[ThroughputResult]) -> Iterator[str | ResultTable[ThroughputResult]]:
    """Yield the speed, latency and processor time of each run, and the outcome of its check."""
    first = rows[0]
    clients = f"{plan.subscribers:,} subscribers with {plan.filters:,} filters each ({plan.mix})"
    yield f"network, trees {plan.routing}, seed {plan.seed}: {clients}, {plan.payload} bytes of payload"
    processes = f"1 publishing process, {plan.processes} receiving"
    yield f"{processes}; at full speed at most {plan.window:,} deliveries in flight\n"
    named: dict[str, Cell[ThroughputResult]] = {"topology": "topology", "run": "run"}
    yield ResultTable("Speed, and latency from publish to delivery", rows, named | SPEED)
    yield ResultTable("CPU seconds, and the share of matching in the routers' time", rows, {
        **named,
        "publisher": "cpu_publisher_s",
        "receivers": lambda row: sum(row.measured.cpu.receivers_s),
        "routers": lambda row: sum(row.measured.cpu.servers_s),
        "busiest router": lambda row: max(row.measured.cpu.servers_s, default=None),
        "µs / match": lambda row: ratio(row.measured.matching_s, (row.measured.matches or 0) / 1e6),
        "matching": lambda row: percent(row.measured.matching_share),
    })  # fmt: skip
    oracle = "the reference" if first.checked == first.contents else "a table checked against the reference"
    for row in rows:
        yield from _checked(row, oracle)


def _checked(row: ThroughputResult, oracle: str) -> Iterator[str]:
    measured = row.measured
    summary = f"{row.topology}, {row.run}: {measured.check.deliveries:,} of {measured.check.expected:,} deliveries"
    if measured.problem is None:
        yield f"{summary}, each exactly once, as in {oracle}."
    else:
        yield f"{summary}, WRONG: {measured.problem}; dropped: {dict(measured.dropped) or 'nothing'}."
    if measured.changes or measured.reconnects:
        changes = f"{measured.changes:,} records changed, {measured.reconnects:,} clients reconnected"
        yield f"  Meanwhile {changes}: a peer timed out, and messages in flight may be missed."
    if measured.rate is not None and measured.late_ms > _LATE_MS:
        yield f"  Publisher lag: up to {measured.late_ms / 1000:.1f} s; the machine is busy."


class NetworkMeter:
    """Runs orders through a network or a broker and measures them."""

    def __init__(
        self,
        load: LoadProcesses,
        expected: ExpectedDeliveries,
        servers: Callable[[], Sequence[int]],
        counters: Callable[[], Counter[str]] = Counter,
    ) -> None:
        """Measure `load`; `servers` returns the server processes, `counters` their counters."""
        self._load = load
        self._expected = expected
        self._servers = servers
        self._counters = counters

    @classmethod
    def of_network(cls, network: ProcessNetwork, load: LoadProcesses, expected: ExpectedDeliveries) -> NetworkMeter:
        """Return a meter of router processes."""
        return cls(load, expected, lambda: list(network.pids.values()), lambda: counters_of(network))

    def run(self, order: Order) -> RunResult:
        """Execute an order and measure it."""
        publishing, receiving = self._load.pids
        servers = self._servers()
        before, used = self._counters(), cpu_of([publishing, *receiving, *servers])
        received = self._load.run(order, expected_count(order, self._expected))
        cpu = Cpu(sum(used_since(used, [publishing])), used_since(used, receiving), used_since(used, servers))
        counters = self._counters()
        counters.subtract(before)
        return run_result(order, check_deliveries(order, self._expected, received), received, cpu, counters)


def counters_of(network: ProcessNetwork) -> Counter[str]:
    """Return the sum of the counters of all running routers."""
    running = {name: address for name, address in network.addresses.items() if name not in network.exit_codes}
    found = statuses(running, timeout=10.0)
    if len(found) < len(running):
        raise CbnetError(f"no answer from routers {', '.join(sorted(running.keys() - found.keys()))}")
    return sum((Counter(status.counters) for status in found.values()), Counter[str]())
