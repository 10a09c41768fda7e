"""The tag benchmark: time per message and size of each tag table.

All tables of a run get the same descriptors and messages. The exact ones must agree with each other by every
path, and with the reference on a sample; the Bloom table must not miss an interface.

False positives of the Bloom table are predicted and measured by the number of tags in the message: for one descriptor,
and for all descriptors of the table as one predicate, which is a false positive if any of them is [2014 §4.2.3].
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from cbnet._kernels.message_encoding import Batch
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.bloom_table import false_positive
from cbnet.matching.storage.columns import Array
from cbnet_lab.bench.bench_input import input_of
from cbnet_lab.bench.matching.engine_rival import EngineAnswer, EngineRival
from cbnet_lab.bench.matching.oracle import ExpectedMatches, expected_matches
from cbnet_lab.bench.plans import Report, TagsPlan
from cbnet_lab.bench.result_table import HIDDEN, ResultTable, ratio, shown, shown_columns
from cbnet_lab.bench.timing import passes
from cbnet_lab.workload.tag_traffic import TagTraffic

_SAMPLE = 5  # messages per number of tags for which the prediction reads all descriptors
TABLES = ("tags", "bloom", "pivot")
_BLOOM, _JSON = "bloom", "json.loads"
_BATCH = 500  # messages; small, so that the memory of answers is reused: allocating it would dominate
# Not needed for matching: the texts of tags, which every table has, and the source of a Bloom table.
_NOT_COUNTED = ("symbol_", "aside_")


@dataclass(frozen=True)
class FalsePositives:
    """Predicted and measured rates for the messages with one number of tags."""

    tags: int = shown("tags in message")  # known to the table
    messages: int = shown("messages")
    predicted_per_descriptor: float = shown("one, predicted")
    measured_per_descriptor: float = shown("one, measured")
    predicted_per_predicate: float = shown("any of all, predicted")
    measured_per_predicate: float = shown("any of all, measured")


def false_positives(
    bloom: CompiledTable, exact: CompiledTable, batch: Batch, members: Sequence[Mapping[str, Any]]
) -> list[FalsePositives]:
    """Compare a Bloom table with an exact one of the same filters; batch, members: the messages, encoded and not."""
    known = ([bloom.symbols.symbol(tag, True) for tag in each[RESERVED_NAME]] for each in members)
    messages = [np.array([symbol for symbol in symbols if symbol >= 0], np.int64) for symbols in known]
    right = exact.index.count_descriptors(batch)
    wrong = bloom.index.count_descriptors(batch) - right
    others = len(bloom.arrays["bloom_owners"]) - right
    sizes = np.array([len(tags) for tags in messages])
    found = []
    for size in np.unique(sizes).tolist():
        indexes = np.flatnonzero(sizes == size)
        predicted = np.mean([_predicted(bloom, messages[index]) for index in indexes[:_SAMPLE].tolist()], axis=0)
        measured = wrong[indexes].sum() / max(1, others[indexes].sum()), (wrong[indexes] > 0).mean()
        rates = [float(rate) for pair in zip(predicted, measured, strict=True) for rate in pair]
        found.append(FalsePositives(size, len(indexes), *rates))
    return found


def _predicted(bloom: CompiledTable, message: Array) -> tuple[float, float]:
    """Return the probability that one absent descriptor, and that any absent descriptor, is reported as present."""
    tags, offsets = bloom.arrays["aside_tags"], bloom.arrays["aside_offsets"].astype(np.int64)
    absent = np.ones(len(bloom.arrays["symbol_offsets"]) - 1, bool)
    absent[message] = False
    absent = absent[tags]
    missing = np.add.reduceat(absent, offsets[:-1], dtype=np.int64)
    counts = np.bincount(missing, minlength=2)
    chances = np.array([false_positive(bloom.index.hashes, len(message), count) for count in range(1, len(counts))])
    # Descriptors that differ from the message in the same single tag fail together: the predicate counts them once.
    alone = np.repeat(missing == 1, np.diff(offsets)) & absent
    distinct = np.append(len(np.unique(tags[alone])), counts[2:])
    lacked = counts[1:].sum()
    return counts[1:] @ chances / max(1, lacked), -np.expm1(distinct @ np.log1p(-chances))


@dataclass(frozen=True)
class TagResult:
    """Measurements of a table; all times are per message."""

    table: str
    descriptors: int
    interfaces: int
    us_single: float
    us_batch: float
    bytes_per_descriptor: float  # without the texts of tags, and without reduction
    false_positives: int  # spurious interfaces, over all messages
    equal: bool  # for a Bloom table: whether it missed none
    us_json_loads: float
    matched: float  # interfaces per message
    hashes: int | None = None
    by_tags: Sequence[FalsePositives] | None = None
    problem: str | None = field(default=None, metadata=HIDDEN)
    checked: str = field(default="", metadata=HIDDEN)


def run(plan: TagsPlan, report: Report) -> Iterator[TagResult]:
    """Measure all tables on each workload."""
    runs = [
        TagTraffic(count, own, plan.messages, seed=plan.seed) for count in plan.descriptors for own in plan.interfaces
    ]
    for traffic in runs:
        yield from _measured(traffic, plan.seconds, report)


def _measured(traffic: TagTraffic, seconds: float, report: Report) -> Iterator[TagResult]:
    report("generating descriptors and messages")
    given = input_of(traffic.filters(), traffic.message_batch(), report)
    expected = expected_matches(given, report)
    rivals = [EngineRival(table, given, report) for table in TABLES]
    exact = rivals[0]
    wrong = {}
    for rival in rivals:
        report(f"{rival.engine}: checking its answers")
        wrong[rival.engine] = [*_differences(rival, exact, expected)]
    report("timing")
    methods = {f"{rival.engine}, {name}": work for rival in rivals for name, work in _methods(rival).items()}
    methods[_JSON] = lambda: [json.loads(text) for text in given.texts] and None
    best = exact.microseconds({name: passes(work) for name, work in methods.items()}, seconds)
    for rival in rivals:
        table, about = rival.engine, rival.compiled.metadata
        report(f"{table}: measuring its size")
        rates = false_positives(rival.compiled, exact.compiled, rival.batch, given.members) if table == _BLOOM else None
        yield TagResult(
            table=table,
            descriptors=about["filters"],
            interfaces=about["interfaces"],
            us_single=best[f"{table}, single"],
            us_batch=best[f"{table}, batch"],
            bytes_per_descriptor=_bytes(rival) / about["filters"],
            false_positives=len(rival.answer.targets) - len(exact.answer.targets),
            equal=not wrong[table],
            us_json_loads=best[_JSON],
            matched=len(exact.answer.targets) / len(rival.batch),
            hashes=rival.compiled.index.hashes if table == _BLOOM else None,
            by_tags=rates,
            problem=f"{table} differs from {', '.join(wrong[table])}" if wrong[table] else None,
            checked=expected.summary(len(given.members)),
        )


def _differences(rival: EngineRival, exact: EngineRival, expected: ExpectedMatches) -> Iterator[str]:
    """Yield the sources that disagree; a Bloom table may add interfaces, the same by all paths."""
    if rival.engine != _BLOOM:
        yield from rival.differences(expected, exact.answer)
        return
    if not is_within(exact.answer, rival.answer):
        yield f"{exact.engine}, whose answers it should contain"
    yield from rival.differences(ExpectedMatches({}))


def _methods(rival: EngineRival) -> dict[str, Callable[[], object]]:
    index, batch = rival.compiled.index, rival.batch

    def in_batches() -> None:
        for first in range(0, len(batch), _BATCH):
            index.match_batch(batch, first, min(len(batch), first + _BATCH))

    return {"single": rival.match_singly, "batch": in_batches}


def _bytes(rival: EngineRival) -> int:
    """Return the bytes needed for matching, with all filters, including covered ones."""
    arrays = rival.unreduced().arrays
    return sum(array.nbytes for name, array in arrays.items() if not name.startswith(_NOT_COUNTED))


def is_within(few: EngineAnswer, many: EngineAnswer) -> bool:
    """Return whether every target of a message in `few` is also in `many`."""
    rows = [np.repeat(np.arange(len(answer.offsets) - 1), np.diff(answer.offsets)) for answer in (few, many)]
    pairs = [row << 32 | answer.targets for row, answer in zip(rows, (few, many), strict=True)]
    return bool(np.isin(pairs[0], pairs[1]).all())


def tables(
    plan: TagsPlan, rows: Sequence[TagResult]
) -> Iterator[str | ResultTable[TagResult] | ResultTable[FalsePositives]]:
    """Yield the times and sizes of the tables of each run, and the false positives by number of tags."""
    for (descriptors, interfaces), group in groupby(rows, lambda row: (row.descriptors, row.interfaces)):
        run = list(group)
        first = run[0]
        matched = f"a message matches {first.matched:.3g} of them"
        yield f"tags, seed {plan.seed}: {descriptors:,} descriptors, {interfaces:,} interfaces; {matched}\n"
        yield _times(run)
        for row in run:
            if row.by_tags is not None:
                title = f"False positives of {row.table}, with {row.hashes} hashes per tag"
                yield ResultTable(title, row.by_tags, shown_columns(FalsePositives))
        correct = "The exact tables agree on every call path, and bloom misses nothing."
        yield correct if all(row.equal for row in run) else "The answers DIFFER."
        yield f"{first.checked}\n"


def _times(rows: Sequence[TagResult]) -> ResultTable[TagResult]:
    return ResultTable("Microseconds per message, size, and false positives", rows, {
        "table": "table",
        "single": "us_single",
        "batch": "us_batch",
        "json.loads": "us_json_loads",
        "batch / json": lambda row: ratio(row.us_batch, row.us_json_loads),
        f"batch / {rows[0].table}": lambda row: ratio(row.us_batch, rows[0].us_batch),
        "bytes / descriptor": "bytes_per_descriptor",
        "false positives": "false_positives",
    })  # fmt: skip
