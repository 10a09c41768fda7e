"""Compiled tables: how does the table of a router become one file that is matched with?

A table is compiled by one process, which holds it in memory, as the router that will use it does. So there is a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import LimitError
from cbnet.matching import Table
from cbnet.pipeline.tables.constraint_rows import constraint_rows

MAX_DESCRIPTORS = 3_000_000  # of one router, and of all together: some 200 bytes each while they are compiled


def compile_tables(
    fib: DataFrame,
    routers: Sequence[int],
    folder: Path,
    *,
    tags: DataFrame | None = None,
    folded: bool = False,
    engine: str = "tags",
    most: int = MAX_DESCRIPTORS,
) -> list[Path]:
    """Write a table file for each router, with its number as name; return the files, in the order of the routers.

    fib: FIB, of one tree; or of several, if it is `folded`: then a message needs the tag of its tree, too.
    """
    wanted = fib.where(F.col("router").isin(*routers))
    count = wanted.count()
    if count > most:
        hint = "name fewer routers, or give a higher limit and more memory"
        raise LimitError("descriptors to compile into tables", count, most, hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    return [_compile(wanted, router, folder / f"{router}.cbt", tags, folded, engine) for router in routers]


def _compile(fib: DataFrame, router: int, path: Path, tags: DataFrame | None, folded: bool, engine: str) -> Path:
    columns = ["interface", "tags", *(["tree"] if folded else [])]
    rows = constraint_rows(fib.where(F.col("router") == router).select(*columns), tags)
    filters = rows.withColumn("interface", F.col("interface").cast("long")).toArrow()
    # nothing is left to reduce: the descriptors of an interface are minimal
    Table.from_arrow(filters, engine=engine, reduce=False).save(path)
    return path
