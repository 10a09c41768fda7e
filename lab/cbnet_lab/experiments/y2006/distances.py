"""Mean distance in growing power-law networks [2006 §3.1]."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from operator import itemgetter

from cbnet.topology import average_distance, topology
from cbnet_lab.experiments.curves import Metrics, Row, grouped
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Rows, experiment

_FROM_FILE = "--topology"


def _distances(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    kinds = {"powerlaw": parameters.powerlaw, "aslike": parameters.aslike}
    cases = [(kind, f"{kind}:{nodes}") for kind, sizes in kinds.items() for nodes in sizes]
    if context.topology is not None:
        cases.append((_FROM_FILE, str(context.topology)))
    for kind, source in context.track(cases, itemgetter(1)):
        graph = topology(source, context.seed, largest=True)
        distance = average_distance(graph, sources=parameters.sources, seed=context.seed)
        yield {"kind": kind, "nodes": len(graph), "edges": graph.edge_count, "distance": distance}


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    kinds = [_growth(group) for group in grouped(rows["distances"], "kind").values()]
    growths = [row["growth"] for row in kinds if row["sizes"] > 1]
    return {
        "kinds": kinds,
        "compared": len(growths),
        "least_growth": min(growths, default=None),
        "most_growth": max(growths, default=None),
    }


def _growth(rows: list[Row]) -> Row:
    """Return the growth of distance / ln ln n and of distance / ln n, from the smallest to the largest network."""
    first, last = rows[0], rows[-1]
    growth = last["distance"] / first["distance"]
    first_log, last_log = log(first["nodes"]), log(last["nodes"])
    return {
        "kind": first["kind"], "sizes": len(rows), "first": first, "last": last,
        "growth": growth * log(first_log) / log(last_log) - 1, "by_log": growth * first_log / last_log - 1,
    }  # fmt: skip


def _charts(rows: Rows, _: Parameters) -> dict[str, list[Row]]:
    first = rows["distances"][0]
    law = [
        {
            "kind": "ln ln n, through the first point",
            "nodes": n,
            "distance": first["distance"] * log(log(n)) / log(log(first["nodes"])),
        }
        for n in sorted({row["nodes"] for row in rows["distances"]})
    ]
    return {"distances": [*rows["distances"], *law]}


EXPERIMENT = experiment("2006-distances", {"distances": _distances}, _metrics, _charts)
