"""The rival of `cbnet match` on files: DuckDB, with the rules as one SQL query, in a process of its own.

Every rule is a CASE expression; the query adds the list of matching rules to each row, and writes a Parquet file as
`cbnet match` does. The number of rules grows until a query takes about as long as its time limit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

_FIRST = 32  # rules
_MAX_GROWTH = 8
_TARGET = 0.85  # share of the time limit that the next query should take


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


def largest_query(pipe: Connection, rows: Path, output: Path, rules: Sequence[str], limit: float, threads: int) -> None:
    """Run queries with increasing numbers of rules; keep the output of the largest that ends within `limit` seconds.

    Send its number of rules and its seconds to the pipe, and wait until it closes. rules: SQL conditions.
    """
    best, count = (0, 0.0), min(_FIRST, len(rules))
    while count > best[0]:
        seconds = _tag(rows, output, rules[:count], limit, threads)
        if seconds is None:
            break
        best = (count, seconds)
        growth = min(_MAX_GROWTH, _TARGET * limit / seconds)
        if growth < 1.2:
            break
        count = min(len(rules), int(count * growth))
    pipe.send(best)
    pipe.recv()


def _tag(rows: Path, output: Path, rules: Sequence[str], limit: float, threads: int) -> float | None:
    """Return the seconds of a query, or None if it does not end in time."""
    import duckdb  # not at the top: its binding reports leaks at the end of every process that loads it

    cases = ", ".join(f"case when {rule} then {number} end" for number, rule in enumerate(rules))
    query = f"select *, list_filter([{cases}], lambda x: x is not null) as rules from read_parquet('{rows}')"
    connection = duckdb.connect(config={"threads": threads})
    timer = threading.Timer(limit, connection.interrupt)
    timer.start()
    start = perf_counter()
    try:
        connection.execute(f"copy ({query}) to '{output}.new' (format parquet)")
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        return None
    finally:
        timer.cancel()
        connection.close()
    seconds = perf_counter() - start
    Path(f"{output}.new").replace(output)
    return seconds
