"""Large constant data on the executors.

The data are one immutable Arrow file, which Spark copies to each host and every Python worker maps: one copy in memory
per host. A broadcast variable would be copied into each worker.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from cbnet.pipeline.spark.filesystem import process_folder


@dataclass(frozen=True)
class ShippedData:
    """The name of an Arrow file that every executor has."""

    name: str

    def table(self) -> pa.Table:
        """Return the table, mapped; to be called in a task."""
        return _map(SparkFiles.get(self.name))


def ship_table(spark: SparkSession, table: pa.Table) -> ShippedData:
    """Send an Arrow table to all executors of a session; equal tables are sent once."""
    draft = process_folder() / "draft"
    with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with draft.open("rb") as file:
        name = f"cbnet-{hashlib.file_digest(file, 'sha256').hexdigest()[:32]}.arrow"
    path = draft.with_name(name)
    if path.exists():
        draft.unlink()  # executors may be reading the other
    else:
        draft.rename(path)
    ship_file(spark, path)
    return ShippedData(name)


def ship_file(spark: SparkSession, path: Path) -> None:
    """Send a file to all executors of a session, once; its name must identify its content, and it must stay there."""
    shipped = _shipped.setdefault(spark.sparkContext.applicationId, set())
    if path.name not in shipped:
        spark.sparkContext.addFile(str(path))
        shipped.add(path.name)


_shipped: dict[str, set[str]] = {}  # application -> names of files


@lru_cache(maxsize=4)
def _map(path: str) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(path)).read_all()
