"""Comparisons in the constraint index, for numbers and for strings [2002 §4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import pyarrow as pa

from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, grouped, slope, where
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002
from cbnet.lab.workload.words import words
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines import counting
from cbnet.matching.engines.registry import CountingMatcher
from cbnet.matching.storage.columns import Columns, columns_of_filters

_NUMBER_OPS = (Op.EQ, Op.LT)
_STRING_OPS = (Op.EQ, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING, Op.LT, Op.GT)
_STEADY = 0.25  # exponent by which the work may grow with the table beyond the bound


@dataclass(frozen=True)
class IndexParameters:
    """Constraints of the index, lengths of looked-up strings, look-ups, and filters for one index against many."""

    numbers: tuple[int, ...] = (500, 3000, 20_000)
    strings: tuple[int, ...] = (300, 1500, 8000)
    lengths: tuple[int, ...] = (4, 8, 16, 32, 64)
    lookups: int = 40
    filters: int = 20_000
    messages: int = 100


def _run(parameters: IndexParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    context.progress(0, 3, "numbers")
    numbers = [*_numbers(parameters)]
    context.progress(1, 3, "strings")
    strings = [*_strings(parameters, context)]
    context.progress(2, 3, "one index against many")
    return {
        "numbers": as_table(numbers),
        "strings": as_table(strings),
        "united": as_table([*_united(parameters, context)]),
    }


def _index(constraints: Sequence[Constraint]) -> CompiledTable:
    """Return a counting index with one filter per constraint, all of one interface."""
    filters = [(0, Filter([each])) for each in constraints]
    return CompiledTable.build(columns_of_filters([0], filters), "counting", reduce=False)


def _numbers(parameters: IndexParameters) -> Iterator[Row]:
    """Yield the comparisons of a value with sorted bounds, for values that satisfy few and many of them."""
    for count in parameters.numbers:
        bounds = range(0, 2 * count, 2)
        compiled = _index([Constraint("x", op, bound) for op in _NUMBER_OPS for bound in bounds])
        for value in np.linspace(-1, 2 * count + 1, parameters.lookups).astype(int).tolist():
            work = _work(compiled, {"x": value})
            yield {
                "constraints": count * len(_NUMBER_OPS),
                "output": work["constraints"],
                "comparisons": work["comparisons"],
            }


def _strings(parameters: IndexParameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the nodes of the trie that strings of some lengths visit."""
    rng = np.random.default_rng(context.seed)
    known = words(max(parameters.strings), f"index {context.seed}", dictionary(context))
    for count in parameters.strings:
        compiled = _index([Constraint("x", op, word) for op in _STRING_OPS for word in known[:count]])
        for length in parameters.lengths:
            for _ in range(parameters.lookups):
                text = "".join(rng.choice(known, size=length // 3 + 1))[:length]
                work = _work(compiled, {"x": text})
                yield {
                    "constraints": count * len(_STRING_OPS),
                    "length": length,
                    "output": work["constraints"],
                    "nodes": work["nodes"],
                }


def _united(parameters: IndexParameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the work on strings with one index for all operators, and with one index per operator."""
    mix = Forwarding2002(
        M=parameters.messages, F=parameters.filters, I=None, dictionary=dictionary(context), seed=context.seed
    )
    data = bench_input(mix, lambda _: None)
    compiled = CompiledTable.build(data.columns, "counting", reduce=False)
    for name, matcher in (("one", compiled.index), ("one per operator", _separate(compiled, data.columns))):
        offsets, targets, work = matcher.index.match_batch(compiled.encode(data.members), 0, len(data.members), 0)
        yield {"index": name, "nodes": work["nodes"], "matched": len(targets), "messages": len(offsets) - 1}


def _separate(compiled: CompiledTable, columns: Columns) -> CountingMatcher:
    arrays = {**compiled.arrays, **counting.build(columns, one_string_index=False)}
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return CountingMatcher(compiled.symbols, arrays, compiled.metadata["interfaces"])


def _work(compiled: CompiledTable, members: dict[str, object]) -> dict[str, int]:
    work: dict[str, int] = compiled.index.index.match_batch(compiled.encode([members]), 0, 1, 0, False)[2]
    return work


def _findings(tables: Tables, _: IndexParameters) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [_optimal(rows["numbers"]), _trie(rows["strings"]), _fewer(rows["united"])]


def _optimal(rows: list[Row]) -> Finding:
    comparisons_of = {
        size: max(row["comparisons"] for row in group) for (size,), group in grouped(rows, "constraints").items()
    }
    bounds = {size: len(_NUMBER_OPS) * (log2(size / len(_NUMBER_OPS)) + 1) for size in comparisons_of}
    ours = ", ".join(
        f"at most {comparisons} comparisons among {size:,} (2 searches: {bounds[size]:.0f})"
        for size, comparisons in comparisons_of.items()
    )
    ours += (
        f", for {min(row['output'] for row in rows):,} to {max(row['output'] for row in rows):,} constraints that hold"
    )
    if all(comparisons <= bounds[size] for size, comparisons in comparisons_of.items()):
        return Finding(24, ours, "holds")
    return Finding(24, ours, "fails", "more comparisons than one binary search per operator")


def _trie(rows: list[Row]) -> Finding:
    shares = {
        key: float(np.mean([row["nodes"] for row in group])) / (key[1] * (log2(key[0]) + key[1]))
        for key, group in grouped(rows, "constraints", "length").items()
    }
    largest = max(size for size, _ in shares)
    longest = max(length for _, length in shares)
    by_length = slope({length: _nodes(rows, largest, length) for length in sorted({key[1] for key in shares})})
    by_size = slope({size: _nodes(rows, size, longest) for size in sorted({key[0] for key in shares})})
    ours = (
        f"{min(shares.values()):.2f} to {max(shares.values()):.2f} times l (log2 N + l) nodes; exponents "
        f"{by_length:.2f} of the length, {by_size:.2f} of the constraints"
    )
    if max(shares.values()) <= 1:
        return Finding(25, ours, "holds")
    if by_length <= 2 + _STEADY and by_size <= _STEADY:
        return Finding(25, ours, "holds")
    return Finding(25, ours, "fails", "it grows faster than the bound")


def _nodes(rows: list[Row], constraints: int, length: int) -> float:
    return float(np.mean([row["nodes"] for row in where(rows, constraints=constraints, length=length)]))


def _fewer(rows: list[Row]) -> Finding:
    nodes = {row["index"]: row["nodes"] for row in rows}
    one, many = nodes.values()
    ours = f"{one:,} nodes in one index, {many:,} in one per operator ({many / one:.1f} times as many)"
    if len({row["matched"] for row in rows}) > 1:
        return Finding(26, ours, "fails", "the answers differ")
    return Finding(26, ours, "holds" if one < many else "fails", "" if one < many else "one index visits more")


def _charts(tables: Tables, _: IndexParameters) -> list[Chart]:
    rows = tables["strings"].to_pylist()
    means = [
        {"table": f"{constraints:,} constraints", "length": length, "nodes": _nodes(rows, constraints, length)}
        for constraints, length in grouped(rows, "constraints", "length")
    ]
    numbers = [{**row, "table": f"{row['constraints']:,} constraints"} for row in tables["numbers"].to_pylist()]
    return [
        Chart(
            "strings", "Trie nodes visited by a string", as_table(means), "length", "nodes", series="table",
            x_log=True, y_log=True, x_title="length of the string", y_title="nodes",
            description="Nodes visited by length of the string, a line for each size of the index.",
        ),
        Chart(
            "numbers", "Comparisons of a number, by constraints that hold", as_table(numbers), "output", "comparisons",
            kind="points", series="table", x_title="constraints that hold", y_title="comparisons",
            description="Comparisons by number of constraints that hold: constant for each size of the index.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-index",
    title="Work of a look-up in the index",
    paper="2002",
    section="§4.2",
    claims=(24, 25, 26),
    scales={
        "quick": IndexParameters(),
        "full": IndexParameters(
            (1000, 10_000, 100_000, 1_000_000), (1000, 10_000, 60_000), (4, 8, 16, 32, 64, 128), 300, 100_000
        ),
        "paper": IndexParameters(
            (1000, 10_000, 100_000, 1_000_000), (1000, 10_000, 60_000), (4, 8, 16, 32, 64, 128), 1000, 1_000_000
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The constraints that a number satisfies are one range of a sorted array, so its size costs no comparisons.",
        "A looked-up string consists of words of the same dictionary, joined and cut to its length.",
        "The rank of a number among all constants of the table is computed before, once per attribute.",
    ),
)
