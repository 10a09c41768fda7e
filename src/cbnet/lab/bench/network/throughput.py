"""The network benchmark: how many messages does a network of router processes deliver, how fast, and to whom?

Routers and clients are processes of their own on this machine, over TCP. Every delivery is compared with what the
reference says: who must get what, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cbnet.errors import CbnetError, InputError
from cbnet.lab.bench.cpu import cpu_of, used_since
from cbnet.lab.bench.network.delivery_check import expected_deliveries, verdict
from cbnet.lab.bench.network.load import network_load
from cbnet.lab.bench.network.run_result import Cpu, Matching, RunResult, latency_of
from cbnet.lab.bench.network.traffic import Traffic, Wanted, keyed, mixed, wanted
from cbnet.network import ProcessNetwork, statuses
from cbnet.network.client.load_clients import Order
from cbnet.network.link.counters import Event
from cbnet.topology import topology

if TYPE_CHECKING:
    from cbnet.lab.bench.bench_input import Report
    from cbnet.lab.bench.network.load_processes import LoadProcesses
    from cbnet.topology import Graph

CONTENTS = 1_000  # different messages, which are published in turn
KINDS = ("full", "equality")
_WARM = 200  # messages before anything is measured
_LOAD = 0.5  # of full speed, where no rate is given
_LONGEST = 10.0  # seconds of messages at a rate
_START = 60.0  # seconds for the routers to know each other
PATIENT = 30.0  # seconds of silence before a link counts as dead: a busy machine is not a broken link
_PUBLISHERS = 4  # routers where messages are published


@dataclass(frozen=True)
class NetworkPlan:
    """What is to be measured."""

    topology: str = "tree:1"
    scheme: str = "psf"
    predicates: str = "full"
    subscribers: int = 100
    filters: int = 10  # of each subscriber
    messages: int = 20_000
    payload: int = 100  # bytes
    processes: int = 2  # that receive
    window: int = 1_000  # deliveries that may be under way, at full speed
    rate: float | None = None  # messages in a second, below full speed; None: half of it
    seed: int = 0

    def __post_init__(self) -> None:
        if self.predicates not in KINDS:
            raise InputError(f"unknown mix {self.predicates!r}", hint=f"use {' or '.join(KINDS)}")

    def traffic(self) -> Traffic:
        """Return what the clients say."""
        if self.predicates == "equality":
            return keyed("equality", self.subscribers * self.filters, self.subscribers, CONTENTS)
        return mixed("2002", self.subscribers, self.filters, CONTENTS, self.seed)


@dataclass(frozen=True)
class NetworkOutcome:
    """What was measured of one network."""

    plan: NetworkPlan
    routers: int
    links: int
    asked: int  # contents that the reference was asked about
    contents: int
    full: RunResult  # as fast as it goes
    paced: RunResult  # at a rate below that

    @property
    def runs(self) -> tuple[tuple[str, RunResult], tuple[str, RunResult]]:
        """Both runs, with their names."""
        return ("full speed", self.full), ("at a rate", self.paced)

    def rows(self) -> list[dict[str, Any]]:
        """Return a JSON object for each run."""
        told = {
            "topology": self.plan.topology,
            "routers": self.routers,
            "links": self.links,
            "scheme": self.plan.scheme,
            "predicates": self.plan.predicates,
            "subscribers": self.plan.subscribers,
            "filters": self.plan.subscribers * self.plan.filters,
            "payload": self.plan.payload,
            "window": self.plan.window,
            "seed": self.plan.seed,
            "asked": self.asked,
            "contents": self.contents,
        }
        return [{**told, "run": name, **run.members()} for name, run in self.runs]


def bench_network(plan: NetworkPlan, report: Report) -> NetworkOutcome:
    """Measure a network: at full speed, then at a rate."""
    graph = topology(plan.topology, plan.seed)
    report("generating predicates and messages")
    traffic = plan.traffic()
    report("asking the reference who must get what")
    right = wanted(traffic)
    with ProcessNetwork.of(graph, scheme=plan.scheme, dead=PATIENT) as network:
        report(f"{plan.topology}: starting routers")
        network.wait(_START)
        addresses = [str(address) for address in network.addresses.values()]
        report(f"{plan.topology}: starting clients")
        publish_at = addresses[:: max(1, len(addresses) // _PUBLISHERS)]
        with network_load(addresses, publish_at, traffic, right, plan.payload, plan.processes) as load:
            meter = Meter.of_network(network, load, right)
            meter.run(Order(0, _WARM, window=plan.window))
            report(f"{plan.topology}: messages at full speed")
            full = meter.run(Order(_WARM, plan.messages, window=plan.window))
            rate = plan.rate or max(1.0, full.messages_per_s * _LOAD)
            report(f"{plan.topology}: {rate:,.0f} messages a second")
            count = max(1, min(plan.messages, int(rate * _LONGEST)))
            paced = meter.run(Order(_WARM + plan.messages, count, rate))
    return NetworkOutcome(plan, len(addresses), _links(graph), right.asked, len(traffic.contents), full, paced)


def _links(graph: Graph) -> int:
    return sum(1 for _ in graph.edges())


class Meter:
    """Runs orders through a network or a broker, and measures them."""

    def __init__(
        self,
        load: LoadProcesses,
        right: Wanted,
        servers: Callable[[], Sequence[int]],
        counters: Callable[[], Counter[str]] = Counter,
    ) -> None:
        """Take the clients, who must get what, and how to find the processes of the servers and what they count."""
        self._load = load
        self._right = right
        self._servers = servers
        self._counters = counters

    @classmethod
    def of_network(cls, network: ProcessNetwork, load: LoadProcesses, right: Wanted) -> Meter:
        """Return a meter of router processes."""
        return cls(load, right, lambda: list(network.pids.values()), lambda: counters_of(network))

    def run(self, order: Order) -> RunResult:
        """Carry out an order."""
        publishing, receiving = self._load.pids
        servers = self._servers()
        before, used = self._counters(), cpu_of([publishing, *receiving, *servers])
        came = self._load.run(order, expected_deliveries(order, self._right))
        cpu = Cpu(sum(used_since(used, [publishing])), used_since(used, receiving), used_since(used, servers))
        counters = self._counters()
        counters.subtract(before)
        return RunResult(
            order, verdict(order, self._right, came), came.seconds, latency_of(came), came.published.late, cpu,
            counters, matching_of(counters), came.reconnects,
        )  # fmt: skip


def counters_of(network: ProcessNetwork) -> Counter[str]:
    """Return the counters of all routers that run, together."""
    running = {name: address for name, address in network.addresses.items() if name not in network.exit_codes}
    found = statuses(running, timeout=10.0)
    if len(found) < len(running):
        raise CbnetError(f"these routers do not answer: {', '.join(sorted(running.keys() - found.keys()))}")
    return sum((Counter(status.counters) for status in found.values()), Counter[str]())


def matching_of(counters: Counter[str]) -> Matching | None:
    """Return how long routers have matched; they time some of their matches, and the rest are taken for alike."""
    timed = counters[Event.MATCHES_TIMED]
    if not timed:
        return None
    matches = counters[Event.MATCHES]
    return Matching(matches, counters[Event.MATCHES_TIMED_NS] / 1e9 * matches / timed)


def wrong_runs(runs: Iterable[tuple[str, RunResult]]) -> list[str]:
    """Return which runs were not delivered exactly."""
    return [
        f"{name}: {run.verdict.missing:,} missing, {run.verdict.twice:,} twice, {run.verdict.spurious:,} spurious"
        for name, run in runs
        if not run.verdict.is_exact
    ]
