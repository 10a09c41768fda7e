"""The benchmark of announcements: many subscriptions at once, until every one is confirmed.

One client at each router subscribes to many filters; all at the same time, and wait until every router that needs
them has confirmed them. Then messages are published, and every delivery is compared with the expected ones. Routers are
processes on this machine, or run in this process with a simulated clock.

The cost of flooding the same filters is computed, not measured: each router sends its predicate once, and every
other one passes it on to all neighbours but the one it came from. On n routers with m links that makes 2m - n + 1
frames for each router, and every router holds all filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_form import canonical_filter, filter_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.topology import Graph, topology
from cbnet_lab.bench.network.announcement_runs import (
    AnnouncementCost,
    AnnouncementRun,
    measure_in_memory,
    measure_processes,
)
from cbnet_lab.bench.network.filter_population import filter_population
from cbnet_lab.bench.network.traffic import expected_deliveries
from cbnet_lab.bench.result_table import FLAT, Cell, ResultTable, flat, ratio

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.plans import AnnouncementsPlan


@dataclass(frozen=True)
class AnnouncementResult:
    """A run, beside the computed cost of flooding."""

    topology: str
    routers: int
    links: int
    trees: str
    population: str
    filters: int  # of each client
    distinct: int  # filters of all clients
    seed: int
    memory: bool
    messages: int
    measured: AnnouncementRun = field(metadata=FLAT)
    flooding: AnnouncementCost = field(metadata=flat("flooding_"))
    flooding_held: int  # different filters, of a router

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if there are any."""
        wrong = self.measured.check.problem
        return wrong and f"{self.population}, trees {self.trees}: {wrong}"


def run(plan: AnnouncementsPlan, report: Report) -> Iterator[AnnouncementResult]:
    """Subscribe at every router, wait for all confirmations, and check deliveries; for each population and routing."""
    graph, measure = topology(plan.topology, plan.seed), measure_in_memory if plan.memory else measure_processes
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
                memory=plan.memory,
                messages=plan.messages,
                measured=measure(graph, routing, traffic, expected, report),
                flooding=flooding,
                flooding_held=held,
            )


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
    if plan.memory:
        yield "In memory: seconds of this process; its memory is divided by the number of routers."
    if any(row.measured.reconnects for row in rows):
        yield "Clients timed out and subscribed again, so more was sent: the machine is too busy."
    is_right = all(row.problem is None for row in rows)
    yield f"deliveries: {'each exactly once, as in the reference' if is_right else 'WRONG'}."


def flooding_cost(graph: Graph, clients: Sequence[Sequence[Filter]]) -> tuple[AnnouncementCost, int]:
    """Return the cost of flooding the filters of each client once, reduced; and how many filters a router holds."""
    own = [{_encoded(filter) for filter in reduce(Predicate(filters))} for filters in clients]
    copies = 2 * graph.edge_count - len(graph) + 1
    sizes = [len(filter) for each in own for filter in each]
    return AnnouncementCost(len(graph) * copies, copies * len(sizes), copies * sum(sizes)), len(set().union(*own))


def _encoded(filter: Filter) -> bytes:
    return filter_to_bytes(canonical_filter(filter))
