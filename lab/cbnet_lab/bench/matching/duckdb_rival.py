"""The rival of `cbnet match` on files: DuckDB, with the rules as one SQL query, in a process of its own.

Every rule is a CASE expression; the query adds the list of those that hold to each row, and writes a Parquet file as
`cbnet match` does. The number of rules grows until a query takes about the time that is given to it.
Run as a program, this module reads a `Job` from standard input and prints a `Run`, both as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

_FIRST = 32  # rules
_MAX_GROWTH = 8
_TARGET = 0.85  # of the time, for the next query


@dataclass(frozen=True)
class Job:
    """What DuckDB has to do."""

    rows: str  # Parquet file
    output: str
    rules: list[str]  # SQL conditions; a rule is known by its index
    seconds: float  # for one query
    threads: int


@dataclass(frozen=True)
class Run:
    """The largest query that ended in time."""

    rules: int = 0
    seconds: float = 0.0


def sql_conditions(filters: pa.Table) -> list[str]:
    """Return the SQL condition of each filter, from an Arrow table with one row per constraint."""
    conditions: dict[int, list[str]] = {}
    for row in filters.to_pylist():
        conditions.setdefault(row["filter"], []).append(_constraint(row))
    return [" and ".join(conditions[number]) for number in sorted(conditions)]


def _constraint(row: Mapping[str, Any]) -> str:
    value = next(value for value in (row["string"], row["int"], row["float"]) if value is not None)
    constant = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
    return f"starts_with({row['name']}, {constant})" if row["op"] == "^=" else f"{row['name']} {row['op']} {constant}"


def largest_run(job: Job) -> Run:
    """Run queries with more and more rules, and leave the output of the largest one."""
    best, count = Run(), min(_FIRST, len(job.rules))
    while count > best.rules:
        seconds = _tag(job, count)
        if seconds is None:
            return best
        best = Run(count, seconds)
        growth = min(_MAX_GROWTH, _TARGET * job.seconds / seconds)
        count = min(len(job.rules), int(count * growth))
        if growth < 1.2:
            break
    return best


def _tag(job: Job, count: int) -> float | None:
    """Return the seconds of a query with the first rules, or None if it does not end in time."""
    import duckdb  # here only: its binding reports leaks at the end of every process that loads it

    cases = ", ".join(f"case when {rule} then {number} end" for number, rule in enumerate(job.rules[:count]))
    query = f"select *, list_filter([{cases}], lambda x: x is not null) as rules from read_parquet('{job.rows}')"
    connection = duckdb.connect(config={"threads": job.threads})
    timer = threading.Timer(job.seconds, connection.interrupt)
    timer.start()
    start = perf_counter()
    try:
        connection.execute(f"copy ({query}) to '{job.output}.new' (format parquet)")
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        return None
    finally:
        timer.cancel()
        connection.close()
    seconds = perf_counter() - start
    Path(f"{job.output}.new").replace(job.output)
    return seconds


if __name__ == "__main__":
    print(json.dumps(asdict(largest_run(Job(**json.load(sys.stdin))))))
