"""Bytes per constraint of a table [2002 §1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet_lab.experiments.curves import Metrics, Row, where
from cbnet_lab.experiments.experiment import ExperimentContext, Rows, experiment
from cbnet_lab.experiments.timing import case
from cbnet_lab.workload import Forwarding2002, filters


@dataclass(frozen=True)
class MemoryParameters2002:
    """Filters per table, and interfaces (0: one per filter)."""

    filters: tuple[int, ...]
    interfaces: tuple[int, ...] = (20, 0)


def _sizes(parameters: MemoryParameters2002, context: ExperimentContext) -> Iterator[Row]:
    for count in context.track(parameters.filters, lambda count: f"{count:,} filters"):
        for interfaces in parameters.interfaces:
            mix = Forwarding2002(F=count, I=interfaces or None, dictionary=context.dictionary, seed=context.seed)
            columns = columns_from_arrow(filters(mix))
            for engine in ENGINES:
                with TemporaryDirectory(prefix="cbnet-") as folder:
                    size = CompiledTable.build(columns, engine, reduce=False).save(Path(folder) / "table.cbt")
                yield {
                    "case": case(mix), "engine": engine, "filters": count,
                    "constraints": len(columns.words), "bytes": size,
                }  # fmt: skip


def _metrics(rows: Rows, _: MemoryParameters2002) -> Metrics:
    filters = max(row["filters"] for row in rows["sizes"])
    sizes = [{**row, "each": row["bytes"] / row["constraints"]} for row in where(rows["sizes"], filters=filters)]
    return {"filters": filters, "sizes": sizes, "counting": where(sizes, engine="counting")}


EXPERIMENT = experiment("2002-memory", MemoryParameters2002, {"sizes": _sizes}, _metrics)
