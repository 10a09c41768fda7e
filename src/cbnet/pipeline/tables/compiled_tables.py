"""Compiled table files of routers.

One process compiles the tables in memory, so their size is limited. Small ones are collected together: a Spark job for
each of very many routers would take longer than the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import LimitError
from cbnet.matching import Table
from cbnet.pipeline.tables.constraint_rows import constraint_rows

MAX_DESCRIPTORS = 3_000_000  # of all routers together: some 200 bytes each during compilation
_TOGETHER = 300_000  # descriptors of routers that are collected together
_ROUTER_SHIFT = 32  # of a router in the interfaces of several


def compile_tables(
    fib: DataFrame,
    routers: Sequence[int],
    folder: Path,
    *,
    tags: DataFrame | None = None,
    folded: bool = False,
    engine: str = "tags",
    max_descriptors: int = MAX_DESCRIPTORS,
) -> list[Path]:
    """Write a table file for each router, named by its number; return the files in the order of the routers.

    fib: FIB, of one tree, or of several if `folded`; then a message needs the tag of its tree.
    """
    selected = fib.where(F.col("router").isin(*routers))
    counts = {row["router"]: row["count"] for row in selected.groupBy("router").count().collect()}
    if sum(counts.values()) > max_descriptors:
        hint = "list fewer routers, or raise the limit and the memory"
        raise LimitError("descriptors to compile into tables", sum(counts.values()), max_descriptors, hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    for together in _batches(routers, counts):
        rows = _collect(selected.where(F.col("router").isin(*together)), tags, folded)
        for router in together:
            # the descriptors of an interface are minimal already
            Table.from_arrow(_of_router(rows, router), engine=engine, reduce=False).save(folder / f"{router}.cbt")
    return [folder / f"{router}.cbt" for router in routers]


def _batches(routers: Sequence[int], counts: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield routers that have few descriptors together, or one router."""
    batch: list[int] = []
    size = 0
    for router in routers:
        size += counts.get(router, 0)
        if batch and size > _TOGETHER:
            yield batch
            batch, size = [], counts.get(router, 0)
        batch.append(router)
    yield batch


def _collect(fib: DataFrame, tags: DataFrame | None, folded: bool) -> pa.Table:
    """Return the constraints of routers; an interface is a number of its router and its own."""
    interface = F.shiftleft(F.col("router").cast("long"), _ROUTER_SHIFT) + F.col("interface")
    trees = ["tree"] if folded else []
    return constraint_rows(fib.select(interface.alias("interface"), "tags", *trees), tags).toArrow()


def _of_router(rows: pa.Table, router: int) -> pa.Table:
    """Return the constraints of one router, with the numbers of its interfaces."""
    place = rows.schema.get_field_index("interface")
    of_router = rows.filter(pc.equal(pc.shift_right(rows["interface"], _ROUTER_SHIFT), router))
    interfaces = pc.bit_wise_and(of_router["interface"], (1 << _ROUTER_SHIFT) - 1)
    return of_router.set_column(place, "interface", interfaces)
