"""The benchmark of announcements: many subscriptions at once, until every one is confirmed.

One client at each router subscribes to many filters; all do so at the same time, and wait until every router that must
know them does. Then messages are published, and every delivery is compared with the expected ones. Routers are
processes on this machine, or run in this process with a simulated clock.

What flooding would cost for the same filters is computed, not measured: each router sends its predicate once, and every
other one passes it on to all neighbours but the one it came from. On n routers with m links that makes 2m - n + 1
frames for each router, and every router holds all filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_form import canonical_filter, filter_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.topology import Graph, topology
from cbnet_lab.bench.network.filter_population import filter_population
from cbnet_lab.bench.network.traffic import expected_deliveries
from cbnet_lab.bench.routing import Routing

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.network.delivery_check import DeliveryCheck

_MEGABYTE = 1e6


@dataclass(frozen=True)
class AnnouncementPlan:
    """The parameters of a run."""

    topology: str = "powerlaw:20"
    filters: int = 1_000  # of each client
    population: str = "random"
    routing: Routing = field(default_factory=lambda: Routing(1))
    messages: int = 300
    is_in_memory: bool = False
    seed: int = 0


@dataclass(frozen=True)
class MinMedianMax:
    """The least, the median and the greatest of some numbers, one for each router."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> MinMedianMax:
        """Return the spread of some numbers."""
        return cls(*np.percentile(numbers, (0, 50, 100)).tolist())


@dataclass(frozen=True)
class AnnouncementCost:
    """What it took until all subscriptions were confirmed."""

    frames: int  # of announcements, between routers
    filters: int  # in these frames
    bytes: int  # between routers
    held: Sequence[int]  # different filters at each router


@dataclass(frozen=True)
class Measured:
    """The measurements of a run."""

    seconds: float  # until all subscriptions were confirmed
    simulated: float | None  # seconds of the simulated clock
    cpu: Sequence[float]  # processor seconds, of each process
    cost: AnnouncementCost
    memory: Sequence[float]  # bytes, of each process
    verdict: DeliveryCheck
    reconnects: int = 0  # of clients, on a busy machine: their filters are announced again


@dataclass(frozen=True)
class AnnouncementOutcome:
    """A run, and what flooding would have cost."""

    plan: AnnouncementPlan
    routers: int
    links: int
    distinct: int  # filters of all clients
    measured: Measured
    flooding: AnnouncementCost

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        plan, measured, verdict = self.plan, self.measured, self.measured.verdict
        held, memory = MinMedianMax.of(measured.cost.held), MinMedianMax.of(measured.memory)
        return {
            "topology": plan.topology, "routers": self.routers, "links": self.links, "trees": str(plan.routing),
            "population": plan.population, "filters": plan.filters, "distinct": self.distinct, "seed": plan.seed,
            "memory": plan.is_in_memory, "seconds": round(measured.seconds, 3),
            "cpu_s": round(sum(measured.cpu), 3), "cpu_max_s": round(max(measured.cpu), 3),
            "simulated_s": measured.simulated and round(measured.simulated, 3),
            "frames": measured.cost.frames, "filters_sent": measured.cost.filters, "bytes": measured.cost.bytes,
            "held_min": held.least, "held_median": held.median, "held_max": held.most,
            "rss_mb_min": round(memory.least / _MEGABYTE, 1), "rss_mb_median": round(memory.median / _MEGABYTE, 1),
            "rss_mb_max": round(memory.most / _MEGABYTE, 1), "messages": plan.messages,
            "deliveries": verdict.right, "expected": verdict.expected, "missing": verdict.missing,
            "twice": verdict.twice, "spurious": verdict.spurious, "flooding_frames": self.flooding.frames,
            "flooding_filters_sent": self.flooding.filters, "flooding_bytes": self.flooding.bytes,
            "flooding_held": self.flooding.held[0], "reconnects": measured.reconnects,
        }  # fmt: skip


def bench_announcements(plan: AnnouncementPlan, report: Report) -> AnnouncementOutcome:
    """Subscribe at every router, wait for all confirmations, and check deliveries."""
    from cbnet_lab.bench.network.announcement_runs import measure_in_memory, measure_processes

    graph = topology(plan.topology, plan.seed)
    report("generating filters and messages")
    traffic = filter_population(plan.population, len(graph), plan.filters, plan.messages, plan.seed)
    report("computing the expected deliveries")
    expected = expected_deliveries(traffic)
    measure = measure_in_memory if plan.is_in_memory else measure_processes
    measured = measure(graph, plan.routing, traffic, expected, report)
    report("computing the cost of flooding")
    clients = [[filter for text in texts for filter in parse(text)] for texts in traffic.subscribers]
    distinct = len({_encoded(filter) for filters in clients for filter in filters})
    flooding = flooding_cost(graph, clients)
    return AnnouncementOutcome(plan, len(graph), graph.edge_count, distinct, measured, flooding)


def flooding_cost(graph: Graph, clients: Sequence[Sequence[Filter]]) -> AnnouncementCost:
    """Return what flooding would cost if each router sent the filters of its client once, reduced."""
    own = [{_encoded(filter) for filter in reduce(Predicate(filters))} for filters in clients]
    copies = 2 * graph.edge_count - len(graph) + 1
    return AnnouncementCost(
        frames=len(graph) * copies,
        filters=copies * sum(map(len, own)),
        bytes=copies * sum(len(filter) for each in own for filter in each),
        held=[len(set().union(*own))] * len(graph),
    )


def _encoded(filter: Filter) -> bytes:
    return filter_to_bytes(canonical_filter(filter))
