"""Classes of sources that routers cannot distinguish, and the state that iPS saves by merging them [2006 §3.2]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cbnet.routing import Network, scheme
from cbnet.routing.schemes.source_classes import classes_at
from cbnet.topology import Graph, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.report.chart import Chart

_FROM_FILE = "--topology"
_MANY = 0.5  # of the sources; more classes than that are many
_RULE = ClaimRule(49, f"at the median router of every network, classes are at most {_MANY:.0%} of the sources")


@dataclass(frozen=True)
class SourceClassesParameters:
    """Networks by name, sources and routers to sample, and networks whose state is counted."""

    networks: tuple[str, ...]
    sources: int = 300
    routers: int = 100
    counted: tuple[str, ...] = ("aslike:60", "powerlaw:60")


def _run(parameters: SourceClassesParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    cases = [(name, name) for name in parameters.networks]
    if context.topology is not None:
        cases.append((_FROM_FILE, str(context.topology)))
    classes: list[Row] = []
    for done, (name, source) in enumerate(cases):
        context.progress(done, len(cases) + 1, source)
        classes += _classes(name, topology(source, context.seed, largest=True), parameters, context.seed)
    context.progress(len(cases), len(cases) + 1, "state of iPS and PSF")
    states = [_state(name, context.seed) for name in parameters.counted]
    return {"classes": as_table(classes), "states": as_table(states)}


def _classes(name: str, graph: Graph, parameters: SourceClassesParameters, seed: int) -> list[Row]:
    """Return the classes of random sources at random routers with several neighbours."""
    rng = np.random.default_rng(seed)
    inner = np.flatnonzero(graph.degrees > 1)
    routers = rng.permutation(inner)[: parameters.routers].tolist()
    sources = rng.permutation(len(graph))[: parameters.sources].tolist()
    classes = classes_at(graph, routers, sources)
    return [
        {"network": name, "nodes": len(graph), "sources": len(sources), "degree": int(graph.degrees[u])}
        | {"classes": len(classes[u])}
        for u in routers
    ]


def _state(name: str, seed: int) -> Row:
    """Return the state of both schemes if all nodes send and receive."""
    graph = topology(name, seed, largest=True)
    network = Network(graph, {u: f"k = {u}" for u in range(len(graph))})
    bits = {kind: scheme(kind)(network).state().bits(len(graph)) for kind in ("psf", "ips")}
    return {"network": name, "nodes": len(graph), **bits}


def _findings(tables: Tables, _: SourceClassesParameters) -> list[Finding]:
    texts, few, crowded = [], [], []
    for (network,), rows in grouped(tables["classes"].to_pylist(), "network").items():
        share = float(np.median([row["classes"] / row["sources"] for row in rows]))
        few.append(share <= _MANY)
        middle = round(float(np.median([row["classes"] for row in rows])))
        best = max(rows, key=lambda row: int(row["degree"]))["classes"]
        if best > _MANY * rows[0]["sources"]:
            crowded.append(network)
        texts.append(f"{network} {middle} (at the best connected router {best}) of {rows[0]['sources']} sources")
    states = ", ".join(
        f"{row['ips'] / row['psf']:.0%} of PSF's ({row['network']})" for row in tables["states"].to_pylist()
    )
    ours = f"classes at the median router: {'; '.join(texts)}; state of iPS: {states}"
    if all(few) and not crowded:
        return [_RULE.holds(ours)]
    if all(few):
        reason = "at most routers; but the best connected ones, with most state, distinguish more than half of them: "
        return [_RULE.differs(ours, reason + ", ".join(crowded))]
    reason = f"in {len(few) - sum(few)} of {len(few)} networks the median router distinguishes more than half of them"
    return [_RULE.fails(ours, reason)]


def _charts(tables: Tables, _: SourceClassesParameters) -> list[Chart]:
    boxes = []
    for (network,), rows in grouped(tables["classes"].to_pylist(), "network").items():
        shares = np.percentile([100 * row["classes"] / row["sources"] for row in rows], [5, 25, 50, 75, 95]).tolist()
        boxes.append({"network": network, **dict(zip(("p5", "p25", "p50", "p75", "p95"), shares, strict=True))})
    return [
        Chart(
            "classes", "Classes of sources at a router", as_table(boxes), "network", "p50", kind="boxes",
            x_title="network", y_title="classes, % of the sources", bands=(("p5", "p95"), ("p25", "p75")),
            description="Classes of sources that a router distinguishes, in per cent of the sources, by network.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2006-classes",
    title="Sources that a router can distinguish",
    paper="2006",
    section="§3.2",
    claims=(49,),
    scales={
        "quick": SourceClassesParameters(("powerlaw:300", "powerlaw:3000", "aslike:300"), sources=100, routers=50),
        "full": SourceClassesParameters(
            ("powerlaw:1000", "powerlaw:10000", "aslike:1000"), counted=("aslike:200", "powerlaw:200")
        ),
        "paper": SourceClassesParameters(
            ("powerlaw:1000", "powerlaw:10000", "aslike:1000", "aslike:10000"),
            2000,
            500,
            ("aslike:400", "powerlaw:400"),
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("The paper has no number: here, “many” means at most half as many classes as sources.",),
    inputs=("topology",),
)
