"""Costs of k trees on a large graph, over many selections of roots [2014 Figures 4 and 5].

`topology.survey` with one task per selection, which depends on seed and number alone. The findings are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from cbnet.pipeline.spark.parallelism import run_tasks
from cbnet.topology import Graph, Ties, root_classes
from cbnet.topology.survey.survey import survey_selection
from cbnet.topology.survey.tree_statistics import TreeStatistics

KS = (8, 16, 32, 64, 128)


def tree_curves(
    spark: SparkSession,
    graph: Graph,
    ks: Sequence[int] = KS,
    *,
    ties: Sequence[Ties] = (Ties.SMALLEST,),
    sources: int | None = 200,
    selections: int = 20,
    seed: int = 0,
) -> list[TreeStatistics]:
    """Return the findings of `topology.survey.survey`, which has the same arguments."""
    classes = root_classes(graph)
    tasks = [
        partial(_selection, graph, classes, tuple(ks), rule, sources, seed, selection)
        for rule in ties
        for selection in range(selections)
    ]
    parts = run_tasks(spark, tasks)
    by_rule = [parts[start : start + selections] for start in range(0, len(parts), selections)]
    return [TreeStatistics.merged(of_k) for of_rule in by_rule for of_k in zip(*of_rule, strict=True)]


def _selection(
    graph: Graph,
    classes: NDArray[np.int8],
    ks: Sequence[int],
    ties: Ties,
    sources: int | None,
    seed: int,
    selection: int,
) -> list[TreeStatistics]:
    return survey_selection(graph, classes, ks, ties, sources=sources, seed=seed, selection=selection)
