"""Match speed: how fast are records matched on Spark, beside the same table without Spark?

The same records, of the same Parquet files, and the same table: on Spark with some cores; and in this process, where
pyarrow reads the files. Seconds of processor time are counted beside those of the wall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from cbnet.errors import CbnetError
from cbnet.lab.bench.cpu import ProcessTreeTime, process_tree_time
from cbnet.matching import Table
from cbnet.pipeline.ingest.readers import read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.match.frame_matcher import match_shipped
from cbnet.pipeline.match.shipped_tables import ship_tables
from cbnet.pipeline.match.worker_counts import WorkerCounts

KEY = "id"
_BATCH = 10_000  # rows, as Spark gives them to Python
_FILES = 8


@dataclass(frozen=True)
class Pass:
    """What one pass over all records took."""

    records: int
    matches: int
    seconds: float
    java_s: float  # processor time of Java,
    python_s: float  # and of Python; that of the kernel is a part of it
    encode_s: float
    kernel_s: float

    @property
    def per_second(self) -> float:
        """Records for each second of the wall."""
        return self.records / self.seconds

    @property
    def per_cpu_second(self) -> float:
        """Records for each second of processor time, of whatever process."""
        return self.records / (self.java_s + self.python_s)

    @property
    def us_kernel(self) -> float:
        """The kernel's own time for a record, in microseconds."""
        return self.kernel_s / self.records * 1e6


def read_kinds(spark: SparkSession, flights: str | None, quotes: str | None) -> list[pa.Table]:
    """Return the records of traces, a table for each kind."""
    named = {"flights": flights, "stockquotes": quotes}
    sources = [Source.of({"preset": preset, "path": path}) for preset, path in named.items() if path is not None]
    return [read(spark, source).rows.toArrow() for source in sources]


def write_records(kinds: list[pa.Table], count: int, folder: Path, seed: int = 0) -> None:
    """Write so many records, each of those given as often as it takes, in a random order and numbered."""
    together = pa.concat_tables(kinds, promote_options="default")
    order = np.random.default_rng(seed).permutation(count) % together.num_rows
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(np.array_split(np.arange(count), _FILES)):
        rows = together.take(pa.array(order[part]))
        pq.write_table(rows.add_column(0, KEY, pa.array(part)), folder / f"{number}.parquet", compression="zstd")


def spark_pass(spark: SparkSession, records: Path, table: Path) -> Pass:
    """Match all records on Spark, and throw the matches away."""
    java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    counts = WorkerCounts.new(spark)
    matched = match_shipped(
        spark.read.parquet(str(records)),
        ship_tables(spark, table, filters=False),
        key=KEY,
        columns=_columns(records),
        add_counts=counts.add,
    )
    before, start = process_tree_time(java), perf_counter()
    matched.write.format("noop").mode("overwrite").save()
    seconds, used = perf_counter() - start, process_tree_time(java) - before
    return _pass(counts, seconds, used)


def _pass(counts: WorkerCounts, seconds: float, used: ProcessTreeTime) -> Pass:
    tally = counts.total()
    return Pass(tally.records, tally.matches, seconds, used.own, used.descendants, tally.encode_s, tally.match_s)


def bare_pass(records: Path, table: Table[int]) -> Pass:
    """Match all records in this process, in one thread, and throw the matches away."""
    start, began = perf_counter(), process_time()
    count = matches = 0
    kernel = 0.0
    for batch in _batches(records):
        before = process_time()
        matches += table.match_arrow(batch).num_rows
        kernel += process_time() - before
        count += batch.num_rows
    return Pass(count, matches, perf_counter() - start, 0.0, process_time() - began, 0.0, kernel)


def _batches(records: Path) -> Iterator[pa.RecordBatch]:
    for file in sorted(records.glob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches(_BATCH, columns=_columns(records), use_threads=False)


def _columns(records: Path) -> list[str]:
    first = next(iter(sorted(records.glob("*.parquet"))))
    return [name for name in pq.read_schema(first).names if name != KEY]


def same_answers(spark: SparkSession, records: Path, table: Path, count: int) -> int:
    """Check that the first records match the same on Spark as without; return how many matches were compared."""
    file = sorted(records.glob("*.parquet"))[0]
    frame = spark.read.parquet(str(file)).where(f"{KEY} < {count}")
    found = _pairs_of(
        match_shipped(frame, ship_tables(spark, table, filters=False), key=KEY, columns=_columns(records))
    )
    rows = pq.read_table(file).slice(0, count).combine_chunks()
    right = Table.open(table).match_arrow(rows.drop_columns([KEY]).to_batches()[0])
    keys = pc.take(rows[KEY], right["row"])
    expected = {*zip(keys.to_pylist(), right["interface"].to_pylist(), strict=True)}
    if found != expected:
        raise CbnetError("on Spark the matches are not those of the table: please report this")
    return len(expected)


def _pairs_of(frame: DataFrame) -> set[tuple[int, int]]:
    rows = frame.toArrow()
    return {*zip(rows[KEY].to_pylist(), rows["interface"].to_pylist(), strict=True)}
