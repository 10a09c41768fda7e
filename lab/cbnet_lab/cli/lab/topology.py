"""`cbnet lab topology`: properties of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from cbnet.cli.console import plural, progress_bar
from cbnet.cli.options import GRAPH, JSON, argument, flag, option
from cbnet_lab.bench.plan_options import seed
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results

Row: TypeAlias = dict[str, Any]


def topology(
    graph: str = argument(..., "GRAPH", GRAPH, shown=False),
    seed: int = seed("Seed of a random graph."),
    sources: int = option(500, "N", "Number of random nodes to measure from, at most all."),
    largest: bool = flag("Use the largest component of a disconnected graph."),
    as_json: bool = JSON,
) -> None:
    """Show the size, degrees, distances and central nodes of a graph.

    Example: cbnet lab topology powerlaw:200
    """
    from cbnet.topology import topology as load_graph
    from cbnet.topology.summary import summarise

    loaded = load_graph(graph, seed, largest=largest, connected=False)
    with progress_bar() as bar:
        summary = summarise(loaded, sources=sources, seed=seed, track=bar.track)
    head = f"{graph}: {plural(summary['nodes'], 'node')}, {plural(summary['edges'], 'edge')}\n"
    print_results([{"graph": graph, **summary}], [head, *_tables(summary)], as_json=as_json)


def _tables(summary: Row) -> Iterator[ResultTable[Row]]:
    """Yield the totals, the distributions and the most central nodes."""
    degrees, distances, components = summary["degrees"], summary["distances"], summary["components"]
    totals = {
        "nodes": summary["nodes"], "edges": summary["edges"],
        **({"  repeated, dropped": summary["repeated"]} if summary["repeated"] else {}),
        "  bridges": summary["bridges"], "components": components["count"],
        **{f"{key} weight": value for key, value in (summary["weights"] or {}).items()},
        **{f"{key} degree": degrees[key] for key in ("smallest", "median", "mean", "largest")},
        "mean distance": distances["mean"],
        "longest distance" if distances["exact"] else "longest distance seen": distances["longest"],
    }  # fmt: skip
    yield ResultTable("Totals", [totals], {name: name for name in totals}, is_list=True)
    central: dict[str, Cell[Row]] = {"node": "node", "betweenness": _percent("betweenness"), "degree": "degree"}
    if summary["classes"]:
        classes = [{"class": name, "nodes": nodes} for name, nodes in summary["classes"].items()]
        yield _shares("AS classes", "class", "nodes", classes)
        central["class"] = "class"
    yield _shares("Degrees", "neighbours", "nodes", degrees["counts"])
    origin = "all nodes" if distances["exact"] else plural(distances["sources"], "node")
    yield _shares(f"Distances from {origin}", "distance", "pairs", distances["counts"])
    yield ResultTable("Most central", summary["central"], central)
    if components["count"] > 1:
        sizes = [{"component": rank, "nodes": size} for rank, size in enumerate(components["sizes"], 1)]
        yield _shares("Largest components", "component", "nodes", sizes, summary["nodes"])


def _shares(title: str, name: str, unit: str, rows: Sequence[Row], total: int | None = None) -> ResultTable[Row]:
    """Return a table of counts with their share of the total, by default their sum; a row may be a range."""
    whole = max(1, sum(row[unit] for row in rows) if total is None else total)
    named = [{name: _range(row), **row, "share": row[unit] / whole} for row in rows]
    return ResultTable(title, named, {name: name, unit: unit, "share": _percent("share")})


def _range(row: Row) -> str | None:
    if "from" not in row:
        return None
    return f"{row['from']:,}" if row["from"] == row["to"] else f"{row['from']:,} to {row['to']:,}"


def _percent(name: str) -> Cell[Row]:
    return lambda row: f"{row[name]:.1%}"
