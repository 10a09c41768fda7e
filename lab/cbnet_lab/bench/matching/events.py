"""The events benchmark: rules of a dialect over nested events, including the parsing of JSON.

The answers for all events are compared with a second path, and those for a sample with the reference, which tests
every rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO

from cbnet.language import Message, parse
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.message_files import read_encoded
from cbnet.matching.reference import match
from cbnet.matching.storage.columns import columns_of
from cbnet.matching.table import Table
from cbnet_lab.bench.plans import EventsPlan, Report
from cbnet_lab.bench.result_table import HIDDEN, ResultTable, shown, shown_columns
from cbnet_lab.bench.timing import best_of_rounds, passes, stopwatch
from cbnet_lab.workload.events import event, many, pattern


@dataclass(frozen=True)
class EventsResult:
    """The measurements, in µs per event."""

    rules: int = shown("rules")
    filters: int = shown("filters")
    conditions: int = shown("filters with conditions")  # filters that have one
    events: int = shown("events")
    bytes_per_event: float = shown("bytes of an event")
    matched: float = shown("matching rules")  # rules per event
    build_s: float = shown("compile s")
    us_lines: float = shown("from JSON Lines")  # from JSON text to the matching rules
    us_match: float = shown("from dicts")  # from dict to rules
    us_json_loads: float = shown("json.loads alone")
    us_reference: float = shown("every rule in turn")
    checked: int = shown("events checked")
    equal: bool = shown("right")
    problem: str | None = field(default=None, metadata=HIDDEN)


def run(plan: EventsPlan, report: Report) -> Iterator[EventsResult]:
    """Measure rules over events; a sample of the events is compared with the reference."""
    report("generating rules and events")
    patterns = dict(enumerate(many(pattern, plan.rules, plan.seed)))
    members = many(event, plan.events, plan.seed + 1)
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in members)
    report("compiling rules")
    with stopwatch() as build_s:
        predicates = {number: parse(each, dialect="eventbridge") for number, each in patterns.items()}
        compiled = CompiledTable.build(columns_of(predicates))
    report("checking answers")
    table = Table[int](compiled, predicates)
    answers = [table.match(each) for each in members]
    checked = members[: plan.sample]
    with stopwatch() as reference_s:
        expected = [match(predicates, Message(each)) for each in checked]
    equal = _line_answers(compiled, lines) == answers and expected == answers[: plan.sample]
    report("timing")
    texts = lines.splitlines()
    best = best_of_rounds(
        {
            "us_lines": passes(lambda: _match_lines(compiled, lines)),
            "us_match": passes(lambda: [table.match(each) for each in members] and None),
            "us_json_loads": passes(lambda: [json.loads(text) for text in texts] and None),
        },
        plan.seconds,
    )
    filters = [filter for predicate in predicates.values() for filter in predicate.filters]
    yield EventsResult(
        rules=plan.rules,
        filters=len(filters),
        conditions=sum(bool(filter.conditions) for filter in filters),
        events=plan.events,
        bytes_per_event=len(lines) / plan.events,
        matched=sum(map(len, answers)) / plan.events,
        build_s=build_s(),
        **{name: seconds / plan.events * 1e6 for name, seconds in best.items()},
        us_reference=reference_s() / max(1, len(checked)) * 1e6,
        checked=len(checked),
        equal=equal,
        problem=None if equal else "events; please report this",
    )


def tables(_plan: EventsPlan, rows: Sequence[EventsResult]) -> Iterator[ResultTable[EventsResult]]:
    """Yield the measurements."""
    columns = shown_columns(EventsResult)
    columns["every rule in turn / from dicts"] = lambda row: row.us_reference / row.us_match
    yield ResultTable("EventBridge rules over nested events, in µs per event", rows, columns, is_list=True)


def _match_lines(compiled: CompiledTable, lines: bytes) -> None:
    for group in read_encoded(BytesIO(lines).read, compiled.symbols):
        compiled.match_batch(group.batch)


def _line_answers(compiled: CompiledTable, lines: bytes) -> list[list[int]]:
    answers: list[list[int]] = []
    for group in read_encoded(BytesIO(lines).read, compiled.symbols):
        offsets, targets, _ = compiled.match_batch(group.batch)
        for row in group.outcomes:
            assert isinstance(row, int)
            answers.append(targets[offsets[row] : offsets[row + 1]].tolist())
    return answers
