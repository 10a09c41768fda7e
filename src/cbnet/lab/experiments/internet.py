"""The Internet graph of an experiment: the file of --topology, or a generated graph.

A claim about the Internet that holds on a generated graph holds with a difference; one that does not hold there is
left open.
"""

from __future__ import annotations

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.experiment import ExperimentContext, Tables
from cbnet.topology import Graph, topology

TABLE = "graph"


def internet(context: ExperimentContext, nodes: int) -> Graph:
    """Return the graph of the context, or else a generated one of `nodes` nodes."""
    if context.topology is not None:
        return topology(str(context.topology), largest=True)
    return topology(f"aslike:{nodes}", context.seed)


def graph_table(graph: Graph, context: ExperimentContext) -> pa.Table:
    """Return the table to store as TABLE: nodes, edges, and whether the graph came from a file."""
    return pa.table({"nodes": [len(graph)], "edges": [graph.edge_count], "from_file": [context.topology is not None]})


def is_from_file(tables: Tables) -> bool:
    """Return whether the graph came from a file."""
    from_file: bool = tables[TABLE]["from_file"][0].as_py()
    return from_file


def graph_size(tables: Tables) -> tuple[int, int]:
    """Return the nodes and edges of the graph."""
    row = tables[TABLE].to_pylist()[0]
    return row["nodes"], row["edges"]


def internet_finding(tables: Tables, claim: int, ours: str, holds: bool, reason: str) -> Finding:
    """Return the finding for a claim about the Internet; reason: why it does not hold."""
    if is_from_file(tables):
        return Finding(claim, ours, "holds") if holds else Finding(claim, ours, "fails", reason)
    nodes = f"{graph_size(tables)[0]:,}"
    if holds:
        return Finding(claim, ours, "differs", f"holds on a generated graph of {nodes} nodes; use --topology")
    reason = f"a generated graph of {nodes} nodes is too unlike the Internet"
    return Finding(claim, ours, "open", reason, missing="topology")
