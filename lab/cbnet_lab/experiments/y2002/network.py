"""Matching time of a network of routers compared with one central server [2002 §5.4].

    destinations   0 1 … 19 │ 20 … 39 │ …        each has one filter
    routers            ○         ○               of 20 interfaces, in levels; all but the root have a parent
                        └── ○ ──┘

A message travels from a destination's router up to the root and down to another's: through each level twice, and
through the root once. The predicate of an interface is the reduced disjunction of all filters behind it. Hops are
counted in such a tree; matching times are measured at the first router of each level.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log

import numpy as np
import pyarrow as pa

from cbnet.matching.storage.columns import Columns
from cbnet.topology import Graph, shortest_path_tree
from cbnet_lab.bench.bench_input import BenchInput
from cbnet_lab.experiments.curves import Metrics, Row, grouped, median, where
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.timing import PIVOT, SELECTIVE, TimedComparison, generated
from cbnet_lab.workload import Forwarding2002

_DESTINATIONS = 1_000_000
_ROUTERS = (20, 10)  # interfaces: the paper's number, and the one for which its number of hops is right
_METHODS = (SELECTIVE, PIVOT)
_SERVER, _ROUTER, _ALL = "one server", "router", "one router, all filters"


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    hops = [{"interfaces": each, "hops": farthest(each, _DESTINATIONS)} for each in _ROUTERS]
    destinations = parameters.destinations
    data = generated(Forwarding2002(M=parameters.messages, F=destinations, I=None), context)
    tables = [(_SERVER, 0, data)]
    tables.append((_ALL, 0, _split(data, np.arange(destinations) * parameters.interfaces // destinations)))
    tables += [(_ROUTER, level, _at(data, parameters, level)) for level in range(_levels(parameters))]
    rows: list[Row] = []
    for kind, level, own in context.track(tables, lambda table: f"{table[0]}, level {table[1]}"):
        timings = TimedComparison(own, _METHODS, reduce=kind == _ROUTER).rows(parameters.turns, parameters.seconds)
        rows += [{"kind": kind, "level": level, **row} for row in timings]
    return {"hops": hops, "times": rows}


def _levels(parameters: Parameters) -> int:
    """Return the number of levels of routers needed to give every destination an interface."""
    return next(level for level in range(1, 64) if parameters.interfaces**level >= parameters.destinations)


def farthest(interfaces: int, destinations: int) -> int:
    """Return the maximum number of routers between two destinations, in a tree of routers filled level by level.

    The root has children at all its interfaces, other routers at all but one; the last children are destinations.
    """
    edges: list[tuple[int, int]] = []
    leaves, first = interfaces, 0  # interfaces without a router, and the first router that has one
    taken = [0]  # interfaces of each router that lead to a router
    while leaves < destinations:  # one more router takes one interface, and adds its others
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


def _at(data: BenchInput, parameters: Parameters, level: int) -> BenchInput:
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
    table = data.filters.set_column(0, "rule", pa.array(rows))
    return replace(data, filters=table, columns=split)


def _metrics(rows: Rows, parameters: Parameters) -> Metrics:
    counted = [{**row, "formula": 2 * log(_DESTINATIONS) / log(row["interfaces"])} for row in rows["hops"]]
    latencies = _latencies(rows, parameters)
    return {
        "counted": counted,
        "paper": where(counted, interfaces=_ROUTERS[0]),
        "latencies": latencies,
        "selective": where(latencies, method=SELECTIVE.name)[0],
    }


def _latencies(rows: Rows, parameters: Parameters) -> list[Row]:
    """Return the times at one server, for the paper's hops (2 log_I H, rounded up), and along a path, by method."""
    hops = ceil(round(2 * log(parameters.destinations) / log(parameters.interfaces), 6))
    latencies = []
    for (method,), group in grouped(rows["times"], "method").items():
        server, router = (median(where(group, kind=kind)) for kind in (_SERVER, _ALL))
        levels = [median(where(group, kind=_ROUTER, level=level)) for level in range(_levels(parameters))]
        along = levels[0] + 2 * sum(levels[1:])
        latencies.append(
            {
                "method": method, "server": server, "hops": hops, "estimate": hops * router, "along": along,
                "routers": 2 * len(levels) - 1, "estimated": server / (hops * router), "measured": server / along,
            }
        )  # fmt: skip
    return latencies


EXPERIMENT = experiment(
    "2002-network", _run, _metrics,
    lambda rows, parameters: {"network": _latencies(rows, parameters)},
)  # fmt: skip
