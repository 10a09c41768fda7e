"""`cbnet lab trees`: cost and benefit of k trees over a network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.cli.console import plural
from cbnet.cli.options import GRAPH, JSON, flag, option
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import seed
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results
from cbnet_lab.cli.lab.reproduce import print_findings
from cbnet_lab.experiments.curves import Row, as_table

if TYPE_CHECKING:
    from cbnet.topology import Graph
    from cbnet.topology.shortest_paths import Ties
    from cbnet.topology.survey import TreeStatistics
    from cbnet_lab.experiments.claim import Finding

_MAX_TREES = 1000
_NAMED: dict[str, Cell[Row]] = {"ties": "ties", "trees": "k"}
_PERCENTILES: dict[str, Cell[Row]] = {
    "mean": "mean", "1 %": "p1", "25 %": "p25", "50 %": "p50", "75 %": "p75", "99 %": "p99",
}  # fmt: skip


@dataclass(frozen=True)
class TreesPlan:
    """The options of `cbnet lab trees`."""

    topology: str = option(..., "GRAPH", GRAPH, name="--topology -t", shown=False)
    k: str = option("1,8,16,32,64,128", "K,...", "Numbers of trees, separated by commas.")
    sources: int = option(50, "N", "Number of random nodes per selection to measure paths from, at most all.")
    selections: int = option(20, "N", "Number of random selections of roots.")
    ties: str = option(
        "smallest,random", "RULE,...", "Tie-breaking rules, separated by commas: smallest, random or fresh."
    )
    largest: bool = flag("Use the largest component of a disconnected graph.")
    seed: int = seed("Seed of the graph and the roots.")


def trees(plan: TreesPlan, as_json: bool = JSON) -> None:
    """Measure the path lengths, trees per interface and link load of k trees.

    Example: cbnet lab trees --topology aslike:1000 --k 1,8
    """
    from cbnet.topology import topology as load_graph

    ks, rules = _numbers(plan.k), _rules(plan.ties)
    graph = load_graph(plan.topology, plan.seed, largest=plan.largest)
    surveyed = _survey(graph, ks, rules, plan)
    rows = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in surveyed]
    findings = _findings(graph, rows, plan)
    named = [{"topology": plan.topology, **row} for row in (*rows, *map(asdict, findings))]
    print_results(named, _tables(plan.topology, graph, rows), as_json=as_json)
    if findings and not as_json:
        print_findings(findings, "Claims of [2014] about these trees; `cbnet lab reproduce 2014` checks all")


def _findings(graph: Graph, members: Sequence[Row], plan: TreesPlan) -> list[Finding]:
    """Return the findings about the claims that a survey can decide, with ties broken as in all our results."""
    from cbnet_lab.experiments.experiment import load_experiment
    from cbnet_lab.experiments.y2014.trees import interface_rows, load_rows

    rows = [row for row in members if row["ties"] == "smallest"]
    if len(rows) < 2:  # the claims compare numbers of trees
        return []
    size = {"nodes": len(graph), "edges": graph.edge_count, "from_file": Path(plan.topology).exists()}
    tables = {"graph": [size], "interfaces": interface_rows(rows), "load": load_rows(rows)}
    arrow = {name: as_table(each) for name, each in tables.items()}
    names = ("2014-figure-5", "2014-link-load")
    return [finding for name in names for finding in load_experiment(name).findings(arrow, None)]


def _numbers(text: str) -> list[int]:
    """Return the numbers of trees in a list, sorted."""
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[1-9][0-9]{0,3}", part) and int(part) <= _MAX_TREES for part in parts):
        raise InputError(f"--k must list numbers from 1 to {_MAX_TREES:,}, not {text!r}", hint="write --k 8,16,32")
    return sorted({int(part) for part in parts})


def _rules(text: str) -> list[Ties]:
    """Return the tie-breaking rules in a list, each once."""
    from cbnet.topology.shortest_paths import Ties

    parts = [*dict.fromkeys(part.strip() for part in text.split(","))]
    if not {*parts} <= {*Ties}:
        raise InputError(f"unknown tie-breaking rule in {text!r}", hint=f"choose among {', '.join(Ties)}")
    return [Ties(part) for part in parts]


def _survey(graph: Graph, ks: list[int], rules: list[Ties], plan: TreesPlan) -> list[TreeStatistics]:
    """Survey the graph, with a progress bar."""
    from cbnet.cli.console import progress_bar
    from cbnet.topology.survey import survey

    sources, selections = plan.sources, plan.selections
    with progress_bar() as bar:
        task = bar.add_task("trees", total=len(rules) * selections * min(sources, len(graph)))
        return survey(
            graph, ks, ties=rules, sources=sources, selections=selections, seed=plan.seed,
            done=lambda: bar.advance(task),
        )  # fmt: skip


def _tables(topology: str, graph: Graph, rows: Sequence[Row]) -> Iterator[str | ResultTable[Row]]:
    """Yield the size of the survey, and its results in four tables."""
    selections, sources = rows[0]["selections"], rows[0]["sources"] // rows[0]["selections"]
    yield (
        f"{topology}: {plural(len(graph), 'node')}, {plural(graph.edge_count, 'link')};"
        f" {plural(selections, 'selection')} of roots, {plural(sources, 'source')} each\n"
    )
    extra = "Extra hops" if graph.is_unit else "Extra length"
    for key, what in (("extra_mean", "mean of the trees"), ("extra_worst", "worst tree")):
        lengths = [{**row, "of": of, **row[key][of]} for row in rows for of in ("pairs", "sources")]
        columns = _NAMED | {"of": "of"} | _PERCENTILES
        yield ResultTable(f"{extra} over the graph's shortest path, {what}", lengths, columns)
    counts = [{**row, **row["interfaces"]} for row in rows]
    largest = {"largest": lambda row: " to ".join(map(str, dict.fromkeys(row["largest"])))}
    yield ResultTable("Distinct trees per interface", counts, _NAMED | {"in use": "used"} | _PERCENTILES | largest)
    yield ResultTable("Link load, in pairs of nodes", [{**row, **row["load"]} for row in rows], {
        **_NAMED,
        "links used": "used",
        "of all": lambda row: f"{row['used'] / row['links']:.1%}",
        "mean": lambda row: f"{row['mean']:.4%}",
        "largest": lambda row: f"{row['largest']:.2%}",
    })  # fmt: skip
