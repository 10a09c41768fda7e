"""The files benchmark: `cbnet match` on a Parquet file, beside DuckDB with the rules as SQL.

Both run in processes of their own, with all processors, and write a Parquet file with a column of rules. A sample of
the rows is checked by the reference, for both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
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
from cbnet_lab.bench.matching.duckdb_rival import Job, Run, sql_conditions
from cbnet_lab.workload.events.trades import trades, write_trades
from cbnet_lab.workload.standing_rules import Records, standing_filters

Report = Callable[[str], None]

_RECORDS = 50_000  # from which rules are drawn
_MAX_SHARE = 0.01  # of rows that a rule matches, about
_UNUSED = ["id", "at"]  # columns without rules
_POLL = 0.05  # seconds between two readings of a process's memory


@dataclass(frozen=True)
class FilesResult:
    """The measurements. DuckDB's are None if it is not installed."""

    rows: int
    rules: int
    file_mb: float
    compile_s: float
    seconds: float  # of the whole command
    rows_per_second: float
    peak_mb: float
    matches_per_row: float
    duckdb_rules: int | None
    duckdb_seconds: float | None
    duckdb_peak_mb: float | None
    checked: int  # rows
    equal: bool

    @property
    def speedup(self) -> float | None:
        """How many times more tests of a rule on a row per second than DuckDB."""
        if not self.duckdb_rules or not self.duckdb_seconds:
            return None
        return (self.rules / self.seconds) / (self.duckdb_rules / self.duckdb_seconds)


@dataclass(frozen=True)
class _Process:
    output: str
    seconds: float
    peak_mb: float


def files(rows: int, rules: int, sample: int, seconds: float, seed: int, report: Report) -> FilesResult:
    """Measure; seconds: the time for a query of DuckDB."""
    with TemporaryDirectory(prefix="cbnet-") as name:
        folder = Path(name)
        data, table_file = folder / "trades.parquet", folder / "rules.cbt"
        report(f"generating {rows:,} rows and {rules:,} rules")
        write_trades(data, rows, seed)
        filters = standing_filters([Records(trades(0, _RECORDS, seed).drop_columns(_UNUSED))], rules, _MAX_SHARE, seed)
        start = perf_counter()
        table = Table.from_arrow(filters)
        compile_s = perf_counter() - start
        table.save(table_file)
        tagged, rival_tagged = folder / "tagged.parquet", folder / "duckdb.parquet"
        report("matching with cbnet")
        own = _run(["-m", "cbnet", "match", "--rules", str(table_file), str(data), "-o", str(tagged), "--json"])
        rival, rival_process = _duckdb(data, rival_tagged, filters, seconds, report)
        report("checking a sample")
        chosen = np.unique(np.linspace(0, rows - 1, min(sample, rows)).astype(np.int64))
        expected = _expected(data, chosen, table)
        equal = _answers(tagged, chosen) == expected
        if rival.rules:
            equal &= _answers(rival_tagged, chosen) == [
                [rule for rule in row if rule < rival.rules] for row in expected
            ]
        return FilesResult(
            rows=rows,
            rules=rules,
            file_mb=data.stat().st_size / 1e6,
            compile_s=compile_s,
            seconds=own.seconds,
            rows_per_second=rows / own.seconds,
            peak_mb=own.peak_mb,
            matches_per_row=json.loads(own.output)["matches"] / rows,
            duckdb_rules=rival.rules if rival_process else None,
            duckdb_seconds=rival.seconds if rival_process else None,
            duckdb_peak_mb=rival_process.peak_mb if rival_process else None,
            checked=len(chosen),
            equal=equal,
        )


def _duckdb(data: Path, output: Path, filters: pa.Table, seconds: float, report: Report) -> tuple[Run, _Process | None]:
    if find_spec("duckdb") is None:
        return Run(), None
    report(f"matching with DuckDB, {seconds:.0f} s for a query")
    job = Job(str(data), str(output), sql_conditions(filters), seconds, available_processors())
    process = _run(["-m", "cbnet_lab.bench.matching.duckdb_rival"], json.dumps(asdict(job)))
    return Run(**json.loads(process.output)), process


def _run(arguments: list[str], text: str = "") -> _Process:
    """Run Python with some arguments; return its output, seconds and peak memory."""
    start = perf_counter()
    with TemporaryDirectory(prefix="cbnet-") as folder:
        given = Path(folder) / "input"
        given.write_text(text)
        with given.open() as file:
            process = subprocess.Popen(
                [sys.executable, *arguments], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, _peak_mb(process.pid))
            sleep(_POLL)
        seconds = perf_counter() - start
        output, errors = process.communicate()
    if process.returncode:
        raise CbnetError(f"{' '.join(arguments[:3])} failed: {errors.strip() or output.strip()}")
    return _Process(output, seconds, peak)


def _peak_mb(pid: int) -> float:
    """Return the highest resident memory of a process so far; 0 if the system does not tell."""
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
