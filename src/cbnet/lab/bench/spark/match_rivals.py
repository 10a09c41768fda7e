"""Match rivals: what would one write today, to match records with filters on Spark alone?

join    the filters are rows, with a column for each attribute and operator, null where a filter does not ask; the
        records are joined with all of them: each pair is tried
case    one array of CASE expressions, generated from the filters: each record tries them all

Both must find what `match` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import CbnetError
from cbnet.lab.bench.spark.match_speed import KEY
from cbnet.matching import Table
from cbnet.pipeline.match.frame_matcher import match

_SQL = {"=": "=", "<=": "<=", ">=": ">="}
_WORDS = {"=": "eq", "<=": "le", ">=": "ge", "^=": "starts"}

Rows = dict[int, list[tuple[str, str, str | int | float]]]  # filter -> name, op, value


@dataclass(frozen=True)
class Measured:
    """How long one way took."""

    way: str
    filters: int
    records: int
    matches: int
    seconds: float
    failure: str = ""  # why it has no answer

    @property
    def us_record(self) -> float:
        """Microseconds for a record; no end of them, if it failed."""
        return inf if self.failure else self.seconds / self.records * 1e6


def compare(
    spark: SparkSession, records: DataFrame, filters: pa.Table, budget: float, report: Callable[[str], None]
) -> list[Measured]:
    """Measure `match` and its rivals on as many of the records as fit into so many seconds for each rival.

    Records are numbered from 0. The answers must be the same where both have been asked.
    """
    count = records.count()
    asked = _filters_of(filters)
    table = Table.from_arrow(filters)
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {
        "join": lambda rows: _joined(spark, rows, asked),
        "case": lambda rows: _cases(rows, asked),
    }
    report(f"cbnet, {len(asked):,} filters")
    _measured("cbnet", lambda rows: match(rows, table, key=KEY), records.where(f"{KEY} < 1000"), len(asked), 1000)
    results = [_measured("cbnet", lambda rows: match(rows, table, key=KEY), records, len(asked), count)[0]]
    for name, way in ways.items():
        report(f"{name}, {len(asked):,} filters")
        try:
            results.append(_rival(name, way, records, table, (len(asked), count), budget))
        except (PySparkException, Py4JError) as error:
            results.append(Measured(name, len(asked), 0, 0, 0.0, failure=_reason(str(error))))
    return results


def _rival(
    name: str,
    way: Callable[[DataFrame], DataFrame],
    records: DataFrame,
    table: Table[int],
    sizes: tuple[int, int],
    budget: float,
) -> Measured:
    """Measure a rival on few records, and then on as many as it has time for."""
    filters, count = sizes
    some = min(count, 1000)
    _measured(name, way, records.where(f"{KEY} < {min(count, 100)}"), filters, some)
    first, _ = _measured(name, way, records.where(f"{KEY} < {some}"), filters, some)
    some = min(count, max(some, int(some * budget / max(first.seconds, 1e-3))))
    asked = records.where(f"{KEY} < {some}")
    result, digest = _measured(name, way, asked, filters, some)
    if digest != _measured(name, lambda rows: match(rows, table, key=KEY), asked, filters, some)[1]:
        raise CbnetError(f"{name} and cbnet match differently: please report this")
    return result


def _measured(
    way: str, work: Callable[[DataFrame], DataFrame], records: DataFrame, filters: int, count: int
) -> tuple[Measured, tuple[int, int]]:
    """Return the time of a way, and a digest of what it finds: the number of matches, and a sum of their hashes."""
    start = perf_counter()
    hashed = F.xxhash64(F.col(KEY), F.col("interface")).cast("decimal(38,0)")
    [row] = work(records).agg(F.count("*"), F.coalesce(F.sum(hashed), F.lit(0))).collect()
    return Measured(way, filters, count, row[0], perf_counter() - start), (row[0], int(row[1]))


def _reason(text: str) -> str:
    """Return the last cause that a trace of Java names."""
    causes = [line.strip() for line in text.splitlines() if line.startswith("Caused by: ")] or text.splitlines()[:1]
    return causes[-1].removeprefix("Caused by: ") if causes else "no reason is told"


def _filters_of(filters: pa.Table) -> Rows:
    found: Rows = {}
    for row in filters.to_pylist():
        value = next(row[kind] for kind in ("string", "int", "float") if row[kind] is not None)
        found.setdefault(row["interface"], []).append((row["name"], row["op"], value))
    return found


def _joined(spark: SparkSession, records: DataFrame, filters: Rows) -> DataFrame:
    types = {(name, op): type(value) for said in filters.values() for name, op, value in said}
    names = {asked: f"{_WORDS[asked[1]]}_{asked[0]}" for asked in types}
    rows = [{names[name, op]: value for name, op, value in said} | {"interface": i} for i, said in filters.items()]
    sql = {str: "string", int: "bigint", float: "double"}
    schema = ", ".join(["interface bigint", *(f"`{names[asked]}` {sql[kind]}" for asked, kind in types.items())])
    frame = spark.createDataFrame([[row.get(n) for n in ("interface", *names.values())] for row in rows], schema)
    condition = F.lit(True)
    for (name, op), column in names.items():
        condition &= F.col(f"f.`{column}`").isNull() | _test(F.col(f"r.`{name}`"), op, F.col(f"f.`{column}`"))
    return records.alias("r").join(F.broadcast(frame).alias("f"), condition).select(f"r.{KEY}", "f.interface")


def _test(value: Column, op: str, constant: Column) -> Column:
    tests = {"=": value == constant, "<=": value <= constant, ">=": value >= constant, "^=": value.startswith(constant)}
    return tests[op]


def _cases(records: DataFrame, filters: Rows) -> DataFrame:
    cases = [f"CASE WHEN {' AND '.join(map(_said, said))} THEN {interface}L END" for interface, said in filters.items()]
    found = F.expr(f"filter(array({', '.join(cases)}), x -> x IS NOT NULL)")
    return records.select(KEY, F.explode(found).alias("interface"))


def _said(constraint: tuple[str, str, str | int | float]) -> str:
    name, op, value = constraint
    constant = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if isinstance(value, str) else _number(value)
    return f"startswith(`{name}`, {constant})" if op == "^=" else f"`{name}` {_SQL[op]} {constant}"


def _number(value: float) -> str:
    return f"{value!r}D" if isinstance(value, float) else f"{value}L"
