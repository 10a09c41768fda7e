"""Matching time of a network of routers against one central server [2002 §5.4].

    destinations   0 1 … 19 │ 20 … 39 │ …        each has one filter
    routers            ○         ○               of 20 interfaces, in levels; all but the root have a parent
                        └── ○ ──┘

A message travels from a destination's router up to the root and down to another's: through each level twice, and
through the root once. The predicate of an interface is the reduced disjunction of all filters behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np
import pyarrow as pa

from cbnet.lab.bench.bench_input import BenchInput, bench_input
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, duration, grouped, median, where
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import PIVOT, SELECTIVE, TIMES, TimedComparison
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002
from cbnet.matching.storage.columns import Columns

_DESTINATIONS = 1_000_000
_ROUTERS = (20, 10)  # interfaces
_ENOUGH = 100_000  # destinations; with fewer, one server has next to nothing to do
_PAPER_HOPS = 12
_PAPER_TIMES = 350 / 40
_METHODS = (SELECTIVE, PIVOT)
_SERVER, _ROUTER, _ALL = "one server", "router", "one router, all filters"


@dataclass(frozen=True)
class RouterNetworkParameters:
    """Interfaces per router, levels of routers (destinations are interfaces ** levels), and messages."""

    interfaces: int
    levels: int
    messages: int = 100
    turns: int = 5
    seconds: float = 0.02


def _run(parameters: RouterNetworkParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    hops = [{"interfaces": interfaces, "hops": 2 * log(_DESTINATIONS) / log(interfaces)} for interfaces in _ROUTERS]
    destinations = parameters.interfaces**parameters.levels
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


def _at(data: BenchInput, parameters: RouterNetworkParameters, level: int) -> BenchInput:
    """Return the table of the first router of a level (the root is level 0); all other filters are at its parent."""
    size = parameters.interfaces ** (parameters.levels - level)  # destinations below it
    below = np.arange(len(data.columns)) * parameters.interfaces // size
    return _split(data, np.minimum(below, parameters.interfaces))


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
    ours = ", ".join(
        f"2 log_{each}(10^6) = {value:.1f}, so {ceil(round(value, 6))} (I = {each})" for each, value in hops.items()
    )
    if ceil(round(hops[20], 6)) == _PAPER_HOPS:
        return Finding(37, ours, "holds")
    reason = "10 hops are enough for 20 interfaces, which is at most 12; the formula gives 12 for 10 interfaces"
    return Finding(37, ours, "differs", reason)


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
            f"{method}: one server {duration(server)}, hops × a router with all filters {duration(estimate)} "
            f"({gains[method][0]:.1f} times as fast), along a path through {2 * parameters.levels - 1} routers "
            f"{duration(measured)} ({gains[method][1]:.1f} times)"
        )
    ours = f"{parameters.interfaces**parameters.levels:,} destinations; " + "; ".join(texts)
    estimated, measured = gains[SELECTIVE.name]
    if min(estimated, measured) >= _PAPER_TIMES / 2:
        return Finding(38, ours, "holds")
    reason = f"the paper's factor is {_PAPER_TIMES:.1f} with a million destinations; with fewer, a server does less"
    if parameters.interfaces**parameters.levels < _ENOUGH:
        return Finding(38, ours, "unmeasured", reason)
    return Finding(38, ours, "differs" if max(estimated, measured) > 1 else "fails", reason)


def _paper_hops(parameters: RouterNetworkParameters) -> int:
    return 2 * parameters.levels


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
        "quick": RouterNetworkParameters(20, 3),
        "full": RouterNetworkParameters(20, 4),
        "paper": RouterNetworkParameters(10, 6),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The paper multiplies the time of one router by the hops; we also build the routers along a path in a tree.",
        "20 interfaces do not give a million destinations: at paper scale routers have 10.",
        TIMES,
    ),
)
