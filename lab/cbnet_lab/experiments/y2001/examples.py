"""Worked examples of [2001 §3]: the table of Figure 4, the index of Figure 7 and the loop of Figure 8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import pyarrow as pa

from cbnet.language import Message, parse
from cbnet.matching import Table, reference
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.columns import columns_of
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.bench.oracle import Oracle
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, where
from cbnet_lab.experiments.example_table import example_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, MatchMethod, TimedComparison
from cbnet_lab.workload import Forwarding2001

_SIZES = [2, 3, 3, 2, 1, 2, 2]  # of the filters of Figure 4
_BY_HAND = "by hand"
_MESSAGES: tuple[tuple[dict[str, Any], list[str]], ...] = (  # with the interfaces, found by hand
    ({"dest": "Milano", "price": 400, "airline": "UA", "orig": "Denver"}, ["I1", "I2"]),
    ({"dest": "Milano", "price": 500}, []),
    ({"stock": "MSFT", "price": 150}, ["I3"]),
    ({"stock": "DYS", "quantity": 2000, "price": 100, "orig": "Denver"}, ["I1", "I2"]),
    ({"airline": "UA", "upgradeable": True}, ["I2"]),
    ({"dest": "New York", "price": 200}, []),
)
_CONSTRAINTS = (
    *(f"quantity < {bound}" for bound in (5, 20, 350)),
    *(f"quantity > {bound}" for bound in (0, 3, 50, 200)),
)
_SELECTED = {"quantity < 20", "quantity < 350", "quantity > 3", "quantity > 0"}
_EXAMPLE = ClaimRule(1, "3 interfaces, filters of these sizes, and the interfaces found by hand from every engine")
_LOOK_UP = ClaimRule(
    2,
    "the index of each operator selects the paper's two constraints, with one binary search each, and < and > never "
    "select a constant equal to the value",
)
_SWITCHES = ClaimRule(3, "no answer differs from the reference, with all switches on and off")
_METHODS = (
    COUNTING, SELECTIVE, MatchMethod("counting, no short-circuit", short_circuit=False),
    MatchMethod("counting, 10 rounds, no short-circuit", rounds=10, short_circuit=False), PIVOT,
)  # fmt: skip


@dataclass(frozen=True)
class ExamplesParameters2001:
    """Random tables for matching with the short-circuit on and off, and their filters and messages."""

    tables: int = 10
    filters: int = 300
    messages: int = 50


def _run(parameters: ExamplesParameters2001, context: ExperimentContext) -> dict[str, pa.Table]:
    filters = [
        {"interface": interface, "constraints": len(each.constraints)}
        for interface, predicate in example_table().items()
        for each in predicate.filters
    ]
    return {
        "filters": as_table(filters),
        "messages": as_table([*_matched()]),
        "lookups": as_table([*_lookups()]),
        "searches": as_table([*_searches()]),
        "answers": as_table([*_answers(parameters, context)]),
    }


def _matched() -> Iterator[Row]:
    """Yield the interfaces of messages in the example table, by each engine and by the reference."""
    predicates = example_table()
    for number, (members, by_hand) in enumerate(_MESSAGES):
        yield {"message": number, "engine": _BY_HAND, "to": by_hand}
        yield {"message": number, "engine": "reference", "to": sorted(reference.match(predicates, Message(members)))}
        for engine in ENGINES:
            table = Table.build(predicates, engine=engine)
            yield {"message": number, "engine": engine, "to": sorted(table.match(members))}


def _lookups() -> Iterator[Row]:
    """Yield the constraints of Figure 7 that a value satisfies; 20 and 3 are also constants."""
    for engine in ENGINES:
        table = Table.build({text: parse(text) for text in _CONSTRAINTS}, engine=engine)
        for value in (10, 20, 3):
            yield {"quantity": value, "engine": engine, "selected": sorted(table.match({"quantity": value}))}


def _searches() -> Iterator[Row]:
    """Yield the constraints that the sorted index of each operator selects for quantity = 10, and its comparisons."""
    for operator in ("<", ">"):
        texts = [text for text in _CONSTRAINTS if f" {operator} " in text]
        table = CompiledTable.build(columns_of({text: parse(text) for text in texts}), "counting", reduce=False)
        work = table.index.index.match_batch(table.encode([{"quantity": 10}]), 0, 1, 0, False)[2]
        yield {
            "operator": operator,
            "constants": len(texts),
            **{key: work[key] for key in ("constraints", "comparisons")},
        }


def _answers(parameters: ExamplesParameters2001, context: ExperimentContext) -> Iterator[Row]:
    """Yield how many answers of each method to random messages differ from the reference."""
    for number in range(parameters.tables):
        context.progress(number, parameters.tables, "random tables")
        mix = Forwarding2001(
            N=parameters.messages, F=parameters.filters, I=1 + number % 7, A=10, seed=context.seed + number
        )
        data = bench_input(mix, lambda _: None)
        comparison = TimedComparison(data, _METHODS)
        predicates = Oracle(data.filters).all_predicates()
        expected = [sorted(reference.match(predicates, Message.from_dict(members))) for members in data.members]
        for method in _METHODS:
            answer = comparison.match(method).answer
            actual = [
                answer.targets[a:b].tolist() for a, b in zip(answer.offsets[:-1], answer.offsets[1:], strict=True)
            ]
            wrong = sum(one != other for one, other in zip(actual, expected, strict=True))
            yield {"table": number, "method": method.name, "messages": len(expected), "wrong": wrong}


def _findings(tables: Tables, _: ExamplesParameters2001) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [
        _example(rows["filters"], rows["messages"]), _index(rows["lookups"], rows["searches"]),
        _switches(rows["answers"]),
    ]  # fmt: skip


def _example(filters: list[Row], messages: list[Row]) -> Finding:
    sizes = [row["constraints"] for row in filters]
    expected = {row["message"]: row["to"] for row in where(messages, engine=_BY_HAND)}
    wrong = sum(row["to"] != expected[row["message"]] for row in messages)
    interfaces = len({row["interface"] for row in filters})
    ours = (
        f"{interfaces} interfaces, {len(sizes)} filters: {', '.join(map(str, sizes))}; {wrong} wrong answers of the "
        f"engines and the reference to {len(expected)} messages"
    )
    is_equal = (interfaces, sizes, wrong) == (3, _SIZES, 0)
    return _EXAMPLE.decide(ours, is_equal, "the table or its answers differ from the paper's")


def _index(rows: list[Row], searches: list[Row]) -> Finding:
    selections = {tuple(row["selected"]) for row in where(rows, quantity=10)}
    ours = "; ".join(", ".join(text.removeprefix("quantity ") for text in selected) for selected in selections)
    equal = [text for row in rows for text in row["selected"] if text.split()[-1] == str(row["quantity"])]
    ours += f"; {len(equal)} constants equal to the value selected; " + ", ".join(
        f"{row['operator']}: {row['constraints']} of {row['constants']} with {row['comparisons']} comparisons"
        for row in searches
    )
    is_searched = all(
        row["constraints"] == 2 and row["comparisons"] <= ceil(log2(row["constants"] + 1)) for row in searches
    )
    holds = selections == {tuple(sorted(_SELECTED))} and not equal and is_searched
    return _LOOK_UP.decide(ours, holds, "other constraints are selected, or by more than one binary search")


def _switches(rows: list[Row]) -> Finding:
    messages, wrong = (sum(row[name] for row in rows) for name in ("messages", "wrong"))
    methods = len({row["method"] for row in rows})
    runs = f"{methods} methods, {len(rows) // methods} random tables"
    ours = f"{wrong} of {messages:,} answers differ from the reference ({runs})"
    return _SWITCHES.decide(ours, not wrong, "answers differ")


EXPERIMENT = Experiment(
    name="2001-examples",
    title="The worked examples",
    paper="2001",
    section="§3, Figures 4, 7 and 8",
    claims=(1, 2, 3),
    scales={
        "quick": ExamplesParameters2001(),
        "full": ExamplesParameters2001(50, 500, 100),
        "paper": ExamplesParameters2001(200, 1000, 100),
    },
    run=_run,
    findings=_findings,
)
