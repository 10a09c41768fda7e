"""Passes over the same records with the same table, on Spark and in this process.

In this process pyarrow reads the same Parquet files. Processor time is measured as well as wall time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cbnet.errors import CbnetError
from cbnet.matching import Table
from cbnet.pipeline.match.dataframe_matcher import match_shipped, new_observation, observe_counts, observed_counts
from cbnet.pipeline.match.shipped_tables import ship_tables
from cbnet_lab.bench.timing import process_tree_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "id"
WITHOUT_SPARK = "without Spark"
_BATCH = 10_000  # rows, as Spark passes them to Python
_FILES = 8


@dataclass(frozen=True)
class Pass:
    """The cost of one pass over all records."""

    way: str  # a Spark master, or without Spark
    filters: int
    records: int
    matches: int
    seconds: float
    java_s: float  # processor time of Java
    python_s: float  # processor time of Python, including the kernel
    encode_s: float
    kernel_s: float
    us_kernel: float  # per record

    @property
    def per_second(self) -> float:
        """Records per second of wall time."""
        return self.records / self.seconds

    @property
    def per_cpu_second(self) -> float:
        """Records per second of processor time of all processes."""
        return self.records / (self.java_s + self.python_s)


def write_records(kinds: list[pa.Table], count: int, folder: Path, seed: int = 0) -> None:
    """Write `count` numbered records, repeating those in `kinds` as needed, in random order."""
    together = pa.concat_tables(kinds, promote_options="default")
    order = np.random.default_rng(seed).permutation(count) % together.num_rows
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(np.array_split(np.arange(count), _FILES)):
        rows = together.take(pa.array(order[part]))
        pq.write_table(rows.add_column(0, KEY, pa.array(part)), folder / f"{number}.parquet", compression="zstd")


def spark_pass(spark: SparkSession, master: str, filters: int, records: Path, table: Path) -> Pass:
    """Match all records on Spark and discard the matches."""
    java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    tables = ship_tables(spark, table, filters=False)
    rows = match_shipped(spark.read.parquet(str(records)), tables, key=KEY, columns=_columns(records), is_counted=True)
    observation = new_observation()
    matched = observe_counts(rows, observation)
    (java_before, python_before), start = process_tree_time(java), perf_counter()
    matched.write.format("noop").mode("overwrite").save()
    seconds, (java_s, python_s) = perf_counter() - start, process_tree_time(java)
    total = observed_counts(observation)
    return Pass(
        master, filters, total.records, total.matches, seconds, java_s - java_before, python_s - python_before,
        total.encode_s, total.match_s, total.match_s / total.records * 1e6,
    )  # fmt: skip


def bare_pass(filters: int, records: Path, table: Table[int]) -> Pass:
    """Match all records in this process, in one thread, and discard the matches."""
    start, cpu_start = perf_counter(), process_time()
    count = matches = 0
    kernel = 0.0
    for batch in _batches(records):
        before = process_time()
        matches += len(pc.list_flatten(table.match_frame(batch)))
        kernel += process_time() - before
        count += batch.num_rows
    seconds, cpu = perf_counter() - start, process_time() - cpu_start
    return Pass(WITHOUT_SPARK, filters, count, matches, seconds, 0.0, cpu, 0.0, kernel, kernel / count * 1e6)


def _batches(records: Path) -> Iterator[pa.RecordBatch]:
    for file in sorted(records.glob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches(_BATCH, columns=_columns(records), use_threads=False)


def _columns(records: Path) -> list[str]:
    return [name for name in pq.read_schema(min(records.glob("*.parquet"))).names if name != KEY]


def same_answers(spark: SparkSession, records: Path, table: Path, count: int) -> int:
    """Check that matches on Spark equal those of the table; return the number compared."""
    file = min(records.glob("*.parquet"))
    frame = spark.read.parquet(str(file)).where(f"{KEY} < {count}")
    tables = ship_tables(spark, table, filters=False)
    pairs = match_shipped(frame, tables, key=KEY, columns=_columns(records)).toArrow()
    found = {*zip(pairs[KEY].to_pylist(), pairs["rule"].to_pylist(), strict=True)}
    rows = pq.read_table(file).slice(0, count).combine_chunks()
    answers = Table.open(table).match_frame(rows.drop_columns([KEY])).to_pylist()
    expected = {(key, interface) for key, row in zip(rows[KEY].to_pylist(), answers, strict=True) for interface in row}
    if found != expected:
        raise CbnetError("internal error: matches on Spark differ from those of the table; please report this")
    return len(expected)
