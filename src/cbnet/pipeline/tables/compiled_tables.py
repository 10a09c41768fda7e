"""Compiled table files of routers.

    fib ─► constraints, by router and part ─► compiled by the executors, a task for each part ─► files

A compiled part stays on the disk of its executor until the driver passes it on to the file system of the folder: the
driver holds the files of one task at a time, and no rows. A router with very many descriptors has several files: a
message matches its table if it matches one of them.

A descriptor is compiled from rows of constraints, one for each tag. Filters have distinct numbers in no order.

    rule  filter  name     op          rule 7: #jazz and #vinyl
    7     0       jazz     #
    7     0       vinyl    #
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, pairwise
from math import ceil
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching import Table
from cbnet.pipeline.schemas import COMPILED, record_batch
from cbnet.pipeline.spark.filesystem import process_folder, upload
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.routing.multitree.folding import TREE_TAG

MAX_FILTERS = 3_000_000  # of a file: some 200 bytes each in the worker that compiles it
UNNAMED = "tag "  # with its number, the name of a tag without a dictionary entry, such as a synthetic one
_CHUNK = 1 << 22  # bytes
_ROUTER_SHIFT = 32  # of a router in the rules of several: its interfaces
_CONSTRAINTS = pa.schema(
    {"rule": pa.int64(), "filter": pa.int64(), "name": pa.string(), "op": pa.string()}
)  # fmt: skip


def compile_tables(
    fib: DataFrame,
    routers: Sequence[int],
    folder: str,
    *,
    tags: DataFrame | None = None,
    folded: bool = False,
    engine: str = "tags",
    max_filters: int = MAX_FILTERS,
) -> dict[int, list[str]]:
    """Write the tables of routers to a folder that Spark can write to; return the names of the files of each.

    fib: FIB, of one tree, or of several if `folded`; then a message needs the tag of its tree. max_filters: of a file.
    """
    with _on_disk(fib.where(F.col("router").isin(*routers))) as entries:
        counts = {row["router"]: row["count"] for row in entries.groupBy("router").count().collect()}
        parts = {router: max(1, ceil(counts.get(router, 0) / max_filters)) for router in routers}
        names = {router: _names(router, count) for router, count in parts.items()}
        draft = process_folder() / "table.cbt"
        # Spark does not merge small partitions of rows that it keeps
        partitions = min(sum(parts.values()), partitions_for(fib.sparkSession, sum(counts.values())))
        with _on_disk(_compiled(entries, parts, tags, folded, engine, partitions)) as compiled:
            compiled.count()  # all parts side by side; the iterator takes one partition after another
            for (router, part), chunks in groupby(compiled.toLocalIterator(), key=itemgetter("router", "part")):
                with draft.open("wb") as file:
                    file.writelines(row["bytes"] for row in chunks)
                upload(fib.sparkSession, draft, f"{folder}/{names[router][part]}")
    for router in parts.keys() - counts.keys():
        Table.from_arrow(_CONSTRAINTS.empty_table(), engine=engine).save(draft)
        upload(fib.sparkSession, draft, f"{folder}/{names[router][0]}")
    return names


@contextmanager
def _on_disk(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep rows on the disks of the executors, once they are computed."""
    try:
        yield frame.persist(StorageLevel.DISK_ONLY)
    finally:
        frame.unpersist()


def _names(router: int, parts: int) -> list[str]:
    return [f"{router}.cbt"] if parts == 1 else [f"{router}-{part}.cbt" for part in range(1, parts + 1)]


def _compiled(
    fib: DataFrame, parts: Mapping[int, int], tags: DataFrame | None, folded: bool, engine: str, partitions: int
) -> DataFrame:
    """Return the compiled parts of tables, in chunks: COMPILED."""
    rule = F.shiftleft(F.col("router").cast("long"), _ROUTER_SHIFT) + F.col("interface")
    trees = ["tree"] if folded else []
    rows = constraint_rows(fib.select(rule.alias("rule"), "tags", *trees), tags)
    rows = rows.withColumn("router", F.shiftright("rule", _ROUTER_SHIFT).cast("int"))
    counts = fib.sparkSession.createDataFrame([*parts.items()], "router int, parts int")
    placed = rows.join(F.broadcast(counts), "router").withColumn("part", F.expr("cast(filter % parts as int)"))
    columns = placed.select("router", "part", *_CONSTRAINTS.names)
    by_part = columns.repartition(partitions, "router", "part").sortWithinPartitions("router", "part")
    return by_part.mapInArrow(partial(_compile_parts, engine=engine), COMPILED)


def _compile_parts(batches: Iterator[pa.RecordBatch], engine: str) -> Iterator[pa.RecordBatch]:
    """Yield the compiled parts of tables, in chunks, from sorted rows."""
    for (router, part), pieces in groupby(_pieces(batches), key=itemgetter(0)):
        rows = pa.Table.from_batches([piece for _, piece in pieces]).select(_CONSTRAINTS.names)
        interfaces = pc.bit_wise_and(rows["rule"], (1 << _ROUTER_SHIFT) - 1)
        for chunk in _compiled_chunks(rows.set_column(0, "rule", interfaces), engine):
            yield record_batch(COMPILED, [router], [part], [chunk])


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[tuple[int, int], pa.RecordBatch]]:
    """Yield the rows of each part of a router's table, with their numbers; a part may have several pieces."""
    for batch in batches:
        keys = np.stack([np.asarray(batch["router"]), np.asarray(batch["part"])])
        starts = [0, *(np.flatnonzero(np.diff(keys).any(axis=0)) + 1).tolist(), batch.num_rows]
        for start, end in pairwise(starts):
            if end > start:
                yield (int(keys[0, start]), int(keys[1, start])), batch.slice(start, end - start)


def _compiled_chunks(constraints: pa.Table, engine: str) -> Iterator[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.cbt"
        # the descriptors of an interface are minimal already
        Table.from_arrow(constraints, engine=engine, reduce=False).save(path)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


def constraint_rows(descriptors: DataFrame, tags: DataFrame | None) -> DataFrame:
    """Return descriptors as constraints: `rule`, `filter`, `name`, `op`.

    descriptors: `rule`, `tags` and optionally `tree`, a number or null. tags: TAGS, or None without a dictionary.
    """
    # Sorted, so that a partition that is recomputed after a failure gets the same numbers.
    numbered = descriptors.sortWithinPartitions(*descriptors.columns)
    numbered = numbered.withColumn("filter", F.monotonically_increasing_id())
    rows = numbered.select("rule", "filter", F.explode(_required(descriptors)).alias("id"))
    if tags is None:
        named = rows.withColumn("name", _default_name())
    else:
        named = rows.join(tags.select("id", "tag"), "id", "left")
        named = named.withColumn("name", F.coalesce(F.col("tag"), _default_name()))
    return named.select("rule", "filter", "name", F.lit("#").alias("op"))


def _required(descriptors: DataFrame) -> Column:
    """Return the tags of a descriptor, and its tree as -1, -2 …; tags are not negative."""
    if "tree" not in descriptors.columns:
        return F.col("tags")
    tree = F.when(F.col("tree").isNull(), F.array().cast("array<int>")).otherwise(F.array(-1 - F.col("tree")))
    return F.concat("tags", tree)


def _default_name() -> Column:
    number = F.abs("id").cast("string")
    return F.when(F.col("id") < 0, F.concat(F.lit(TREE_TAG), number)).otherwise(F.concat(F.lit(UNNAMED), number))
