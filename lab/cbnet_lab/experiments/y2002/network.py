"""Matching time of a network of routers against one central server [2002 §5.4].

    destinations   0 1 … 19 │ 20 … 39 │ …        each has one filter
    routers            ○         ○               of 20 interfaces, in levels; all but the root have a parent
                        └── ○ ──┘

A message travels from a destination's router up to the root and down to another's: through each level twice, and
through the root once. The predicate of an interface is the reduced disjunction of all filters behind it. Hops are
counted in such a tree; matching times are measured at the first router of each level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np
import pyarrow as pa

from cbnet.matching.storage.columns import Columns
from cbnet.topology import Graph, shortest_path_tree
from cbnet_lab.bench.bench_input import BenchInput, bench_input
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, duration, grouped, median, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import PIVOT, SELECTIVE, TIMES, TimedComparison
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.workload import Forwarding2002

_DESTINATIONS = 1_000_000
_PAPER_INTERFACES = 20
_ROUTERS = (_PAPER_INTERFACES, 10)  # interfaces
_PAPER_HOPS = 12
_PAPER_TIMES = 350 / 40  # does not depend on the machine
_METHODS = (SELECTIVE, PIVOT)
_SERVER, _ROUTER, _ALL = "one server", "router", "one router, all filters"

_HOPS = ClaimRule(
    37,
    f"in a tree of routers with {_PAPER_INTERFACES} interfaces, one to the parent, a message crosses at most "
    f"{_PAPER_HOPS} routers between any two of {_DESTINATIONS:,} destinations",
)
_NETWORK = ClaimRule(
    38,
    f"with {_DESTINATIONS:,} destinations both the paper's hops × t(I = {_PAPER_INTERFACES}) and the sum along a path "
    f"take at most 1/{_PAPER_TIMES / 2:.1f} of one server's time; in the paper 40 of 350 ms, 1/{_PAPER_TIMES:.1f}",
)


@dataclass(frozen=True)
class RouterNetworkParameters:
    """Interfaces per router, destinations and messages."""

    interfaces: int
    destinations: int
    messages: int = 100
    turns: int = 5
    seconds: float = 0.02

    @property
    def levels(self) -> int:
        """Levels of routers, so that all destinations find an interface."""
        return next(level for level in range(1, 64) if self.interfaces**level >= self.destinations)


def _run(parameters: RouterNetworkParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    hops = [{"interfaces": each, "hops": farthest(each, _DESTINATIONS)} for each in _ROUTERS]
    destinations = parameters.destinations
    mix = Forwarding2002(
        M=parameters.messages, F=destinations, I=None, dictionary=dictionary(context), seed=context.seed
    )
    data = bench_input(mix, lambda _: None)
    tables = [(_SERVER, 0, data)]
    tables.append((_ALL, 0, _split(data, np.arange(destinations) * parameters.interfaces // destinations)))
    tables += [(_ROUTER, level, _at(data, parameters, level)) for level in range(parameters.levels)]
    rows: list[Row] = []
    for done, (kind, level, own) in enumerate(tables):
        context.progress(done, len(tables), f"{kind}, level {level}")
        timings = TimedComparison(own, _METHODS, reduce=kind == _ROUTER).rows(parameters.turns, parameters.seconds)
        rows += [{"kind": kind, "level": level, **row} for row in timings]
    return {"hops": as_table(hops), "times": as_table(rows)}


def farthest(interfaces: int, destinations: int) -> int:
    """Return the most routers between two destinations, in a tree of routers that is filled level by level.

    The root has children at all its interfaces, other routers at all but one; the last children are destinations.
    """
    edges: list[tuple[int, int]] = []
    leaves, first = interfaces, 0  # interfaces without a router, and the first router that has one
    taken = [0]  # interfaces of each router that lead to a router
    while leaves < destinations:  # one more router takes one interface, and has the others
        edges.append((first, len(taken)))
        taken[first] += 1
        taken.append(1)
        leaves += interfaces - 2
        first += taken[first] == interfaces
    if not edges:
        return 1
    graph = Graph.from_edges((str(u), str(v), 1) for u, v in edges)
    one_end = int(np.argmax(shortest_path_tree(graph, 0).hops))
    return int(shortest_path_tree(graph, one_end).hops.max()) + 1


def _at(data: BenchInput, parameters: RouterNetworkParameters, level: int) -> BenchInput:
    """Return the table of the first router of a level (the root is level 0); all other filters are at its parent."""
    size = ceil(parameters.destinations / parameters.interfaces**level)  # destinations below it
    interfaces = min(parameters.interfaces, size)
    below = np.arange(len(data.columns)) * interfaces // size
    return _split(data, np.minimum(below, interfaces))


def _split(data: BenchInput, targets: np.ndarray) -> BenchInput:
    """Return the same filters, assigned to other interfaces."""
    columns = data.columns
    owners = targets.astype(columns.targets.dtype)
    split: Columns = replace(columns, interfaces=list(range(int(owners.max()) + 1)), targets=owners)
    rows = targets[data.filters["filter"].to_numpy()]
    table = data.filters.set_column(0, "interface", pa.array(rows))
    return replace(data, filters=table, columns=split)


def _findings(tables: Tables, parameters: RouterNetworkParameters) -> list[Finding]:
    return [_hops(tables["hops"].to_pylist()), _latency(tables["times"].to_pylist(), parameters)]


def _hops(rows: list[Row]) -> Finding:
    hops = {row["interfaces"]: row["hops"] for row in rows}
    formulas = {each: 2 * log(_DESTINATIONS) / log(each) for each in hops}
    ours = ", ".join(
        f"{count} (I = {each}; the paper's 2 log_I(10^6) is {formulas[each]:.1f})" for each, count in hops.items()
    )
    return _HOPS.decide(ours, hops[_PAPER_INTERFACES] <= _PAPER_HOPS, "more routers than in the paper")


def _latency(rows: list[Row], parameters: RouterNetworkParameters) -> Finding:
    texts = []
    gains: dict[str, tuple[float, float]] = {}
    for (method,), group in grouped(rows, "method").items():
        server = median(where(group, kind=_SERVER))
        estimate = _paper_hops(parameters) * median(where(group, kind=_ALL))
        levels = [median(where(group, kind=_ROUTER, level=level)) for level in range(parameters.levels)]
        measured = levels[0] + 2 * sum(levels[1:])
        gains[method] = server / estimate, server / measured
        texts.append(
            f"{method}: one server {duration(server)}, {_paper_hops(parameters)} hops × a router with all filters "
            f"{duration(estimate)} ({gains[method][0]:.1f} times as fast), along a path through "
            f"{2 * parameters.levels - 1} routers {duration(measured)} ({gains[method][1]:.1f} times)"
        )
    ours = f"{parameters.destinations:,} destinations; " + "; ".join(texts)
    if parameters.destinations < _DESTINATIONS or parameters.interfaces != _PAPER_INTERFACES:
        return _NETWORK.unmeasured(ours, f"{parameters.destinations:,} destinations, I = {parameters.interfaces}")
    estimated, measured = gains[SELECTIVE.name]
    reason = f"{estimated:.1f} times as fast by the paper's method, {measured:.1f} along a path"
    return _NETWORK.decide(ours, min(estimated, measured) >= _PAPER_TIMES / 2, reason)


def _paper_hops(parameters: RouterNetworkParameters) -> int:
    """Return the paper's 2 log_I H, rounded up."""
    return ceil(round(2 * log(parameters.destinations) / log(parameters.interfaces), 6))


