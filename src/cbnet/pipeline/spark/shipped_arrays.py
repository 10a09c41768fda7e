"""Shipped arrays: how do large constant arrays reach the executors?

As one immutable file, which Spark copies to each host and every Python worker maps: one copy in memory for all of a
host. A broadcast variable would be copied into each worker.

The file is an Arrow file of one row, with a column of one list for each array.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import SparkFiles
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Shipped:
    """The name of a file that every executor has."""

    name: str

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays, mapped; to be called where a task runs."""
        return _mapped(SparkFiles.get(self.name))


def ship(spark: SparkSession, arrays: Mapping[str, NDArray[Any]]) -> Shipped:
    """Give arrays to all executors of a session; equal ones are given once."""
    draft = own_folder() / "draft"
    write_arrays(draft, arrays)
    with draft.open("rb") as file:
        name = f"cbnet-{hashlib.file_digest(file, 'sha256').hexdigest()[:32]}.arrow"
    path = draft.with_name(name)
    if path.exists():
        draft.unlink()  # executors may be reading the other
    else:
        draft.rename(path)
    give_file(spark, path)
    return Shipped(name)


def give_file(spark: SparkSession, path: Path) -> None:
    """Give a file to all executors of a session, once; its name says what is in it, and it must stay there."""
    given = _given.setdefault(spark.sparkContext.applicationId, set())
    if path.name not in given:
        spark.sparkContext.addFile(str(path))
        given.add(path.name)


_given: dict[str, set[str]] = {}  # the files of each application


@cache
def own_folder() -> Path:
    """Return a folder that lives as long as this process: executors fetch from it when they first need a file."""
    folder = Path(tempfile.mkdtemp(prefix="cbnet-shipped-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a file."""
    columns = [
        pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), pa.array(array))
        for array in arrays.values()
    ]
    table = pa.table(columns, names=list(arrays))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


@lru_cache(maxsize=4)
def _mapped(path: str) -> dict[str, NDArray[Any]]:
    batch = pa.ipc.open_file(pa.memory_map(path)).get_batch(0)
    return {name: np.asarray(batch.column(name).values) for name in batch.schema.names}
