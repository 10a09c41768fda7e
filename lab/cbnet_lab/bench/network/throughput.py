"""The throughput benchmark of a network of router processes.

Routers and clients are separate processes on this machine, connected by TCP. Every delivery is compared with the
expected ones, computed by the reference matcher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cbnet.errors import CbnetError, InputError
from cbnet.network import ProcessNetwork, statuses
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import Event
from cbnet.topology import topology
from cbnet_lab.bench.cpu import cpu_of, used_since
from cbnet_lab.bench.network.delivery_check import check_deliveries, expected_count
from cbnet_lab.bench.network.load import network_load
from cbnet_lab.bench.network.run_result import Cpu, Matching, RunResult, latency_of
from cbnet_lab.bench.network.traffic import (
    ExpectedDeliveries,
    Traffic,
    expected_deliveries,
    keyed_traffic,
    mixed_traffic,
)
from cbnet_lab.bench.routing import Routing

if TYPE_CHECKING:
    from cbnet.topology import Graph
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.load_processes import LoadProcesses

CONTENTS = 1_000  # distinct messages, published in turn
KINDS = ("full", "equality")
_WARM = 200  # messages before anything is measured
_LOAD = 0.5  # of full speed, the default rate
_MAX_PACED = 10.0  # seconds of messages at a rate
_START = 60.0  # timeout for the routers to connect, in seconds
PATIENT = 30.0  # seconds of silence before a link is declared dead: long, because a busy machine is not a broken link
_PUBLISHERS = 4  # routers where messages are published


@dataclass(frozen=True)
class ThroughputPlan:
    """The parameters of a run."""

    topology: str = "tree:1"
    routing: Routing = field(default_factory=lambda: Routing(1))
    predicates: str = "full"
    subscribers: int = 100
    filters: int = 10  # of each subscriber
    messages: int = 20_000
    payload: int = 100  # bytes
    processes: int = 2  # receiving
    window: int = 1_000  # deliveries in flight, at full speed
    rate: float | None = None  # messages per second; None: half of full speed
    seed: int = 0

    def __post_init__(self) -> None:
        if self.predicates not in KINDS:
            raise InputError(f"unknown mix {self.predicates!r}", hint=f"use {' or '.join(KINDS)}")

    def traffic(self) -> Traffic:
        """Return the subscriptions and messages of the clients."""
        if self.predicates == "equality":
            return keyed_traffic("equality", self.subscribers * self.filters, self.subscribers, CONTENTS)
        return mixed_traffic("2002", self.subscribers, self.filters, CONTENTS, self.seed)


@dataclass(frozen=True)
class ThroughputOutcome:
    """Measurements of one network."""

    plan: ThroughputPlan
    routers: int
    links: int
    checked: int  # contents matched by the reference
    contents: int
    full: RunResult  # at full speed
    paced: RunResult  # at a lower rate

    @property
    def runs(self) -> tuple[tuple[str, RunResult], tuple[str, RunResult]]:
        """Both runs, with their names."""
        return ("full speed", self.full), ("at a rate", self.paced)

    def rows(self) -> list[dict[str, Any]]:
        """Return a JSON object for each run."""
        common = {
            "topology": self.plan.topology,
            "routers": self.routers,
            "links": self.links,
            "trees": str(self.plan.routing),
            "predicates": self.plan.predicates,
            "subscribers": self.plan.subscribers,
            "filters": self.plan.subscribers * self.plan.filters,
            "payload": self.plan.payload,
            "window": self.plan.window,
            "seed": self.plan.seed,
            "checked": self.checked,
            "contents": self.contents,
        }
        return [{**common, "run": name, **run.members()} for name, run in self.runs]


def bench_network(plan: ThroughputPlan, report: Report) -> ThroughputOutcome:
    """Measure a network: at full speed, then at a rate."""
    graph = topology(plan.topology, plan.seed)
    report("generating predicates and messages")
    traffic = plan.traffic()
    report("computing the expected deliveries")
    expected = expected_deliveries(traffic)
    with ProcessNetwork.of(graph, dead=PATIENT, silence=2 * PATIENT, **plan.routing.settings) as network:
        report(f"{plan.topology}: starting routers")
        network.wait(_START)
        addresses = [str(address) for address in network.addresses.values()]
        report(f"{plan.topology}: starting clients")
        publish_at = addresses[:: max(1, len(addresses) // _PUBLISHERS)]
        with network_load(addresses, publish_at, traffic, expected, plan.payload, plan.processes) as load:
            meter = NetworkMeter.of_network(network, load, expected)
            meter.run(Order(0, _WARM, window=plan.window))
            report(f"{plan.topology}: messages at full speed")
            full = meter.run(Order(_WARM, plan.messages, window=plan.window))
            rate = plan.rate or max(1.0, full.messages_per_s * _LOAD)
            report(f"{plan.topology}: {rate:,.0f} messages per second")
            count = max(1, min(plan.messages, int(rate * _MAX_PACED)))
            paced = meter.run(Order(_WARM + plan.messages, count, rate))
    return ThroughputOutcome(plan, len(addresses), _links(graph), expected.checked, len(traffic.contents), full, paced)


def _links(graph: Graph) -> int:
    return sum(1 for _ in graph.edges())


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
        return RunResult(
            order, check_deliveries(order, self._expected, received), received.seconds, latency_of(received),
            received.published.late, cpu,
            counters, matching_of(counters), received.reconnects,
        )  # fmt: skip


def counters_of(network: ProcessNetwork) -> Counter[str]:
    """Return the sum of the counters of all running routers."""
    running = {name: address for name, address in network.addresses.items() if name not in network.exit_codes}
    found = statuses(running, timeout=10.0)
    if len(found) < len(running):
        raise CbnetError(f"no answer from routers {', '.join(sorted(running.keys() - found.keys()))}")
    return sum((Counter(status.counters) for status in found.values()), Counter[str]())


def matching_of(counters: Counter[str]) -> Matching | None:
    """Return the time routers spent matching, extrapolated from the matches that they time."""
    timed = counters[Event.MATCHES_TIMED]
    if not timed:
        return None
    matches = counters[Event.MATCHES]
    return Matching(matches, counters[Event.MATCHES_TIMED_NS] / 1e9 * matches / timed)


def wrong_runs(runs: Iterable[tuple[str, RunResult]]) -> list[str]:
    """Return a line for each run with missing, duplicate or spurious deliveries."""
    return [
        f"{name}: {run.verdict.missing:,} missing, {run.verdict.twice:,} duplicate, {run.verdict.spurious:,} spurious"
        for name, run in runs
        if not run.verdict.is_exact
    ]
