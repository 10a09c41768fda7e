"""Stages of the tables of every router: numbered descriptors, and their marks on every tree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext
from cbnet.pipeline.spark.results import Facts
from cbnet.pipeline.spark.snapshots import Snapshot
from cbnet.pipeline.tables.descriptor_marks import descriptor_marks, numbered_descriptors
from cbnet.pipeline.tables.router_tables import StoredTables

DESCRIPTORS, MARKS = "router_tables/descriptors", "router_tables/marks"


def router_table_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages of the section [router_tables]."""
    if config.router_tables is not None:
        yield Stage(DESCRIPTORS, _descriptors, {}, ("predicates",))
        network = config.network
        parameters = {"root": network.root, "trees": network.trees, "ranges": config.router_tables.ranges}
        yield Stage(MARKS, _marks, parameters, ("predicates", DESCRIPTORS))


def router_tables(context: StageContext) -> StoredTables:
    """Return the stored tables of every router."""
    assert context.config.router_tables is not None
    return StoredTables(
        context.frame(DESCRIPTORS), context.frame(MARKS), context.trees, context.config.router_tables.ranges
    )


def _descriptors(context: StageContext) -> Output:
    rows = numbered_descriptors(context.frame("predicates"), len(context.graph))
    return Output(rows, partition_by=("minimal",))


def _marks(context: StageContext) -> Output:
    assert context.config.router_tables is not None
    rows = descriptor_marks(
        context.frame("predicates"), context.frame(DESCRIPTORS), context.trees, context.config.router_tables.ranges
    )
    return Output(rows, partial(_entries, context), ("tree", "range"))


def _entries(context: StageContext, snapshot: Snapshot) -> Facts:
    """Return the entries of the tables of all routers on each tree: what the marks stand for."""
    assert context.config.router_tables is not None
    tables = StoredTables(
        context.frame(DESCRIPTORS), snapshot.frame(context.spark), context.trees, context.config.router_tables.ranges
    )
    return {"routers": len(context.graph), "entries": tables.entries()}
