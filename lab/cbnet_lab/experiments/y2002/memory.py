"""Bytes per constraint of a table [2002 §1]."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Forwarding2002, filters

_PAPER_BYTES = 48
_PAPER_FILTERS = 250_000
_BYTES = ClaimRule(
    19, f"at most {_PAPER_BYTES} bytes per constraint by counting, with {_PAPER_FILTERS:,} filters or more"
)
_SMALL = 1000  # filters; in a smaller table the names take most bytes


@dataclass(frozen=True)
class MemoryParameters2002:
    """Filters per table, and interfaces (0: one per filter)."""

    filters: tuple[int, ...]
    interfaces: tuple[int, ...] = (20, 0)


def _run(parameters: MemoryParameters2002, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    for done, count in enumerate(parameters.filters):
        context.progress(done, len(parameters.filters), f"{count:,} filters")
        for interfaces in parameters.interfaces:
            mix = Forwarding2002(F=count, I=interfaces or None, dictionary=dictionary(context), seed=context.seed)
            columns = columns_from_arrow(filters(mix))
            rows += [
                {
                    "case": f"I = {interfaces}" if interfaces else "I = F", "engine": engine, "filters": count,
                    "constraints": len(columns.words),
                    "bytes": _size(CompiledTable.build(columns, engine, reduce=False)),
                }
                for engine in ENGINES
            ]  # fmt: skip
    return {"sizes": as_table(rows)}


def _size(compiled: CompiledTable) -> int:
    with TemporaryDirectory(prefix="cbnet-") as folder:
        return compiled.save(Path(folder) / "table.cbt")


def _findings(tables: Tables, _: MemoryParameters2002) -> list[Finding]:
    rows = tables["sizes"].to_pylist()
    largest = where(rows, filters=max(row["filters"] for row in rows))
    each = {(row["case"], row["engine"]): row["bytes"] / row["constraints"] for row in largest}
    ours = ", ".join(f"{engine} {size:.1f} ({case})" for (case, engine), size in each.items())
    ours += f", with {largest[0]['filters']:,} filters"
    worst = max(size for (_, engine), size in each.items() if engine == "counting")
    if worst <= _PAPER_BYTES and largest[0]["filters"] < _PAPER_FILTERS:
        return [_BYTES.unmeasured(ours, f"the largest table has {largest[0]['filters']:,} filters")]
    return [_BYTES.decide(ours, worst <= _PAPER_BYTES, "larger than the paper's table")]


def _charts(tables: Tables, _: MemoryParameters2002) -> list[Chart]:
    labelled = [
        {**row, "series": f"{row['engine']}, {row['case']}", "each": row["bytes"] / row["constraints"]}
        for row in tables["sizes"].to_pylist()
        if row["filters"] >= _SMALL
    ]
    return [
        Chart(
            "memory", "Bytes per constraint", as_table(labelled), "constraints", "each", series="series",
            x_log=True, x_title="constraints", y_title="bytes per constraint",
            references=(("the paper's 48 bytes", float(_PAPER_BYTES)),),
            description="Bytes per constraint by number of constraints, for both engines.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-memory",
    title="Bytes per constraint of a table",
    paper="2002",
    section="§1",
    claims=(19,),
    scales={
        "quick": MemoryParameters2002((1000, 10_000, 50_000)),
        "full": MemoryParameters2002((1000, 10_000, 100_000, 250_000)),
        "paper": MemoryParameters2002((1000, 10_000, 100_000, 250_000, 1_000_000)),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("The size of the table's file, which is mapped into memory, with all names, constants and interfaces.",),
    inputs=("traces",),
)
