"""The files benchmark: `cbnet match` on a Parquet file, compared with DuckDB with the rules as SQL.

Both run in separate processes, with all processors, and write a Parquet file with a column of rules. A sample of the
rows of both is checked by the reference.

For DuckDB, every rule is a CASE expression; the query adds the list of matching rules to each row. The number of rules
grows until a query takes about as long as its time limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cbnet.errors import CbnetError
from cbnet.language import Message
from cbnet.matching import Table, reference
from cbnet.processors import available_processors
from cbnet_lab.bench.plans import FilesPlan, Report
from cbnet_lab.bench.processes import WorkerProcess
from cbnet_lab.bench.result_table import HIDDEN, ResultTable, shown, shown_columns
from cbnet_lab.bench.timing import stopwatch
from cbnet_lab.workload.events import trades, write_trades
from cbnet_lab.workload.standing_rules import Records, standing_filters

_FIRST = 32  # rules
_MAX_GROWTH = 8
_TARGET = 0.85  # share of the time limit that the next query should take
_RECORDS = 50_000  # records from which rules are drawn
_MAX_SHARE = 0.01  # maximum share of rows that a rule matches, approximately
_UNUSED = ["id", "at"]  # columns without rules
_POLL = 0.05  # seconds between two readings of a process's memory


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


@dataclass(frozen=True)
class FilesResult:
    """The measurements."""

    rows: int = shown("rows")
    rules: int = shown("rules")
    file_mb: float = shown("MB of the file")
    compile_s: float = shown("compile s")
    seconds: float = shown("cbnet: seconds")  # of the whole command
    rows_per_second: float = shown("cbnet: rows per second")
    peak_mb: float = shown("cbnet: MB at the peak")
    matches_per_row: float = shown("matches per row")
    duckdb_rules: int = shown("DuckDB: rules in time")  # of the largest query that ended in time; 0 if none did
    duckdb_seconds: float = shown("DuckDB: seconds")
    duckdb_peak_mb: float = shown("DuckDB: MB at the peak")
    checked: int = shown("rows checked by the reference")  # rows
    equal: bool = shown("right")
    speedup: float | None = shown("rules per second, cbnet / DuckDB")
    problem: str | None = field(default=None, metadata=HIDDEN)


def run(plan: FilesPlan, report: Report) -> Iterator[FilesResult]:
    """Measure both, and check a sample of their answers."""
    rows, rules = plan.rows, plan.rules
    with TemporaryDirectory(prefix="cbnet-") as name:
        folder = Path(name)
        data, table_file = folder / "trades.parquet", folder / "rules.cbt"
        tagged, rival_tagged = folder / "tagged.parquet", folder / "duckdb.parquet"
        report(f"generating {rows:,} rows and {rules:,} rules")
        write_trades(data, rows, plan.seed)
        records = Records(trades(0, _RECORDS, plan.seed).drop_columns(_UNUSED))
        filters = standing_filters([records], rules, _MAX_SHARE, plan.seed)
        with stopwatch() as compile_s:
            table = Table.from_arrow(filters)
        table.save(table_file)
        report("matching with cbnet")
        matches, seconds, peak_mb = _match(table_file, data, tagged)
        report(f"matching with DuckDB, {plan.seconds:.0f} s for a query")
        job = (data, rival_tagged, sql_conditions(filters), plan.seconds, available_processors())
        with closing(WorkerProcess("DuckDB", largest_query, *job)) as duckdb:
            duckdb_rules, duckdb_seconds = duckdb.receive()
            duckdb_peak_mb = _peak_mb(duckdb.pid)
        report("checking a sample")
        chosen = np.unique(np.linspace(0, rows - 1, min(plan.sample, rows)).astype(np.int64))
        expected = _expected(data, chosen, table)
        equal = _answers(tagged, chosen) == expected
        if duckdb_rules:
            known = [[rule for rule in row if rule < duckdb_rules] for row in expected]
            equal &= _answers(rival_tagged, chosen) == known
        yield FilesResult(
            rows=rows,
            rules=rules,
            file_mb=data.stat().st_size / 1e6,
            compile_s=compile_s(),
            seconds=seconds,
            rows_per_second=rows / seconds,
            peak_mb=peak_mb,
            matches_per_row=matches / rows,
            duckdb_rules=duckdb_rules,
            duckdb_seconds=duckdb_seconds,
            duckdb_peak_mb=duckdb_peak_mb,
            checked=len(chosen),
            equal=equal,
            speedup=(rules / seconds) / (duckdb_rules / duckdb_seconds) if duckdb_rules else None,
            problem=None if equal else "rows of the sample; please report this",
        )


def tables(_plan: FilesPlan, rows: Sequence[FilesResult]) -> Iterator[ResultTable[FilesResult]]:
    """Yield the measurements."""
    title = "`cbnet match` on a Parquet file, beside DuckDB"
    yield ResultTable(title, rows, shown_columns(FilesResult), is_list=True)


def _match(rules: Path, data: Path, output: Path) -> tuple[int, float, float]:
    """Run `cbnet match`; return the number of matches, its seconds and its peak memory."""
    command = [sys.executable, "-m", "cbnet", "match", "--rules", str(rules), str(data), "-o", str(output), "--json"]
    start, peak = perf_counter(), 0.0
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None:
        peak = max(peak, _peak_mb(process.pid))
        sleep(_POLL)
    seconds = perf_counter() - start
    printed, errors = process.communicate()
    if process.returncode:
        raise CbnetError(f"cbnet match failed: {errors.strip() or printed.strip()}")
    return json.loads(printed)["matches"], seconds, peak


def _peak_mb(pid: int) -> float:
    """Return the highest resident memory of a process so far; 0 where the system does not report it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _expected(data: Path, chosen: Any, table: Table[int]) -> list[list[int]]:
    predicates = {rule: table[rule] for rule in table}
    rows = _rows(data, chosen)
    return [
        reference.match(predicates, Message({name: value for name, value in row.items() if name not in _UNUSED}))
        for row in rows.to_pylist()
    ]


def _answers(path: Path, chosen: Any) -> list[list[int]]:
    return [sorted(rules) for rules in _rows(path, chosen)["rules"].to_pylist()]


def _rows(path: Path, chosen: Any) -> pa.Table:
    """Return some rows of a file, one row group in memory at a time; chosen: ascending."""
    file, parts, first = pq.ParquetFile(path), [], 0
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        here = chosen[(chosen >= first) & (chosen < first + count)] - first
        if len(here):
            parts.append(file.read_row_group(group).take(pa.array(here)))
        first += count
    return pa.concat_tables(parts)
