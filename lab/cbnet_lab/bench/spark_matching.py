"""The Spark match benchmark: records per second on Spark, and without it.

The records are flights and stock quotes, repeated as needed; the filters are drawn from them. Both are kept in a
folder, so that a second run starts measuring at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cbnet.errors import InputError
from cbnet.matching import Table
from cbnet.pipeline.ingest.readers import read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.spark.session import borrowed_session
from cbnet_lab.bench.parallel_matching import ONE, TWO, matching_processes
from cbnet_lab.bench.plans import Report, SparkPlan
from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.bench.spark_passes import KEY, Pass, bare_pass, same_answers, spark_pass, write_records
from cbnet_lab.bench.timing import best_of_rounds
from cbnet_lab.workload.standing_rules import Records, fitted_limit, standing_filters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTERS = ("local[1]", "local[2]")

_MATCHES = 10.0  # per record
_SAMPLE = 10_000  # records used to fit the filters
_CALIBRATION = 50_000  # records matched by two processes
_CHECKED = 20_000  # records whose matches are compared individually
_ROUNDS = 2


@dataclass(frozen=True)
class SpeedBound:
    """The check of the passes, and the upper bound of the speed-up with two cores."""

    two_processes: float  # speed-up of two independent processes over one
    checked: int  # matches compared individually


Result = Pass | SpeedBound


def run(plan: SparkPlan, report: Report) -> Iterator[Result]:
    """Measure the speed of matching."""
    with TemporaryDirectory(prefix="cbnet-bench-") as own:
        yield from speed(replace(plan, folder=plan.folder or own), _MASTERS, report)


def _session(given: SparkPlan, master: str) -> AbstractContextManager[SparkSession]:
    return borrowed_session("cbnet bench", master=master, conf=given.conf)


def _kinds(given: SparkPlan, master: str) -> list[pa.Table]:
    """Return the records of each kind, read by Spark once and kept in the folder."""
    folder = Path(given.folder or ".")
    paths = {"flights": given.flights, "stockquotes": given.quotes}  # by preset
    files = {preset: folder / f"{preset}.parquet" for preset, path in paths.items() if path is not None}
    if not files:
        raise InputError("no records to match", hint="give --flights, --quotes or both")
    folder.mkdir(parents=True, exist_ok=True)
    if not all(file.exists() for file in files.values()):
        with _session(given, master) as spark:
            for preset, file in files.items():
                source = Source.of({"preset": preset, "path": paths[preset]})
                pq.write_table(read(spark, source).rows.toArrow(), file)
    return [pq.read_table(file) for file in files.values()]


def _records(given: SparkPlan, kinds: list[pa.Table], count: int) -> Path:
    folder = Path(given.folder or ".", f"records-{count}")
    if not (folder / "done").exists():
        write_records(kinds, count, folder, given.seed)
        (folder / "done").touch()
    return folder


def _filters(given: SparkPlan, kinds: list[pa.Table], count: int) -> pa.Table:
    file = Path(given.folder or ".", f"filters-{count}-{given.seed}.parquet")
    if not file.exists():
        together = pa.concat_tables(kinds, promote_options="default")
        rows = np.random.default_rng(given.seed).integers(together.num_rows, size=_SAMPLE)
        sample = together.take(pa.array(rows)).combine_chunks().to_batches()[0]
        records = [Records(kind) for kind in kinds]
        limit = fitted_limit(records, sample, count, _MATCHES, drawn=min(count, 20_000), seed=given.seed)
        pq.write_table(standing_filters(records, count, limit, given.seed), file)
    return pq.read_table(file)


def _table(given: SparkPlan, kinds: list[pa.Table], count: int) -> Path:
    file = Path(given.folder or ".", f"table-{count}-{given.seed}.cbt")
    if not file.exists():
        Table.from_arrow(_filters(given, kinds, count)).save(file)
    return file


def speed(given: SparkPlan, masters: Sequence[str], report: Report) -> Iterator[Pass | SpeedBound]:
    """Measure records per second without Spark, then on Spark with each master."""
    report("generating records and filters")
    kinds = _kinds(given, masters[0])
    records, table = _records(given, kinds, given.records), _table(given, kinds, given.filters)
    opened: Table[int] = Table.open(table)
    checked = 0
    for master in masters:
        bare, passes = [], []
        with _session(given, master) as spark:
            report(f"{master}: comparing answers")
            checked = same_answers(spark, records, table, min(_CHECKED, given.records))
            for index in range(_ROUNDS):
                report(f"{master}: round {index + 1} of {_ROUNDS}")
                passes.append(spark_pass(spark, master, given.filters, records, table))
                if master == masters[0]:
                    report(f"without Spark: round {index + 1} of {_ROUNDS}")
                    bare.append(bare_pass(given.filters, records, opened))
        yield from (min(rounds, key=lambda one: one.seconds) for rounds in (bare, passes) if rounds)
    report("two independent processes")
    first = pq.read_table(sorted(records.glob("*.parquet"))[0]).slice(0, _CALIBRATION).drop_columns([KEY])
    with matching_processes(table, first.combine_chunks().to_batches()[0]) as methods:
        best = best_of_rounds(methods, 0.5)
    yield SpeedBound(best[ONE] / best[TWO], checked)


def tables(_plan: SparkPlan, rows: Sequence[Result]) -> Iterator[str | ResultTable[Pass]]:
    """Yield the speed of each pass."""
    passes = [row for row in rows if isinstance(row, Pass)]
    if passes:
        first = passes[0]
        matches = f"{first.matches / first.records:.1f} matches each"
        yield ResultTable(f"{first.records:,} records, {first.filters:,} filters, {matches}", passes, {
            "": "way",
            "records/s": "per_second",
            "× without Spark": lambda row: row.per_second / first.per_second,
            "seconds": "seconds",
            "CPU s Java": "java_s",
            "CPU s Python": "python_s",
            "records/CPU s": "per_cpu_second",
            "× without Spark, CPU": lambda row: row.per_cpu_second / first.per_cpu_second,
            "kernel µs": "us_kernel",
        })  # fmt: skip
    for bound in (row for row in rows if isinstance(row, SpeedBound)):
        yield f"Two independent processes are {bound.two_processes:.2f} times as fast as one: the bound for two cores."
        yield f"{bound.checked:,} matches were compared one by one and are equal."
