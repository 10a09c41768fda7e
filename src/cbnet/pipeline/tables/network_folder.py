"""Folders that a live network can start from.

    network.toml            graph, trees, and paths of the other files
    graph.as-rel.txt.gz     the graph, if it came from a file
    predicates.parquet/     the predicate of each node, one row for each tag (see `constraint_rows`); `rule`
                            is the name of the node
    tables/                 optional compiled tables of some routers; their interfaces are node numbers

`network.toml`:

    version = 1
    predicates = "predicates.parquet"

    [topology]
    graph = "graph.as-rel.txt.gz"     # a file in this folder, or a generator such as "aslike:300"
    seed = 0                          # of the generator
    largest = true                    # if only the largest component of the graph is used
    roots = [852, 7018]               # of the trees, by name, tree 0 first; ties are broken by the smallest parent

    [tables]                          # by name of the router
    852 = "tables/271.cbt"
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.pipeline.spark.filesystem import fetch, spark_path, upload, write_text
from cbnet.pipeline.tables.compiled_tables import constraint_rows
from cbnet.topology import Graph

VERSION = 1
_PREDICATES = "predicates.parquet"
_TABLES = "tables"


def write_network_folder(
    folder: str,
    topology: str,
    graph: Graph,
    roots: Sequence[int],
    predicates: DataFrame,
    *,
    seed: int = 0,
    largest: bool = False,
    tags: DataFrame | None = None,
    tables: Mapping[int, str] | None = None,
) -> None:
    """Write a folder that a network can start from.

    folder: a path or a URI. topology: the generator of the graph, with its seed, or a local file; largest: whether to
    use only its largest component. predicates: PREDICATES. tags: TAGS. tables: paths or URIs, by router.
    """
    if not roots:
        raise InputError("a network needs a tree", hint="give at least one root")
    spark, folder = predicates.sparkSession, spark_path(folder)
    _named_predicates(graph, predicates, tags).write.mode("overwrite").parquet(f"{folder}/{_PREDICATES}")
    named = {graph.name(router): f"{_TABLES}/{router}.cbt" for router in tables or {}}
    for router, path in (tables or {}).items():
        upload(spark, fetch(spark, path), f"{folder}/{_TABLES}/{router}.cbt")
    lines = [
        f"version = {VERSION}",
        f"predicates = {_toml(_PREDICATES)}",
        "",
        "[topology]",
        f"graph = {_toml(_copied_graph(spark, folder, topology))}",
        f"seed = {seed}",
        *(["largest = true"] if largest else []),
        f"roots = [{', '.join(_toml(graph.name(root)) for root in roots)}]",
        "",
        "[tables]",
        *(f"{_toml(str(name))} = {_toml(path)}" for name, path in named.items()),
    ]
    # last: a folder without it is incomplete
    write_text(spark, f"{folder}/network.toml", "\n".join(lines) + "\n")


def _named_predicates(graph: Graph, predicates: DataFrame, tags: DataFrame | None) -> DataFrame:
    names = [(node, str(name)) for node, name in enumerate(graph.names)]
    named = predicates.sparkSession.createDataFrame(names, "node int, rule string")
    rows = predicates.join(F.broadcast(named), "node").select("rule", "tags")
    return constraint_rows(rows, tags)


def _copied_graph(spark: SparkSession, folder: str, topology: str) -> str:
    path = Path(topology)
    if not path.is_file():
        return topology
    name = "graph." + path.name.partition(".")[2] if "." in path.name else "graph"
    upload(spark, path, f"{folder}/{name}")
    return name


def _toml(value: int | str) -> str:
    """Return a value as TOML; strings are escaped as in JSON, except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
