"""Classes of sources that routers cannot distinguish, and the state that iPS saves by merging them [2006 §3.2]."""

from __future__ import annotations

import numpy as np

from cbnet.routing import Network, scheme
from cbnet.routing.schemes.ips import classes_at
from cbnet.topology import Graph, topology
from cbnet_lab.experiments.curves import Metrics, Row, grouped
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment

_FROM_FILE = "--topology"


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    cases = [(name, name) for name in parameters.networks]
    if context.topology is not None:
        cases.append((_FROM_FILE, str(context.topology)))
    classes: list[Row] = []
    for done, (name, source) in enumerate(cases):
        context.progress(done, len(cases) + 1, source)
        classes += _classes(name, topology(source, context.seed, largest=True), parameters, context.seed)
    context.progress(len(cases), len(cases) + 1, "state of iPS and PSF")
    states = [_state(name, context.seed) for name in parameters.counted]
    return {"classes": classes, "states": states}


def _classes(name: str, graph: Graph, parameters: Parameters, seed: int) -> list[Row]:
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


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    networks = [_network(network, group) for (network,), group in grouped(rows["classes"], "network").items()]
    states = [{**row, "share": row["ips"] / row["psf"]} for row in rows["states"]]
    return {"networks": networks, "states": states, "count": len(networks)}


def _network(network: str, rows: list[Row]) -> Row:
    """Return the classes at the median router and at the best connected one, and their shares of the sources."""
    sources = rows[0]["sources"]
    best = max(rows, key=lambda row: int(row["degree"]))["classes"]
    return {
        "network": network, "sources": sources, "median": round(float(np.median([row["classes"] for row in rows]))),
        "share": float(np.median([row["classes"] / row["sources"] for row in rows])),
        "best": best, "best_share": best / sources,
    }  # fmt: skip


def _charts(rows: Rows, _: Parameters) -> dict[str, list[Row]]:
    boxes = []
    for (network,), group in grouped(rows["classes"], "network").items():
        shares = np.percentile([100 * row["classes"] / row["sources"] for row in group], [5, 25, 50, 75, 95]).tolist()
        boxes.append({"network": network, **dict(zip(("p5", "p25", "p50", "p75", "p95"), shares, strict=True))})
    return {"classes": boxes}


EXPERIMENT = experiment("2006-classes", _run, _metrics, _charts)
