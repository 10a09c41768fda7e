"""The Spark match benchmark: records per second on Spark, without Spark, and with plain Spark SQL.

The records are flights and stock quotes, repeated as needed; the filters are drawn from them. Both are kept in a
folder, so that a second run starts measuring at once. The rivals, which must find the same matches as `match`:

join    filters are rows with a column per attribute and operator, null where a filter has no such constraint;
        records are joined with all of them, so every pair is tested
case    one array of CASE expressions generated from the filters, so every record tests all of them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cbnet.errors import CbnetError, InputError
from cbnet.matching import Table
from cbnet.pipeline.ingest.readers import read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.match.dataframe_matcher import match
from cbnet.pipeline.spark.failures import SPARK_ERRORS
from cbnet.pipeline.spark.session import borrowed_session
from cbnet_lab.bench.parallel_matching import ONE, TWO, matching_processes
from cbnet_lab.bench.plans import Report, SparkPlan
from cbnet_lab.bench.result_table import ResultTable, ratio
from cbnet_lab.bench.spark_passes import KEY, Pass, bare_pass, same_answers, spark_pass, write_records
from cbnet_lab.bench.timing import best_of_rounds
from cbnet_lab.workload.standing_rules import Records, fitted_limit, standing_filters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILTERS, _RECORDS = "cbnet_bench_filters", "cbnet_bench_records"
_WORDS = {"=": "eq", "<=": "le", ">=": "ge", "^=": "starts"}

Rows = dict[int, list[tuple[str, str, str | int | float]]]  # filter -> name, op, value
Method = Callable[["DataFrame"], "DataFrame"]  # from records to pairs of record and rule
_MASTERS = ("local[1]", "local[2]")

_MATCHES = 10.0  # per record
_SAMPLE = 10_000  # records used to fit the filters
_CALIBRATION = 50_000  # records matched by two processes
_CHECKED = 20_000  # records whose matches are compared individually
_ROUNDS = 2


@dataclass(frozen=True)
class RivalTime:
    """The time of one method."""

    method: str
    filters: int
    records: int
    matches: int
    seconds: float
    us_record: float | None = None  # None if it failed
    failure: str = ""  # why it has no result


def compare(
    spark: SparkSession, records: DataFrame, filters: pa.Table, budget: float, report: Callable[[str], None]
) -> list[RivalTime]:
    """Measure `match` on all records and its rivals on as many as fit into `budget` seconds each.

    Records are numbered from 0. The rivals' matches must equal those of `match` on the same records.
    """
    count, rows_by_filter, table = records.count(), _filters_of(filters), Table.from_arrow(filters)

    def measure(name: str, method: Method, some: int) -> tuple[RivalTime, tuple[int, int]]:
        return _measure(name, method, records.where(f"{KEY} < {some}"), len(rows_by_filter), some)

    def ours(rows: DataFrame) -> DataFrame:
        return match(rows, table, key=KEY)

    def rival(name: str, method: Method) -> RivalTime:
        """Measure a rival on few records, then on as many as its budget allows."""
        some = min(count, 1000)
        measure(name, method, min(count, 100))
        first, _ = measure(name, method, some)
        some = min(count, max(some, int(some * budget / max(first.seconds, 1e-3))))
        result, digest = measure(name, method, some)
        if digest != measure(name, ours, some)[1]:
            raise CbnetError(f"internal error: {name} and cbnet match differently; please report this")
        return result

    report(f"cbnet, {len(rows_by_filter):,} filters")
    measure("cbnet", ours, min(count, 1000))
    results = [measure("cbnet", ours, count)[0]]
    methods: dict[str, Method] = {
        "join": lambda rows: _join(spark, rows, rows_by_filter),
        "case": lambda rows: _cases(rows, rows_by_filter),
    }
    for name, method in methods.items():
        report(f"{name}, {len(rows_by_filter):,} filters")
        try:
            results.append(rival(name, method))
        except SPARK_ERRORS as error:
            results.append(RivalTime(name, len(rows_by_filter), 0, 0, 0.0, failure=_reason(str(error))))
    return results


def _measure(
    name: str, method: Method, records: DataFrame, filters: int, count: int
) -> tuple[RivalTime, tuple[int, int]]:
    """Return the time of a method and a digest of its matches: their number and the sum of their hashes."""
    start = perf_counter()
    hashes = f"CAST(xxhash64({KEY}, rule) AS DECIMAL(38, 0))"
    [row] = method(records).selectExpr("count(*)", f"coalesce(sum({hashes}), 0)").collect()
    seconds = perf_counter() - start
    return RivalTime(name, filters, count, row[0], seconds, seconds / count * 1e6), (row[0], int(row[1]))


def _reason(text: str) -> str:
    """Return the root cause in a Java stack trace."""
    causes = [line.strip() for line in text.splitlines() if line.startswith("Caused by: ")] or text.splitlines()[:1]
    return causes[-1].removeprefix("Caused by: ") if causes else "no reason given"


def _filters_of(filters: pa.Table) -> Rows:
    found: Rows = {}
    for row in filters.to_pylist():
        value = next(row[kind] for kind in ("string", "int", "float") if row[kind] is not None)
        found.setdefault(row["rule"], []).append((row["name"], row["op"], value))
    return found


def _join(spark: SparkSession, records: DataFrame, filters: Rows) -> DataFrame:
    types = {(name, op): type(value) for constraints in filters.values() for name, op, value in constraints}
    names = {pair: f"{_WORDS[pair[1]]}_{pair[0]}" for pair in types}
    rows = [
        {names[name, op]: value for name, op, value in constraints} | {"rule": i} for i, constraints in filters.items()
    ]
    sql = {str: "string", int: "bigint", float: "double"}
    schema = ", ".join(["rule bigint", *(f"`{names[pair]}` {sql[kind]}" for pair, kind in types.items())])
    frame = spark.createDataFrame([[row.get(n) for n in ("rule", *names.values())] for row in rows], schema)
    frame.createOrReplaceTempView(_FILTERS)
    records.createOrReplaceTempView(_RECORDS)
    tests = [
        f"(f.`{column}` IS NULL OR {_test(f'r.`{name}`', op, f'f.`{column}`')})" for (name, op), column in names.items()
    ]
    query = f"SELECT /*+ BROADCAST(f) */ r.{KEY}, f.rule FROM {_RECORDS} r JOIN {_FILTERS} f ON "
    return spark.sql(query + " AND ".join(tests))


def _test(value: str, op: str, constant: str) -> str:
    return f"startswith({value}, {constant})" if op == "^=" else f"{value} {op} {constant}"


def _cases(records: DataFrame, filters: Rows) -> DataFrame:
    cases = [
        f"CASE WHEN {' AND '.join(map(_sql, constraints))} THEN {rule}L END" for rule, constraints in filters.items()
    ]
    return records.selectExpr(KEY, f"explode(filter(array({', '.join(cases)}), x -> x IS NOT NULL)) AS rule")


def _sql(constraint: tuple[str, str, str | int | float]) -> str:
    name, op, value = constraint
    constant = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if isinstance(value, str) else _number(value)
    return _test(f"`{name}`", op, constant)


def _number(value: float) -> str:
    return f"{value!r}D" if isinstance(value, float) else f"{value}L"


@dataclass(frozen=True)
class SpeedBound:
    """The check of the passes, and the upper bound of the speed-up with two cores."""

    two_processes: float  # speed-up of two independent processes over one
    checked: int  # matches compared individually


Result = Pass | SpeedBound | RivalTime


def run(plan: SparkPlan, report: Report) -> Iterator[Result]:
    """Measure the speed of matching, then the rivals."""
    with TemporaryDirectory(prefix="cbnet-bench-") as own:
        given = replace(plan, folder=plan.folder or own)
        if plan.records:
            yield from speed(given, _MASTERS, report)
        if plan.rival_records:
            yield from rivals(given, _MASTERS[-1], report)


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


def rivals(given: SparkPlan, master: str, report: Report) -> Iterator[RivalTime]:
    """Measure `match` and plain Spark SQL, for several numbers of filters."""
    kinds = _kinds(given, master)
    folder = _records(given, kinds, given.rival_records)
    with _session(given, master) as spark:
        records = spark.read.parquet(str(folder)).cache()
        for number in given.rival_filters:
            yield from compare(spark, records, _filters(given, kinds, number), given.budget, report)


def tables(_plan: SparkPlan, rows: Sequence[Result]) -> Iterator[str | ResultTable[Pass] | ResultTable[RivalTime]]:
    """Yield the speed of each pass, and the times of the rivals."""
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
    times = [row for row in rows if isinstance(row, RivalTime)]
    if times:
        ours = {row.filters: row.us_record for row in times if row.method == "cbnet"}
        yield ResultTable("Compared with plain Spark SQL, same answers", times, {
            "method": "method",
            "filters": "filters",
            "records": "records",
            "seconds": "seconds",
            "µs/record": "us_record",
            "× cbnet": lambda row: ratio(row.us_record, ours[row.filters]),
            "failure": "failure",
        })  # fmt: skip
