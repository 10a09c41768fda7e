"""Worked examples of [2001 §3]: the table of Figure 4, the index of Figure 7 and the loop of Figure 8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.bench.oracle import Oracle
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, where
from cbnet.lab.experiments.example_table import example_table
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, MatchMethod, TimedComparison
from cbnet.lab.workload import Forwarding2001
from cbnet.language import Message, parse
from cbnet.matching import Table, reference
from cbnet.matching.engines.registry import ENGINES

_SIZES = [2, 3, 3, 2, 1, 2, 2]  # of the filters of Figure 4
_MESSAGES: tuple[dict[str, Any], ...] = (
    {"dest": "Milano", "price": 400, "airline": "UA", "orig": "Denver"},
    {"dest": "Milano", "price": 500},
    {"stock": "MSFT", "price": 150},
    {"stock": "DYS", "quantity": 2000, "price": 100, "orig": "Denver"},
    {"airline": "UA", "upgradeable": True},
    {"dest": "New York", "price": 200},
)
_CONSTRAINTS = (
    *(f"quantity < {bound}" for bound in (5, 20, 350)),
    *(f"quantity > {bound}" for bound in (0, 3, 50, 200)),
)
_SELECTED = {"quantity < 20", "quantity < 350", "quantity > 3", "quantity > 0"}
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
        "answers": as_table([*_answers(parameters, context)]),
    }


def _matched() -> Iterator[Row]:
    """Yield the interfaces of messages in the example table, by each engine and by the reference."""
    predicates = example_table()
    for number, members in enumerate(_MESSAGES):
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
    return [_example(rows["filters"], rows["messages"]), _index(rows["lookups"]), _switches(rows["answers"])]


def _example(filters: list[Row], messages: list[Row]) -> Finding:
    sizes = [row["constraints"] for row in filters]
    expected = {row["message"]: row["to"] for row in where(messages, engine="reference")}
    wrong = sum(row["to"] != expected[row["message"]] for row in messages)
    interfaces = len({row["interface"] for row in filters})
    ours = (
        f"{interfaces} interfaces, {len(sizes)} filters: {', '.join(map(str, sizes))}; {wrong} wrong answers of the "
        f"engines to {len(expected)} messages"
    )
    if (interfaces, sizes, wrong) == (3, _SIZES, 0):
        return Finding(1, ours, "holds")
    return Finding(1, ours, "fails", "the table or its answers differ from the paper's")


def _index(rows: list[Row]) -> Finding:
    selections = {tuple(row["selected"]) for row in where(rows, quantity=10)}
    ours = "; ".join(", ".join(text.removeprefix("quantity ") for text in selected) for selected in selections)
    equal = [text for row in rows for text in row["selected"] if text.split()[-1] == str(row["quantity"])]
    ours += f"; {len(equal)} constants equal to the value selected"
    if selections == {tuple(sorted(_SELECTED))} and not equal:
        return Finding(2, ours, "holds")
    return Finding(2, ours, "fails", "the engines select different constraints")


def _switches(rows: list[Row]) -> Finding:
    messages, wrong = (sum(row[name] for row in rows) for name in ("messages", "wrong"))
    methods = len({row["method"] for row in rows})
    runs = f"{methods} methods, {len(rows) // methods} random tables"
    ours = f"{wrong} of {messages:,} answers differ from the reference ({runs})"
    return Finding(3, ours, "fails" if wrong else "holds", "answers differ" if wrong else "")


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
