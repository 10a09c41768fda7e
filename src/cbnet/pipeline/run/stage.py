"""Stage: what is one step of a run, and where does it find what it needs?

Stage      name, parameters, what it reads: together they tell whether it has to run
Workplace  the session, the network and the results of the stages before
Output     what came of it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from cbnet.pipeline.population.users_per_as import first_clusters, users_by_class, users_from_file
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.spark.results import Facts, Result, spark_path
from cbnet.pipeline.tables.router_interfaces import RouterInterfaces
from cbnet.pipeline.tables.tree_centrality import most_central_routers
from cbnet.topology import Graph, Tree, draw_roots, root_classes, shortest_path_tree, topology


@dataclass(frozen=True)
class Output:
    """Rows to be written, or None if the stage has filled its folder itself; and facts, known once that is done."""

    frame: DataFrame | None
    facts: Callable[[], Facts] = dict
    rows: int = 0  # of a stage without a frame


@dataclass(frozen=True)
class Stage:
    """One step of a run; its name is also that of its folder."""

    name: str
    work: Callable[[Workplace], Output]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  # stages before it
    files: tuple[str, ...] = ()  # that it reads


@dataclass(frozen=True, eq=False)
class Workplace:
    """What a stage may use."""

    spark: SparkSession
    config: Config
    results: dict[str, Result] = field(default_factory=dict)  # of the stages that are done, by name

    def frame(self, stage: str) -> DataFrame:
        """Return the rows of a stage before."""
        return self.results[stage].frame(self.spark)

    def written(self, stage: str) -> DataFrame:
        """Return the rows that a stage has just written, to tell facts about them."""
        return self.spark.read.parquet(spark_path(self.folder(stage)))

    def folder(self, stage: str) -> str:
        """Return where the result of a stage is, or will be."""
        return f"{self.config.out}/{stage}"

    def check(self) -> None:
        """Find what is wrong with graph, users, root and routers before anything long is run."""
        assert len(self.first_clusters) == len(self.graph) + 1
        RouterInterfaces.of([self.tree], self.routers)

    @cached_property
    def graph(self) -> Graph:
        """The network."""
        network = self.config.network
        return topology(network.graph, self.config.seed, largest=network.largest)

    @cached_property
    def first_clusters(self) -> NDArray[np.int64]:
        """The first cluster of each node, and the end of the last one's: int64[n + 1]."""
        users = self.config.network.users
        weights = users_from_file(self.graph, Path(users)) if users else users_by_class(self.graph)
        return first_clusters(weights, self.config.population.clusters)

    def roots(self, count: int) -> list[int]:
        """Return the roots of so many trees: the first is the one that is named, if any; the others are drawn."""
        drawn: list[int] = draw_roots(root_classes(self.graph), count, seed=self.config.seed).tolist()
        named = self.config.network.root
        return drawn if named is None else [self.graph.id(named), *drawn[1:]]

    @cached_property
    def tree(self) -> Tree:
        """The tree of which Table 1 is."""
        return shortest_path_tree(self.graph, self.roots(1)[0])

    @cached_property
    def routers(self) -> list[int]:
        """The routers whose tables are built."""
        said = self.config.network.routers
        if isinstance(said, int):
            return [int(node) for node in most_central_routers(self.tree)[:said]]
        return [self.graph.id(name) for name in said]
