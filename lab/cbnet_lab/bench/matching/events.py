"""The events benchmark: rules of a dialect over nested events, with the reading of JSON.

The answers of all events are compared with a second path, and those of a sample with the reference, which tests
every rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from time import perf_counter

from cbnet.language import Message, parse
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.message_files import read_encoded
from cbnet.matching.reference import match
from cbnet.matching.storage.columns import columns_of
from cbnet.matching.table import Table
from cbnet_lab.bench.timing import best_of_rounds, passes
from cbnet_lab.workload.events.webhooks import event, many, pattern

Report = Callable[[str], None]
_LINES, _DICTS, _DECODE = "JSON Lines", "dicts", "json.loads"


@dataclass(frozen=True)
class EventsResult:
    """The measurements, in µs per event."""

    rules: int
    filters: int
    conditions: int  # filters that have one
    events: int
    bytes_per_event: float
    matched: float  # rules per event
    build_s: float
    us_lines: float  # from JSON text to the matching rules
    us_match: float  # from dict to rules
    us_json_loads: float  # of Python's json alone
    us_reference: float  # every rule in turn
    checked: int
    equal: bool


def events(rules: int, count: int, sample: int, seed: int, seconds: float, report: Report) -> EventsResult:
    """Measure rules over events; `sample` events are compared with the reference."""
    report("generating rules and events")
    patterns = dict(enumerate(many(pattern, rules, seed)))
    members = many(event, count, seed + 1)
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in members)
    report("compiling rules")
    start = perf_counter()
    predicates = {number: parse(each, dialect="eventbridge") for number, each in patterns.items()}
    columns = columns_of(predicates)
    compiled = CompiledTable.build(columns)
    build_s = perf_counter() - start
    report("checking answers")
    table = Table[int](compiled, predicates)
    answers = [table.match(each) for each in members]
    equal = _line_answers(compiled, lines) == answers
    checked = members[:sample]
    start = perf_counter()
    equal &= [match(predicates, Message(each)) for each in checked] == answers[:sample]
    reference_s = perf_counter() - start
    report("timing")
    texts = lines.splitlines()
    best = best_of_rounds(
        {
            _LINES: passes(lambda: _match_lines(compiled, lines)),
            _DICTS: passes(lambda: [table.match(each) for each in members] and None),
            _DECODE: passes(lambda: [json.loads(text) for text in texts] and None),
        },
        seconds,
    )
    filters = [filter for predicate in predicates.values() for filter in predicate.filters]
    return EventsResult(
        rules=rules,
        filters=len(filters),
        conditions=sum(bool(filter.conditions) for filter in filters),
        events=count,
        bytes_per_event=len(lines) / count,
        matched=sum(map(len, answers)) / count,
        build_s=build_s,
        us_lines=best[_LINES] / count * 1e6,
        us_match=best[_DICTS] / count * 1e6,
        us_json_loads=best[_DECODE] / count * 1e6,
        us_reference=reference_s / max(1, len(checked)) * 1e6,
        checked=len(checked),
        equal=equal,
    )


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
