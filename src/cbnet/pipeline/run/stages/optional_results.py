"""Stages of optional results: Figures 4 and 5, compiled tables, the folder of a live network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext, network_files, network_parameters
from cbnet.pipeline.run.tree_curves import tree_curves
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
    return Output(frame.coalesce(1), lambda: {"findings": rows, "claims": claim_members})


_CURVES = "ties string, k int, findings string"  # findings: JSON as of `cbnet lab trees --json`


def _tables(context: StageContext) -> Output:
    config = context.config.tables
    assert config is not None
    tags = context.frame("tags") if context.config.has_traces else None
    folder = _empty_folder(context.folder("tables"))
    files = compile_tables(context.frame("fib"), context.routers, folder, tags=tags, engine=config.engine)
    sizes = {
        str(context.graph.name(router)): file.stat().st_size
        for router, file in zip(context.routers, files, strict=True)
    }
    return Output(None, lambda: {"bytes": sizes}, len(files))


def _live(context: StageContext) -> Output:
    live, network = context.config.live, context.config.network
    assert live is not None
    compiled = Path(context.folder("tables"))
    tables = {router: compiled / f"{router}.cbt" for router in context.routers} if context.config.tables else {}
    write_network_folder(
        _empty_folder(context.folder("live")),
        network.graph,
        context.graph,
        context.roots(live.trees),
        context.frame("predicates"),
        seed=context.config.seed,
        largest=network.largest,
        tags=context.frame("tags") if context.config.has_traces else None,
        tables=tables,
    )
    return Output(None, rows=context.results["predicates"].rows)


def _empty_folder(folder: str) -> Path:
    """Return a local folder, created or emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)
    return Path(folder)
