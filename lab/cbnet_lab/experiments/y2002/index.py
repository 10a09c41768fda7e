"""Comparisons in the constraint index, for numbers and for strings [2002 §4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2

import numpy as np

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines import counting
from cbnet.matching.engines.registry import CountingMatcher
from cbnet.matching.storage.columns import Columns, columns_of_filters
from cbnet_lab.experiments.curves import Metrics, Row, grouped, slope
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Rows, experiment
from cbnet_lab.experiments.timing import generated
from cbnet_lab.workload import Forwarding2002
from cbnet_lab.workload.vocabulary import words

_NUMBER_OPS = (Op.EQ, Op.LT)
_STRING_OPS = (Op.EQ, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING, Op.LT, Op.GT)
_SEARCHES = len(_NUMBER_OPS) + 1  # one per operator, and one for the rank among all constants


def _index(constraints: Sequence[Constraint]) -> CompiledTable:
    """Return a counting index with one filter per constraint, all of one interface."""
    filters = [(0, Filter([each])) for each in constraints]
    return CompiledTable.build(columns_of_filters([0], filters), "counting", reduce=False)


def _numbers(parameters: Parameters, _: ExperimentContext) -> Iterator[Row]:
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
                "steps": work["comparisons"] + work["rank_steps"],
            }


def _strings(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the nodes of the trie that strings of some lengths visit."""
    rng = np.random.default_rng(context.seed)
    known = words(max(parameters.strings), f"index {context.seed}", context.dictionary)
    for count in parameters.strings:
        compiled = _index([Constraint("x", op, word) for op in _STRING_OPS for word in known[:count]])
        for length in parameters.lengths:
            for _ in range(parameters.lookups):
                text = "".join(rng.choice(known, size=length // 3 + 1))[:length]
                work = _work(compiled, {"x": text})
                yield {"strings": count, "length": length, "output": work["constraints"], "nodes": work["nodes"]}


def _united(parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the work on strings with one index for all operators, and with one index per operator."""
    data = generated(Forwarding2002(M=parameters.messages, F=parameters.filters, I=None), context)
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


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    outputs = [row["output"] for row in rows["numbers"]]
    one, many = rows["united"]
    return {
        "searches": [_search(size, group) for (size,), group in grouped(rows["numbers"], "constraints").items()],
        "least_output": min(outputs), "most_output": max(outputs), **_trie(rows["strings"]),
        "one": one["nodes"], "many": many["nodes"], "times": many["nodes"] / one["nodes"],
        "other_matches": abs(one["matched"] - many["matched"]),
    }  # fmt: skip


def _search(size: int, rows: list[Row]) -> Row:
    """Return the most steps of a search, over its bound, and the steps beyond the median for the largest output."""
    steps = [row["comparisons"] + row["rank_steps"] for row in rows]
    bound = _SEARCHES * (log2(size / len(_NUMBER_OPS)) + 1)
    most = max(rows, key=lambda row: int(row["output"]))
    more = most["comparisons"] + most["rank_steps"] - float(np.median(steps))
    return {"constraints": size, "steps": max(steps), "bound": bound, "share": max(steps) / bound, "more": more}


def _trie(rows: list[Row]) -> Metrics:
    """Return the nodes that strings visit over l (log2 N + l), and the exponents of l and N."""
    groups = grouped(rows, "strings", "length")
    nodes = {key: float(np.mean([row["nodes"] for row in group])) for key, group in groups.items()}
    shares = {(n, length): each / (length * (log2(n) + length)) for (n, length), each in nodes.items()}
    sizes, lengths = (sorted({key[place] for key in nodes}) for place in (0, 1))
    return {
        "least_share": min(shares.values()), "most_share": max(shares.values()),
        "by_length": slope({length: nodes[max(sizes), length] for length in lengths}),
        "by_size": max(slope({size: shares[size, length] for size in sizes}) for length in lengths),
    }  # fmt: skip


_TABLES = {"numbers": _numbers, "strings": _strings, "united": _united}
EXPERIMENT = experiment("2002-index", _TABLES, _metrics)
