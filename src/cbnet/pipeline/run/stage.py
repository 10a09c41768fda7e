"""Stages of a run.

Stage         name, parameters, inputs: together they determine whether it has to run
StageContext  the session, the network and the results of the stages before
Output        the result
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.population.users_per_as import first_clusters, users_by_class, users_from_file
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.spark.filesystem import fetch
from cbnet.pipeline.spark.results import Facts, StoredFiles, StoredResult
from cbnet.pipeline.tables.router_interfaces import check_routers, most_central_routers
from cbnet.topology import Graph, Tree, draw_roots, root_classes, shortest_path_tree, shortest_path_trees, topology
from cbnet.topology.generators import GENERATORS


@dataclass(frozen=True)
class Output:
    """The result of a stage, and facts of what is written."""

    content: DataFrame | Callable[[str], int]  # rows, or a function that writes files to a folder and returns a count
    facts: Callable[[StoredFiles], Facts] = lambda _: {}
    partition_by: tuple[str, ...] = ()  # columns of the rows: a folder for each of their values


@dataclass(frozen=True)
class Stage:
    """One step of a run; its name is also that of its folder."""

    name: str
    work: Callable[[StageContext], Output]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  # names of stages before it
    files: tuple[str, ...] = ()  # input files
    version: int = 1  # to be raised when the rows change for equal inputs


def network_parameters(config: Config) -> dict[str, Any]:
    """Return the parameters of a stage that depends on the graph."""
    return {
        "graph": None if network_files(config) else config.network.graph,
        "largest": config.network.largest,
        "seed": config.seed,
    }


def network_files(config: Config) -> tuple[str, ...]:
    """Return the file of the graph, if it is not generated."""
    graph = config.network.graph
    return () if graph.partition(":")[0] in GENERATORS else (graph,)


@dataclass(frozen=True, eq=False)
class StageContext:
    """The inputs and services of a stage."""

    spark: SparkSession
    config: Config
    results: dict[str, StoredResult] = field(default_factory=dict)  # of the stages that are done, by name

    def frame(self, stage: str) -> DataFrame:
        """Return the rows of a stage that is done."""
        return self.results[stage].frame(self.spark)

    @property
    def tags(self) -> DataFrame | None:
        """The dictionary; None if no application reads a trace."""
        return self.frame("tags") if self.config.has_traces else None

    def check(self) -> None:
        """Raise the errors of graph, users, root and routers before any long stage runs."""
        assert len(self.first_clusters) == len(self.graph) + 1
        check_routers([self.tree], self.routers)
        assert len(self.network_roots) == self.config.network.trees

    @cached_property
    def graph(self) -> Graph:
        """The network."""
        return topology(self.graph_file, self.config.seed, largest=self.config.network.largest)

    @cached_property
    def graph_file(self) -> str:
        """The generator of the graph, or a local file with it."""
        graph = self.config.network.graph
        return str(fetch(self.spark, graph)) if network_files(self.config) else graph

    @cached_property
    def first_clusters(self) -> NDArray[np.int64]:
        """The first cluster of each node, and the number of clusters: int64[n + 1]."""
        users = self.config.network.users
        weights = users_from_file(self.graph, fetch(self.spark, users)) if users else users_by_class(self.graph)
        return first_clusters(weights, self.config.population.clusters)

    def roots(self, count: int) -> list[int]:
        """Return the roots of `count` trees: the configured one first, if there is one; the others are drawn."""
        drawn: list[int] = draw_roots(root_classes(self.graph), count, seed=self.config.seed).tolist()
        root = self.config.network.root
        return drawn if root is None else [self.graph.id(root), *drawn[1:]]

    @cached_property
    def tree(self) -> Tree:
        """The tree of Table 1."""
        return shortest_path_tree(self.graph, self.roots(1)[0])

    @cached_property
    def network_roots(self) -> list[int]:
        """The roots of the live network's trees, all different."""
        count = draws = self.config.network.trees
        if count > len(self.graph):
            raise InputError(f"trees = {count}: the graph has {len(self.graph)} nodes", hint="use fewer trees")
        while len(distinct := [*dict.fromkeys(self.roots(draws))]) < count:
            draws *= 2  # the first ones stay the same
        return distinct[:count]

    @cached_property
    def trees(self) -> list[Tree]:
        """The trees of the live network, that of Table 1 first."""
        return [*shortest_path_trees(self.graph, self.network_roots)]

    @cached_property
    def routers(self) -> list[int]:
        """The routers whose tables are built."""
        routers = self.config.network.routers
        if isinstance(routers, int):
            return [int(node) for node in most_central_routers(self.tree)[:routers]]
        return [self.graph.id(name) for name in routers]
