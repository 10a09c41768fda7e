"""Savings of the constraint index and of the short-circuit by interface [2001 §4.1, §4.3, §5]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log

from cbnet_lab.bench.bench_input import BenchInput
from cbnet_lab.bench.matching.oracle import Oracle
from cbnet_lab.bench.timing import cpu_seconds_of
from cbnet_lab.experiments.curves import Metrics, Row, grouped, median, medians, ratio, where
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Rows, experiment
from cbnet_lab.experiments.timing import (
    COUNTING,
    PIVOT,
    MatchMethod,
    TimedComparison,
    generated,
    with_unknown_attributes,
)
from cbnet_lab.workload import Forwarding2001

_OFF = MatchMethod("counting, no short-circuit", short_circuit=False)
_SCAN = "scan of all filters"
_MANY = 10  # matching filters per interface
_PASSES = 5


def _short_circuits(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield times with and without the short-circuit."""
    for filters in context.track(parameters.filters, lambda filters: f"{filters:,} filters"):
        each = generated(_mix(parameters, filters, None), context)
        answer, _ = TimedComparison(each, (PIVOT,)).match(PIVOT)
        matching = len(answer.targets) / len(each.members)
        for interfaces in parameters.interfaces:
            data = generated(_mix(parameters, filters, interfaces), context)
            for row in TimedComparison(data, (COUNTING, _OFF, PIVOT)).rows(parameters.turns, parameters.seconds):
                yield {**row, "matching": matching}


def _mix(parameters: Parameters, filters: int, interfaces: int | None) -> Forwarding2001:
    return Forwarding2001(N=parameters.messages, F=filters, I=interfaces, A=parameters.names)


def _disjoint(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield times without a common name, for growing numbers of filters, attributes of a message, or names."""
    middle = parameters.filters[len(parameters.filters) // 2]
    base = replace(_mix(parameters, middle, parameters.interfaces[-1]), AN=(10, 10))
    cases = [("filters", filters, replace(base, F=filters)) for filters in parameters.filters]
    cases += [("attributes", count, replace(base, AN=(count, count))) for count in parameters.attributes]
    cases += [("names", names, replace(base, A=names)) for names in parameters.all_names]
    for grown, value, mix in cases:
        data = with_unknown_attributes(generated(mix, context), 0)
        for row in _single(data, parameters):
            yield {"grown": grown, "value": value, **row}


def _single(data: BenchInput, parameters: Parameters) -> Iterator[Row]:
    """Yield the times of messages matched one by one, which include looking up their names, and their work."""
    comparison = TimedComparison(data, (COUNTING, PIVOT))
    for method, (answer, work) in zip(comparison.methods, comparison.checked(), strict=True):
        compiled = comparison.compiled[method.engine]
        for turn in range(parameters.turns):
            spent = cpu_seconds_of(lambda: [compiled.match(members) for members in data.members], _PASSES)  # noqa: B023
            yield {
                "method": method.name, "turn": turn, "postings": work["postings"],
                "matched": len(answer.targets), "us": spent / len(data.members) * 1e6,
            }  # fmt: skip


def _scan(oracle: Oracle, data: BenchInput, parameters: Parameters) -> Iterator[Row]:
    """Yield the times of a scan, with a different message each turn."""
    for turn, members in enumerate(data.members[: parameters.turns]):
        spent = cpu_seconds_of(lambda: oracle.candidates(members), _PASSES)  # noqa: B023
        yield {"method": _SCAN, "turn": turn, "us": spent * 1e6}


def _common(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the times with the index and with a scan for messages of 10 attributes, by names in common."""
    mix = replace(_mix(parameters, parameters.scanned, parameters.interfaces[-1]), AN=(10, 10))
    data = generated(mix, context)
    oracle = Oracle(data.filters)
    for common in parameters.common:
        renamed = with_unknown_attributes(data, common)
        yield from ({"common": common, **row} for row in _single(renamed, parameters))
        yield from ({"common": common, **row} for row in _scan(oracle, renamed, parameters))


def _rivals(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the times of both engines and of a scan in one table with an interface per filter."""
    data = generated(_mix(parameters, parameters.scanned, None), context)
    for row in TimedComparison(data, (COUNTING, PIVOT)).rows(parameters.turns, parameters.seconds):
        yield {key: row[key] for key in ("filters", "method", "turn", "us")}
    yield from ({"filters": len(data.columns), **row} for row in _scan(Oracle(data.filters), data, parameters))


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    return {
        **_growth(rows["disjoint"]), **_savings(rows["common"]), **_factors(rows["short"]), **_on_a_par(rows["rivals"])
    }  # fmt: skip


def _growth(rows: list[Row]) -> Metrics:
    """Return the growth of the time relative to the growth of attributes × log(names)."""
    expected: dict[str, Callable[[float], float]] = {"filters": lambda _: 1, "attributes": float, "names": log}
    growing = []
    for (grown,), group in grouped(where(rows, method=COUNTING.name), "grown").items():
        curve = medians(group, "value")
        few, many = min(curve), max(curve)
        times = curve[many] / curve[few] * expected[grown](few) / expected[grown](many)
        growing.append({"grown": grown, "few": few, "many": many, "first": curve[few], "last": curve[many]})
        growing[-1] |= {"times": times}
    return {
        "postings": max(row["postings"] for row in rows), "matches": max(row["matched"] for row in rows),
        "growing": growing, "growing_filters": where(growing, grown="filters"),
        "growing_others": [row for row in growing if row["grown"] != "filters"],
    }  # fmt: skip


def _savings(rows: list[Row]) -> Metrics:
    """Return the times with no and with all names in common, with the index and with a scan."""
    index, scan = (medians(where(rows, method=method), "common") for method in (COUNTING.name, _SCAN))
    none, every = min(index), max(index)
    return {
        "none": none, "every": every, "index_none": index[none], "index_every": index[every],
        "scan_none": scan[none], "scan_every": scan[every],
        "over_every": index[none] / index[every], "over_scan": index[none] / scan[none],
    }  # fmt: skip


def _factors(rows: list[Row]) -> Metrics:
    """Return the ratios of the time without the short-circuit to the time with it."""
    factors = [
        {"interfaces": interfaces, "filters": filters, "matching": group[0]["matching"] / interfaces}
        | ratio(group, _OFF.name, COUNTING.name)
        for (interfaces, filters), group in grouped(rows, "interfaces", "filters").items()
    ]
    many = [row for row in factors if row["matching"] >= _MANY]
    ends = []
    for group in grouped(factors, "interfaces").values():
        small, large = (end(group, key=lambda row: int(row["filters"])) for end in (min, max))
        ends.append({"growth": large["middle"] / small["middle"]})
    return {
        "factors": factors, "many": many, "costs": 1 / min(row["middle"] for row in factors) - 1, "ends": ends,
        "too_small": sorted({row["interfaces"] for row in factors} - {row["interfaces"] for row in many}),
    }  # fmt: skip


def _on_a_par(rows: list[Row]) -> Metrics:
    counting, pivot, scan = (median(where(rows, method=each)) for each in (COUNTING.name, PIVOT.name, _SCAN))
    return {
        "par_filters": rows[0]["filters"], "par_us": counting, "over_pivot": counting / pivot,
        "of_scan": counting / scan,
    }  # fmt: skip


_TABLES = {"short": _short_circuits, "disjoint": _disjoint, "common": _common, "rivals": _rivals}
EXPERIMENT = experiment("2001-summary", _TABLES, _metrics)