def _charts(tables: Tables, parameters: RouterNetworkParameters) -> list[Chart]:
    rows = tables["times"].to_pylist()
    points = []
    for (method,), group in grouped(rows, "method").items():
        levels = [median(where(group, kind=_ROUTER, level=level)) for level in range(parameters.levels)]
        for what, us in (
            (_SERVER, median(where(group, kind=_SERVER))),
            ("hops × a router", _paper_hops(parameters) * median(where(group, kind=_ALL))),
            ("along a path", levels[0] + 2 * sum(levels[1:])),
        ):
            points.append({"method": method, "what": what, "us": us})
    return [
        Chart(
            "network", "All matching on the path to a destination", as_table(points), "what", "us", kind="bars",
            series="method", x_title="matched at", y_title="µs per message",
            published=(
                PublishedValue("350 ms at one server", _SERVER, 350_000.0),
                PublishedValue("40 ms in 12 hops", "hops × a router", 40_000.0),
            ),
            description="Total matching time per message: at one server, by hops, and along a path through routers.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-network",
    title="A network of routers against one server",
    paper="2002",
    section="§5.4",
    claims=(37, 38),
    scales={
        "quick": RouterNetworkParameters(_PAPER_INTERFACES, 8000),
        "full": RouterNetworkParameters(_PAPER_INTERFACES, _DESTINATIONS),
        "paper": RouterNetworkParameters(_PAPER_INTERFACES, _DESTINATIONS, turns=15),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The paper multiplies the time of one router by the hops; we also build the routers along a path in a tree.",
        "The paper's 12 hops are 2 log_I H for I = 10; for its 20 interfaces they are 10, which we use.",
        TIMES,
    ),
    inputs=("traces",),
)
