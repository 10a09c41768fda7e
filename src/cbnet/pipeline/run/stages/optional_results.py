"""Stages of optional results: Figures 4 and 5, compiled tables, the folder of a live network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext, network_files, network_parameters
from cbnet.pipeline.run.tree_curves import tree_curves
from cbnet.pipeline.spark.results import Facts, Snapshot
from cbnet.pipeline.tables.compiled_tables import compile_tables
from cbnet.pipeline.tables.network_folder import write_network_folder
from cbnet.topology.survey.claims import claims


def optional_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages of the optional sections of the configuration."""
    graph = network_parameters(config)
    tags = ("tags",) if config.has_traces else ()
    if config.curves is not None:
        parameters = graph | msgspec.to_builtins(config.curves)
        yield Stage("curves", _curves, parameters, files=network_files(config))
    if config.tables is not None:
        yield Stage("tables", _tables, msgspec.to_builtins(config.tables), ("fib", *tags))
    if config.live is not None:
        parameters = msgspec.to_builtins(config.live) | {"root": config.network.root}
        tables = ("tables",) if config.tables is not None else ()
        yield Stage("live", _live, parameters, ("predicates", *tags, *tables))


def _curves(context: StageContext) -> Output:
    curves = context.config.curves
    assert curves is not None
    graph = context.graph
    findings = tree_curves(
        context.spark,
        graph,
        curves.k,
        ties=curves.ties,
        sources=min(curves.sources, len(graph)),
        selections=curves.selections,
        seed=context.config.seed,
    )
    rows = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in findings]
    claim_members = [claim.members() for claim in claims(findings, in_hops=graph.is_unit)]
    frame = context.spark.createDataFrame([(row["ties"], row["k"], json.dumps(row)) for row in rows], _CURVES)
    return Output(frame.coalesce(1), lambda _: {"findings": rows, "claims": claim_members})


_CURVES = "ties string, k int, findings string"  # findings: JSON as of `cbnet lab trees --json`


def _tables(context: StageContext) -> Output:
    return Output(partial(_write_tables, context), partial(_table_sizes, context))


def _write_tables(context: StageContext, folder: str) -> int:
    config = context.config.tables
    assert config is not None
    tags = context.frame("tags") if context.config.has_traces else None
    local = Path(folder.removeprefix("file://"))  # the configuration allows no other
    return len(compile_tables(context.frame("fib"), context.routers, local, tags=tags, engine=config.engine))


def _table_sizes(context: StageContext, snapshot: Snapshot) -> Facts:
    sizes = {file.name: file.bytes for file in snapshot.files}
    return {"bytes": {str(context.graph.name(router)): sizes[f"{router}.cbt"] for router in context.routers}}


def _live(context: StageContext) -> Output:
    return Output(partial(_write_live, context))


def _write_live(context: StageContext, folder: str) -> int:
    live, network = context.config.live, context.config.network
    assert live is not None
    compiled = Path(context.results["tables"].snapshot.folder) if context.config.tables else None
    write_network_folder(
        Path(folder.removeprefix("file://")),
        network.graph,
        context.graph,
        context.roots(live.trees),
        context.frame("predicates"),
        seed=context.config.seed,
        largest=network.largest,
        tags=context.frame("tags") if context.config.has_traces else None,
        tables={router: compiled / f"{router}.cbt" for router in context.routers} if compiled else {},
    )
    return context.results["predicates"].rows
