"""The Internet: which graph do experiments about it run on? The one that is given, or a generated one like it.

A statement about the Internet that holds on a generated graph holds with a difference; one that does not hold there is
left open.
"""

from __future__ import annotations

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.experiment import Context, Tables
from cbnet.topology import Graph, topology

TABLE = "graph"


def internet(context: Context, nodes: int) -> Graph:
    """Return the graph of the context, or else a generated one of so many nodes."""
    if context.topology is not None:
        return topology(str(context.topology), largest=True)
    return topology(f"aslike:{nodes}", context.seed)


def graph_table(graph: Graph, context: Context) -> pa.Table:
    """Return a table about the graph, to be kept as TABLE."""
    given = context.topology is not None
    return pa.table({"nodes": [len(graph)], "edges": [graph.edge_count], "given": [given]})


def is_given(tables: Tables) -> bool:
    """Return whether the graph was given."""
    given: bool = tables[TABLE]["given"][0].as_py()
    return given


def size(tables: Tables) -> tuple[int, int]:
    """Return nodes and edges of the graph."""
    row = tables[TABLE].to_pylist()[0]
    return row["nodes"], row["edges"]


def judged(tables: Tables, claim: int, ours: str, holds: bool, reason: str) -> Finding:
    """Return the finding about the Internet; reason: why it does not hold."""
    if is_given(tables):
        return Finding(claim, ours, "holds") if holds else Finding(claim, ours, "fails", reason)
    where = f"a generated graph of {size(tables)[0]:,} nodes"
    if holds:
        return Finding(claim, ours, "differs", f"it holds on {where}; give --topology to run it on the Internet's")
    return Finding(claim, ours, "open", f"{where} is too unlike the Internet's to tell; give --topology")
