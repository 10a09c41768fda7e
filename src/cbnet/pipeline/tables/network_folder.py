"""Folders that a live network can start from.

    network.toml            graph, trees, and paths of the other files
    graph.as-rel.txt.gz     the graph, if it came from a file
    predicates.parquet/     the predicate of each node, one row for each tag (see `constraint_rows`); `interface`
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
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.pipeline.tables.constraint_rows import constraint_rows
from cbnet.topology import Graph

VERSION = 1
_PREDICATES = "predicates.parquet"
_TABLES = "tables"


def write_network_folder(
    folder: Path,
    topology: str,
    graph: Graph,
    roots: Sequence[int],
    predicates: DataFrame,
    *,
    seed: int = 0,
    largest: bool = False,
    tags: DataFrame | None = None,
    tables: Mapping[int, Path] | None = None,
) -> None:
    """Write a folder that a network can start from.

    topology: the specification of the graph, with its seed; largest: whether to use only its largest component.
    predicates: PREDICATES. tags: TAGS. tables: by router.
    """
    if not roots:
        raise InputError("a network needs a tree", hint="give at least one root")
    folder.mkdir(parents=True, exist_ok=True)
    _write_predicates(folder / _PREDICATES, graph, predicates, tags)
    named = _copied_tables(folder / _TABLES, graph, tables or {})
    lines = [
        f"version = {VERSION}",
        f"predicates = {_toml(_PREDICATES)}",
        "",
        "[topology]",
        f"graph = {_toml(_copied_graph(folder, topology))}",
        f"seed = {seed}",
        *(["largest = true"] if largest else []),
        f"roots = [{', '.join(_toml(graph.name(root)) for root in roots)}]",
        "",
        "[tables]",
        *(f"{_toml(str(name))} = {_toml(path)}" for name, path in named.items()),
    ]
    # last: a folder without it is incomplete
    (folder / "network.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_predicates(path: Path, graph: Graph, predicates: DataFrame, tags: DataFrame | None) -> None:
    names = [(node, str(name)) for node, name in enumerate(graph.names)]
    named = predicates.sparkSession.createDataFrame(names, "node int, interface string")
    rows = predicates.join(F.broadcast(named), "node").select("interface", "tags")
    constraint_rows(rows, tags).write.mode("overwrite").parquet(str(path))


def _copied_tables(folder: Path, graph: Graph, tables: Mapping[int, Path]) -> dict[int | str, str]:
    if tables:
        folder.mkdir(exist_ok=True)
    for router, path in tables.items():
        shutil.copyfile(path, folder / f"{router}.cbt")
    return {graph.name(router): f"{_TABLES}/{router}.cbt" for router in tables}


def _copied_graph(folder: Path, topology: str) -> str:
    path = Path(topology)
    if not path.is_file():
        return topology
    name = "graph." + path.name.partition(".")[2] if "." in path.name else "graph"
    shutil.copyfile(path, folder / name)
    return name


def _toml(value: int | str) -> str:
    """Return a value as TOML; strings are escaped as in JSON, except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
