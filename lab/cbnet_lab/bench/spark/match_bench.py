"""The Spark match benchmark: records per second on Spark, without Spark, and with plain Spark SQL.

The records are flights and stock quotes, repeated as needed; the filters are drawn from them. Both are kept in a
folder, so that a second run starts measuring at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cbnet.errors import InputError
from cbnet.matching import Table
from cbnet.pipeline.spark.session import borrowed_session
from cbnet_lab.bench.parallel_matching import ONE, TWO, matching_processes
from cbnet_lab.bench.spark.match_rivals import RivalTime, compare
from cbnet_lab.bench.spark.match_speed import KEY, Pass, bare_pass, read_kinds, same_answers, spark_pass, write_records
from cbnet_lab.bench.spark.standing_limit import fitted_limit
from cbnet_lab.bench.timing import best_of_rounds
from cbnet_lab.workload.standing_rules import Records, standing_filters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str], None]

_MATCHES = 10.0  # per record
_SAMPLE = 10_000  # records used to fit the filters
_CALIBRATION = 50_000  # records matched by two processes
_CHECKED = 20_000  # records whose matches are compared individually
_ROUNDS = 2


@dataclass(frozen=True)
class SparkBenchInput:
    """Input files, the working folder, and the configuration of Spark."""

    flights: str | None
    quotes: str | None
    folder: Path
    conf: Mapping[str, str]
    seed: int = 0


@dataclass(frozen=True)
class Speed:
    """The best rounds over the same records and table: without Spark, and on Spark with several masters."""

    filters: int
    checked: int  # matches compared individually
    bare: Pass
    on_spark: Mapping[str, Pass]  # by master
    two_processes: float  # speed-up of two independent processes over one: the upper bound


@contextmanager
def _session(given: SparkBenchInput, master: str) -> Iterator[SparkSession]:
    with borrowed_session("cbnet bench", master=master, conf=given.conf) as spark:
        yield spark


def _kinds(given: SparkBenchInput, master: str) -> list[pa.Table]:
    """Return the records of each kind, read by Spark once and kept in the folder."""
    if given.flights is None and given.quotes is None:
        raise InputError("no records to match", hint="give --flights, --quotes or both")
    given.folder.mkdir(parents=True, exist_ok=True)
    names = [name for name, path in (("flights", given.flights), ("quotes", given.quotes)) if path is not None]
    files = [given.folder / f"{name}.parquet" for name in names]
    if not all(file.exists() for file in files):
        with _session(given, master) as spark:
            for file, kind in zip(files, read_kinds(spark, given.flights, given.quotes), strict=True):
                pq.write_table(kind, file)
    return [pq.read_table(file) for file in files]


def _records(given: SparkBenchInput, kinds: list[pa.Table], count: int) -> Path:
    folder = given.folder / f"records-{count}"
    if not (folder / "done").exists():
        write_records(kinds, count, folder, given.seed)
        (folder / "done").touch()
    return folder


def _filters(given: SparkBenchInput, kinds: list[pa.Table], count: int) -> pa.Table:
    file = given.folder / f"filters-{count}-{given.seed}.parquet"
    if not file.exists():
        together = pa.concat_tables(kinds, promote_options="default")
        rows = np.random.default_rng(given.seed).integers(together.num_rows, size=_SAMPLE)
        sample = together.take(pa.array(rows)).combine_chunks().to_batches()[0]
        records = [Records(kind) for kind in kinds]
        limit = fitted_limit(records, sample, count, _MATCHES, drawn=min(count, 20_000), seed=given.seed)
        pq.write_table(standing_filters(records, count, limit, given.seed), file)
    return pq.read_table(file)


def _table(given: SparkBenchInput, kinds: list[pa.Table], count: int) -> Path:
    file = given.folder / f"table-{count}-{given.seed}.cbt"
    if not file.exists():
        Table.from_arrow(_filters(given, kinds, count)).save(file)
    return file


def speed(given: SparkBenchInput, count: int, filters: int, masters: Sequence[str], report: Report) -> Speed:
    """Measure records per second on Spark and without it."""
    report("generating records and filters")
    kinds = _kinds(given, masters[0])
    records, table = _records(given, kinds, count), _table(given, kinds, filters)
    bare, found = [], {}
    opened: Table[int] = Table.open(table)
    checked = 0
    for master in masters:
        with _session(given, master) as spark:
            report(f"{master}: comparing answers")
            checked = same_answers(spark, records, table, min(_CHECKED, count))
            passes = []
            for index in range(_ROUNDS):
                report(f"{master}: round {index + 1} of {_ROUNDS}")
                passes.append(spark_pass(spark, records, table))
                if master == masters[0]:
                    report(f"without Spark: round {index + 1} of {_ROUNDS}")
                    bare.append(bare_pass(records, opened))
            found[master] = min(passes, key=lambda one: one.seconds)
    report("two independent processes")
    return Speed(filters, checked, min(bare, key=lambda one: one.seconds), found, _calibrate(records, table))


def _calibrate(records: Path, table: Path) -> float:
    first = pq.read_table(sorted(records.glob("*.parquet"))[0]).slice(0, _CALIBRATION).drop_columns([KEY])
    with matching_processes(table, first.combine_chunks().to_batches()[0]) as methods:
        best = best_of_rounds(methods, 0.5)
    return best[ONE] / best[TWO]


def rivals(
    given: SparkBenchInput, count: int, filters: Sequence[int], master: str, budget: float, report: Report
) -> list[RivalTime]:
    """Measure `match` beside plain Spark SQL, for several numbers of filters."""
    kinds = _kinds(given, master)
    folder = _records(given, kinds, count)
    results = []
    with _session(given, master) as spark:
        records = spark.read.parquet(str(folder)).cache()
        for number in filters:
            results += compare(spark, records, _filters(given, kinds, number), budget, report)
    return results
