"""What else a run may make: Figures 4 and 5, the disjunction advantage, compiled tables, a live network's folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, Workplace
from cbnet.pipeline.run.stages.network_identity import network_files, network_parameters
from cbnet.pipeline.run.tree_curves import tree_curves
from cbnet.pipeline.tables.compiled_tables import compile_tables
from cbnet.pipeline.tables.network_folder import write_network_folder
from cbnet.topology.survey.claims import claims

_GENERAL = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # predicates of the general model: up to five times its messages


def more_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages that the configuration asks for."""
    graph = network_parameters(config)
    named = ("tags",) if config.has_traces else ()
    if config.curves is not None:
        parameters = graph | msgspec.to_builtins(config.curves)
        yield Stage("curves", _curves, parameters, files=network_files(config))
    if config.tables is not None:
        yield Stage("tables", _tables, msgspec.to_builtins(config.tables), ("fib", *named))
    if config.live is not None:
        parameters = msgspec.to_builtins(config.live) | {"root": config.network.root}
        tables = ("tables",) if config.tables is not None else ()
        yield Stage("live", _live, parameters, ("predicates", *named, *tables))


def _curves(place: Workplace) -> Output:
    said = place.config.curves
    assert said is not None
    graph = place.graph
    found = tree_curves(
        place.spark,
        graph,
        said.k,
        ties=said.ties,
        sources=min(said.sources, len(graph)),
        selections=said.selections,
        seed=place.config.seed,
    )
    rows = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in found]
    told = [claim.members() for claim in claims(found, in_hops=graph.is_unit)]
    frame = place.spark.createDataFrame([(row["ties"], row["k"], json.dumps(row)) for row in rows], _CURVES)
    return Output(frame.coalesce(1), lambda: {"findings": rows, "claims": told})


_CURVES = "ties string, k int, findings string"  # as JSON, as `cbnet trees --json` prints them


def _tables(place: Workplace) -> Output:
    said = place.config.tables
    assert said is not None
    tags = place.frame("tags") if place.config.has_traces else None
    folder = _emptied(place.folder("tables"))
    files = compile_tables(place.frame("fib"), place.routers, folder, tags=tags, engine=said.engine)
    sizes = {
        str(place.graph.name(router)): file.stat().st_size for router, file in zip(place.routers, files, strict=True)
    }
    return Output(None, lambda: {"bytes": sizes}, len(files))


def _live(place: Workplace) -> Output:
    said, network = place.config.live, place.config.network
    assert said is not None
    compiled = Path(place.folder("tables"))
    tables = {router: compiled / f"{router}.cbt" for router in place.routers} if place.config.tables else {}
    write_network_folder(
        _emptied(place.folder("live")),
        network.graph,
        place.graph,
        place.roots(said.trees),
        place.frame("predicates"),
        seed=place.config.seed,
        largest=network.largest,
        tags=place.frame("tags") if place.config.has_traces else None,
        tables=tables,
    )
    return Output(None, rows=place.results["predicates"].rows)


def _emptied(folder: str) -> Path:
    """Return a folder of this machine that is there, and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)
    return Path(folder)
