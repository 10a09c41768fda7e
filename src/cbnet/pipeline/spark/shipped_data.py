"""Large constant data on the executors.

The data are one immutable Arrow file, which Spark copies to each host and every Python worker maps: one copy in memory
per host. A broadcast variable would be copied into each worker.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from cbnet.pipeline.spark.filesystem import process_folder
from cbnet.pipeline.spark.session_target import is_connect


@dataclass(frozen=True)
class ShippedData:
    """The name of an Arrow file that every executor has."""

    name: str

    def table(self) -> pa.Table:
        """Return the table, mapped; to be called in a task."""
        return _map(shipped_path(self.name))


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
    """Send a file to all workers of a session, once; its name must identify its content, and it must stay there."""
    session: Any = spark
    shipped = _shipped.setdefault(
        session.session_id if is_connect(spark) else session._jsparkSession.sessionUUID(), set()
    )
    if path.name not in shipped:
        spark.addArtifact(str(path), file=True)  # unlike addFile, this works under Spark Connect too
        shipped.add(path.name)


_shipped: dict[str, set[str]] = {}  # session -> names of files


def shipped_path(name: str) -> str:
    """Return the path of a shipped file; to be called in a task."""
    path = Path(SparkFiles.get(name))
    if path.exists():
        return str(path)
    # Streams under Spark Connect: the file is in a folder of their session, whose name the worker does not know.
    return str(next(path.parent.glob(f"*/{name}"), path))


def has_other_hosts(spark: SparkSession) -> bool:
    """Return whether workers may run on another host, where the files of this one are not."""
    return is_connect(spark) or not re.fullmatch(r"local(\[.*\])?", str(spark.sparkContext.master))


@lru_cache(maxsize=4)
def _map(path: str) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(path)).read_all()
