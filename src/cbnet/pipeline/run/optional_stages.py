"""Stages of optional results: compiled tables, the folder of a live network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from pyspark.sql import DataFrame

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext
from cbnet.pipeline.run.table_stages import DESCRIPTORS, MARKS, router_tables
from cbnet.pipeline.spark.results import Facts, StoredFiles
from cbnet.pipeline.tables.compiled_tables import compile_tables
from cbnet.pipeline.tables.fib import folded_tables
from cbnet.pipeline.tables.network_folder import write_network_folder


def optional_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages of the optional sections of the configuration."""
    tags = ("tags",) if config.has_traces else ()
    if config.tables is not None:
        parameters = msgspec.to_builtins(config.tables) | _tree_parameters(config)
        parameters |= {"routers": config.network.routers}
        yield Stage("tables", _tables, parameters, (*_table_inputs(config), *tags))
    if config.live is not None:
        parameters = _tree_parameters(config)
        tables = ("tables",) if config.tables is not None else ()
        yield Stage("live", _live, parameters, ("predicates", *tags, *tables))


def _tables(context: StageContext) -> Output:
    return Output(partial(_write_tables, context), partial(_table_sizes, context))


def _write_tables(context: StageContext, folder: str) -> int:
    config = context.config.tables
    assert config is not None
    tables = compile_tables(
        _fib(context),
        context.routers,
        folder,
        tags=context.tags,
        folded=context.config.network.trees > 1,
        engine=config.engine,
    )
    return sum(map(len, tables.values()))


def _fib(context: StageContext) -> DataFrame:
    """Return the tables of the chosen routers, folded over the trees."""
    if context.config.router_tables is not None:
        return router_tables(context).of(context.routers)
    if context.config.network.trees == 1:
        return context.frame("fib")
    return folded_tables(context.frame("predicates"), context.trees, context.routers)


def _table_inputs(config: Config) -> tuple[str, ...]:
    """Return the stages that `_fib` reads."""
    if config.router_tables is not None:
        return (DESCRIPTORS, MARKS)
    return ("fib",) if config.network.trees == 1 else ("predicates",)


def _tree_parameters(config: Config) -> dict[str, Any]:
    return {"trees": config.network.trees, "root": config.network.root}


def _table_sizes(context: StageContext, stored: StoredFiles) -> Facts:
    sizes = dict.fromkeys(map(str, (context.graph.name(router) for router in context.routers)), 0)
    for file in stored.files:
        router = int(file.name.removesuffix(".cbt").partition("-")[0])  # a large table has several files
        sizes[str(context.graph.name(router))] += file.bytes
    return {"bytes": sizes}


def _live(context: StageContext) -> Output:
    return Output(partial(_write_live, context))


def _write_live(context: StageContext, folder: str) -> int:
    tables = context.results["tables"].stored if context.config.tables else None
    files = {file.name for file in tables.files} if tables else set()
    write_network_folder(
        folder,
        context.graph_file,
        context.graph,
        context.network_roots,
        context.frame("predicates"),
        seed=context.config.seed,
        largest=context.config.network.largest,
        tags=context.tags,
        # a table in several files is too large for a start: its router learns from its neighbours
        tables={
            router: f"{tables.folder}/{router}.cbt" for router in context.routers if tables and f"{router}.cbt" in files
        },
    )
    return context.results["predicates"].rows
