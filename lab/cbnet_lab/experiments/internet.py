"""The Internet graph of an experiment: the file of --topology, or a generated graph.

A graph with far fewer nodes than the paper's leaves a claim about the Internet unmeasured. On a generated graph of the
paper's size a claim can hold with a difference, or not hold; both findings say that the graph is generated.
"""

from __future__ import annotations

import pyarrow as pa

from cbnet.topology import Graph, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.experiment import ExperimentContext, Tables

TABLE = "graph"
PAPER_NODES, PAPER_EDGES = 42_113, 118_040  # [2014 §4.1]
_LARGE = 0.9  # of the paper's nodes; a smaller graph decides nothing


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


def too_small(tables: Tables) -> str:
    """Return why the graph is too small for a claim about the Internet; empty if it is large enough."""
    nodes, _ = graph_size(tables)
    return "" if nodes >= _LARGE * PAPER_NODES else f"a graph of {nodes:,} nodes; the paper's has {PAPER_NODES:,}"


def on_generated(tables: Tables) -> str:
    """Return the condition under which a finding is valid: on a generated graph; empty if it came from a file."""
    nodes, _ = graph_size(tables)
    return "" if is_from_file(tables) else f"on a generated graph of {nodes:,} nodes; use --topology"


def internet_finding(
    tables: Tables, rule: ClaimRule, ours: str, holds: bool, reason: str, condition: str = ""
) -> Finding:
    """Return the finding for a claim about the Internet.

    reason: why it does not hold. condition: under which it holds; empty if it simply holds.
    """
    if small := too_small(tables):
        return rule.unmeasured(ours, small)
    where = on_generated(tables)
    if not holds:
        return rule.fails(ours, "; ".join(filter(None, (reason, where))))
    conditions = "; ".join(filter(None, (condition, where)))
    return rule.differs(ours, conditions) if conditions else rule.holds(ours)
