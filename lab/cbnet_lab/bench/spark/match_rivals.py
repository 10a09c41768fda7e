"""Rivals of `match`: the same matching written in plain Spark SQL.

join    filters are rows with a column per attribute and operator, null where a filter has no such constraint;
        records are joined with all of them, so every pair is tested
case    one array of CASE expressions generated from the filters, so every record tests all of them

Both must find the same matches as `match`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa

from cbnet.errors import CbnetError
from cbnet.matching import Table
from cbnet.pipeline.match.dataframe_matcher import match
from cbnet.pipeline.spark.failures import SPARK_ERRORS
from cbnet_lab.bench.spark.match_speed import KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILTERS, _RECORDS = "cbnet_bench_filters", "cbnet_bench_records"
_WORDS = {"=": "eq", "<=": "le", ">=": "ge", "^=": "starts"}

Rows = dict[int, list[tuple[str, str, str | int | float]]]  # filter -> name, op, value
Method = Callable[["DataFrame"], "DataFrame"]  # from records to pairs of record and rule


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
