"""The figures of the introduction [2002 §1]: bytes per constraint, and the speed of a router with 20 interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet_lab import workload
from cbnet_lab.experiments.curves import Metrics, Row, grouped, median, where
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.timing import (
    COUNTING,
    PIVOT,
    SELECTIVE,
    TimedComparison,
    case,
    generated,
    with_unknown_attributes,
)
from cbnet_lab.workload import Forwarding2002

_INTERFACES = 20
_ATTRIBUTES = 10
_LOW, _HIGH = 5, 95  # percentiles
# Filters, c_l and c_h. 250,000 filters with 5 million constraints have 20 each, though §5.1 has 1 to 9. The first two
# readings keep §5.1 and one of the two numbers; they decide. The others have both numbers.
_BY_TEXT = ((250_000, 1, 10), (1_000_000, 1, 10))
_READINGS = (*_BY_TEXT, (250_000, 1, 40), (250_000, 11, 30))


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    times: list[Row] = []
    matched: list[Row] = []
    shared: list[Row] = []
    comparisons = []
    for done, (filters, c_l, c_h) in enumerate(parameters.tables):
        context.progress(done, len(parameters.tables) + 1, f"{filters:,} filters")
        mix = Forwarding2002(
            M=parameters.messages, F=filters, I=_INTERFACES, c_l=c_l, c_h=c_h, a_l=_ATTRIBUTES, a_h=_ATTRIBUTES + 1
        )
        comparison = TimedComparison(generated(mix, context), (COUNTING, SELECTIVE, PIVOT))
        times += [{"c_l": c_l, "c_h": c_h, **row} for row in comparison.rows(parameters.turns, parameters.seconds)]
        counts = np.diff(comparison.match(PIVOT)[0].offsets).tolist()
        matched += [{"filters": filters, "c_l": c_l, "c_h": c_h, "matched": count} for count in counts]
        comparisons.append(comparison)
    comparison = max(comparisons, key=lambda each: len(each.input.columns))
    context.progress(len(parameters.tables), len(parameters.tables) + 1, "names in common")
    for common in parameters.common:  # in the table with the most filters
        data = with_unknown_attributes(comparison.input, common)
        renamed = TimedComparison(data, comparison.methods, comparison.compiled)
        shared += [{"common": common, **row} for row in renamed.rows(parameters.turns, parameters.seconds)]
    return {"times": times, "matched": matched, "shared": shared}


def _reading(filters: int, c_l: int, c_h: int) -> Row:
    return {
        "reading": f"{filters:,} filters of {c_l} to {c_h - 1} constraints",
        "decides": (filters, c_l, c_h) in _BY_TEXT,
    }


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    times = grouped(rows["times"], "filters", "c_l", "c_h")
    matched = grouped(rows["matched"], "filters", "c_l", "c_h")
    spreads = [_reading(*key) | _spread(group) for key, group in matched.items()]
    steps = [
        {
            "us": median(where(group, method=COUNTING.name)),
            "pivot": median(where(group, method=PIVOT.name)),
            "share": median(where(group, method=COUNTING.name), "matched") / _INTERFACES,
        }
        for group in grouped(rows["shared"], "common").values()
    ]
    by_share = sorted(steps, key=lambda step: -step["share"])
    return {
        "times": [
            _reading(*key)
            | {"us": median(where(group, method=SELECTIVE.name)), "pivot": median(where(group, method=PIVOT.name))}
            for key, group in times.items()
        ],
        "not_timed": [_reading(*each)["reading"] for each in _READINGS if each not in times],
        "not_matched": [_reading(*each)["reading"] for each in _READINGS if each not in matched],
        "spreads": spreads,
        "decisive": where(spreads, decides=True),
        "steps": steps,
        "shares": len({round(step["share"], 2) for step in steps}),
        "growth": [{"times": later["us"] / earlier["us"]} for earlier, later in pairwise(by_share)],
    }


def _spread(rows: list[Row]) -> Row:
    low, middle, high = np.percentile([row["matched"] for row in rows], [_LOW, 50, _HIGH]).tolist()
    return {"low": low, "middle": middle, "high": high}


def _charts(rows: Rows, _: Parameters) -> dict[str, list[Row]]:
    return {
        "matched": [
            {"table": _reading(*key)["reading"], "matched": count, "share": 100 * len(group) / len(of_table)}
            for key, of_table in grouped(rows["matched"], "filters", "c_l", "c_h").items()
            for (count,), group in sorted(grouped(of_table, "matched").items())
        ]
    }


INTRODUCTION = experiment("2002-introduction", _run, _metrics, _charts)


# --- bytes per constraint


def _sizes(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    for count in context.track(parameters.filters, lambda count: f"{count:,} filters"):
        for interfaces in parameters.interfaces:
            mix = Forwarding2002(F=count, I=interfaces or None, dictionary=context.dictionary, seed=context.seed)
            columns = columns_from_arrow(workload.filters(mix))
            for engine in ENGINES:
                with TemporaryDirectory(prefix="cbnet-") as folder:
                    size = CompiledTable.build(columns, engine, reduce=False).save(Path(folder) / "table.cbt")
                yield {
                    "case": case(mix), "engine": engine, "filters": count,
                    "constraints": len(columns.words), "bytes": size,
                }  # fmt: skip


def _memory_metrics(rows: Rows, _: Parameters) -> Metrics:
    filters = max(row["filters"] for row in rows["sizes"])
    sizes = [{**row, "each": row["bytes"] / row["constraints"]} for row in where(rows["sizes"], filters=filters)]
    return {"filters": filters, "sizes": sizes, "counting": where(sizes, engine="counting")}


MEMORY = experiment("2002-memory", {"sizes": _sizes}, _memory_metrics)
