"""The Internet graph of an experiment: the file of --topology, or a generated graph.

A graph with far fewer nodes than the paper's leaves a claim about the Internet unmeasured. On a generated graph of the
paper's size a claim can hold with a difference, or not hold; both findings mention that the graph is generated. These
conditions are in `claims.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cbnet.topology import Graph, topology
from cbnet_lab.experiments.curves import Row
from cbnet_lab.experiments.experiment import ExperimentContext


@dataclass(frozen=True)
class SurveyParameters:
    """Size of a survey of trees."""

    nodes: int  # of a generated graph
    trees: tuple[int, ...]
    selections: int


def internet(context: ExperimentContext, nodes: int) -> Graph:
    """Return the graph of the context, or else a generated one of `nodes` nodes."""
    if context.topology is not None:
        return topology(str(context.topology), largest=True)
    return topology(f"aslike:{nodes}", context.seed)


def tree_members(context: ExperimentContext, graph: Graph, parameters: SurveyParameters, **survey: Any) -> list[Row]:
    """Return the survey of k trees for each k, on Spark."""
    from cbnet.pipeline.run.tree_curves import tree_curves

    survey |= {"selections": parameters.selections, "seed": context.seed}
    curves = tree_curves(context.spark(), graph, parameters.trees, **survey)
    return [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in curves]


def graph_rows(graph: Graph, context: ExperimentContext) -> list[Row]:
    """Return the rows of the table GRAPH: nodes, edges, and whether the graph came from a file."""
    return [{"nodes": len(graph), "edges": graph.edge_count, "from_file": context.topology is not None}]
