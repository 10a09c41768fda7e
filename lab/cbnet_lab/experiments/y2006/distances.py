"""Mean distance in growing power-law networks [2006 §3.1]."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import pyarrow as pa

from cbnet.topology import average_distance, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.report.chart import Chart

_FROM_FILE = "--topology"
_STEADY = 0.25  # allowed change of d / ln ln n over the sizes
_LOG_LOG = ClaimRule(
    45, f"from the smallest to the largest generated network of a kind, d / ln ln n grows by at most {_STEADY:.0%}"
)


@dataclass(frozen=True)
class DistancesParameters:
    """Nodes of the networks of each kind, and sources of the distances."""

    powerlaw: tuple[int, ...]
    aslike: tuple[int, ...]
    sources: int = 200


def _run(parameters: DistancesParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    kinds = {"powerlaw": parameters.powerlaw, "aslike": parameters.aslike}
    cases = [(kind, f"{kind}:{nodes}") for kind, sizes in kinds.items() for nodes in sizes]
    if context.topology is not None:
        cases.append((_FROM_FILE, str(context.topology)))
    rows: list[Row] = []
    for done, (kind, source) in enumerate(cases):
        context.progress(done, len(cases), source)
        graph = topology(source, context.seed, largest=True)
        distance = average_distance(graph, sources=parameters.sources, seed=context.seed)
        rows.append({"kind": kind, "nodes": len(graph), "edges": graph.edge_count, "distance": distance})
    return {"distances": as_table(rows)}


def _growth(rows: list[Row], of: str) -> float:
    """Return the change of distance / log n, or / log log n, from the smallest to the largest network."""
    over = [row["distance"] / (log(log(row["nodes"])) if of == "log log" else log(row["nodes"])) for row in rows]
    return float(over[-1] / over[0] - 1)


def _findings(tables: Tables, _: DistancesParameters) -> list[Finding]:
    texts, steady = [], []
    for (kind,), rows in grouped(tables["distances"].to_pylist(), "kind").items():
        first, last = rows[0], rows[-1]
        if len(rows) < 2:
            texts.append(f"{kind}: {last['distance']:.2f} with {last['nodes']:,} nodes")
            continue
        growth = _growth(rows, "log log")
        texts.append(
            f"{kind}: {first['distance']:.2f} with {first['nodes']:,} nodes, {last['distance']:.2f} with "
            f"{last['nodes']:,}; d / ln ln n changes by {growth:+.0%}, d / ln n by {_growth(rows, 'log'):+.0%}"
        )
        steady.append(growth <= _STEADY)
    ours = "; ".join(texts)
    if not steady:
        return [_LOG_LOG.unmeasured(ours, "no kind of network has several sizes")]
    if all(steady):
        return [_LOG_LOG.holds(ours)]
    reason = "tiny, but it grows faster than log log n in one kind of network: the law applies to exponents from 2 to 3"
    return [_LOG_LOG.differs(ours, reason) if any(steady) else _LOG_LOG.fails(ours, "it grows faster than log log n")]


def _charts(tables: Tables, _: DistancesParameters) -> list[Chart]:
    rows = tables["distances"].to_pylist()
    first, points = rows[0], [{name: row[name] for name in ("kind", "nodes", "distance")} for row in rows]
    sizes = np.unique([row["nodes"] for row in rows]).tolist()
    law = [
        {
            "kind": "ln ln n, through the first point",
            "nodes": n,
            "distance": first["distance"] * log(log(n)) / log(log(first["nodes"])),
        }
        for n in sizes
    ]
    return [
        Chart(
            "distances", "Mean distance by number of nodes", as_table([*points, *law]), "nodes", "distance",
            series="kind", x_log=True, x_title="nodes", y_title="hops",
            description="Mean distance by number of nodes, in generated networks and in that of --topology.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2006-distances",
    title="Mean distance in power-law networks",
    paper="2006",
    section="§3.1",
    claims=(45,),
    scales={
        "quick": DistancesParameters((100, 1000, 10_000), (100, 300, 1000), sources=50),
        "full": DistancesParameters((100, 300, 1000, 3000, 10_000, 30_000, 100_000), (100, 300, 1000, 3000)),
        "paper": DistancesParameters(
            (100, 300, 1000, 3000, 10_000, 30_000, 100_000), (100, 300, 1000, 3000, 10_000), 1000
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("The paper cites the law for power-law graphs in general; ours come from two generators.",),
    inputs=("topology",),
)
