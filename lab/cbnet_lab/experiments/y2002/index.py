"""Comparisons in the constraint index, for numbers and for strings [2002 §4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import pyarrow as pa

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines import counting
from cbnet.matching.engines.registry import CountingMatcher
from cbnet.matching.storage.columns import Columns, columns_of_filters
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped, slope, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Forwarding2002
from cbnet_lab.workload.vocabulary.words import words

_NUMBER_OPS = (Op.EQ, Op.LT)
_STRING_OPS = (Op.EQ, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING, Op.LT, Op.GT)
_SEARCHES = len(_NUMBER_OPS) + 1  # one per operator, and one for the rank among all constants
_FLAT = 0.1  # exponent of N by which work divided by its bound may grow

_OPTIMAL = ClaimRule(
    24,
    f"the steps of all searches, that for the rank among all constants included, are at most {_SEARCHES} (log2 N + 1) "
    "and independent of the output",
)
_ONE_TRIE = ClaimRule(
    25,
    f"at most l (log2 N + l) nodes for every length l and N strings, and this share grows with N to a power of at most "
    f"{_FLAT}",
)
_UNITED = ClaimRule(26, "one index visits fewer nodes than one per operator, with the same answers")


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
                "rank_steps": work["rank_steps"],
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
                    "strings": count,
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
    texts, above, growing = [], [], []
    for (size,), group in grouped(rows, "constraints").items():
        steps = [row["comparisons"] + row["rank_steps"] for row in group]
        bound = _SEARCHES * (log2(size / len(_NUMBER_OPS)) + 1)
        texts.append(f"at most {max(steps)} steps among {size:,} (bound {bound:.0f})")
        above += [size] * (max(steps) > bound)
        most = max(group, key=lambda row: int(row["output"]))
        growing += [size] * bool(most["comparisons"] + most["rank_steps"] > np.median(steps) + len(_NUMBER_OPS))
    outputs = [row["output"] for row in rows]
    ours = ", ".join(texts) + f", for {min(outputs):,} to {max(outputs):,} constraints that hold"
    reason = f"more steps than {_SEARCHES} searches" if above else "more steps for a larger output"
    return _OPTIMAL.decide(ours, not above and not growing, reason)


def _trie(rows: list[Row]) -> Finding:
    shares = {
        key: float(np.mean([row["nodes"] for row in group])) / (key[1] * (log2(key[0]) + key[1]))
        for key, group in grouped(rows, "strings", "length").items()
    }
    largest = max(size for size, _ in shares)
    lengths, sizes = (sorted({key[place] for key in shares}) for place in (1, 0))
    by_length = slope({length: _nodes(rows, largest, length) for length in lengths})
    by_size = {length: slope({size: shares[size, length] for size in sizes}) for length in lengths}
    ours = (
        f"{min(shares.values()):.2f} to {max(shares.values()):.2f} times l (log2 N + l) nodes; exponent of the length "
        f"{by_length:.2f}; of N, in this share, at most {max(by_size.values()):.2f}"
    )
    holds = max(shares.values()) <= 1 and max(by_size.values()) <= _FLAT
    return _ONE_TRIE.decide(ours, holds, "more nodes than the bound, or growing faster with N")


def _nodes(rows: list[Row], strings: int, length: int) -> float:
    return float(np.mean([row["nodes"] for row in where(rows, strings=strings, length=length)]))


def _fewer(rows: list[Row]) -> Finding:
    nodes = {row["index"]: row["nodes"] for row in rows}
    one, many = nodes.values()
    ours = f"{one:,} nodes in one index, {many:,} in one per operator ({many / one:.1f} times as many)"
    if len({row["matched"] for row in rows}) > 1:
        return _UNITED.fails(ours, "the answers differ")
    return _UNITED.decide(ours, one < many, "one index does not visit fewer")


def _charts(tables: Tables, _: IndexParameters) -> list[Chart]:
    rows = tables["strings"].to_pylist()
    means = [
        {"table": f"{strings:,} strings", "length": length, "nodes": _nodes(rows, strings, length)}
        for strings, length in grouped(rows, "strings", "length")
    ]
    numbers = [
        {"table": f"{row['constraints']:,} constraints", "output": row["output"]}
        | {"comparisons": row["comparisons"] + row["rank_steps"]}
        for row in tables["numbers"].to_pylist()
    ]
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
        "The rank of a number among all constants of the table is searched once per attribute; its steps count.",
        "N is the number of strings in the index; each has a constraint for every operator.",
    ),
    inputs=("traces",),
)
