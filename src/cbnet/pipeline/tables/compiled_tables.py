"""Compiled table files of routers.

One process compiles a table in memory, so its size is limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import LimitError
from cbnet.matching import Table
from cbnet.pipeline.tables.constraint_rows import constraint_rows

MAX_DESCRIPTORS = 3_000_000  # of all routers together: some 200 bytes each during compilation


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
    count = selected.count()
    if count > max_descriptors:
        hint = "list fewer routers, or raise the limit and the memory"
        raise LimitError("descriptors to compile into tables", count, max_descriptors, hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    return [_compile(selected, router, folder / f"{router}.cbt", tags, folded, engine) for router in routers]


def _compile(fib: DataFrame, router: int, path: Path, tags: DataFrame | None, folded: bool, engine: str) -> Path:
    columns = ["interface", "tags", *(["tree"] if folded else [])]
    rows = constraint_rows(fib.where(F.col("router") == router).select(*columns), tags)
    filters = rows.withColumn("interface", F.col("interface").cast("long")).toArrow()
    # the descriptors of an interface are minimal already
    Table.from_arrow(filters, engine=engine, reduce=False).save(path)
    return path
