"""The tag benchmark: time per message and size of each tag table.

All tables of a run get the same descriptors and messages. The exact ones must agree with each other by every
path, and with the reference on a sample; the Bloom table must not miss an interface.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.language.values import RESERVED_NAME
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet.matching.table import Table
from cbnet_lab.bench.engine_answer import EngineAnswer, differences
from cbnet_lab.bench.expected_matches import ExpectedMatches
from cbnet_lab.bench.matching.false_positives import FalsePositives, false_positives
from cbnet_lab.bench.matching.tag_expected import expected_tag_matches
from cbnet_lab.bench.timing import best_of_rounds, passes
from cbnet_lab.workload.message_batch import as_messages

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet.matching.storage.columns import Columns
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.workload.tag_traffic import TagTraffic

TABLES = ("tags", "bloom", "pivot")
_BLOOM, _JSON = "bloom", "json.loads"
_BATCH = 500  # messages; small, so that the memory of answers is reused: allocating it would dominate
_SAMPLE = 1000  # messages that a table may sample when it is built
# Not needed for matching: the texts of tags, which every table has, and the source of a Bloom table.
_NOT_COUNTED = ("symbol_", "aside_")


@dataclass(frozen=True)
class TagResult:
    """Measurements of a table; all times are per message."""

    table: str
    descriptors: int
    interfaces: int
    us_single: float
    us_batch: float
    bytes_per_descriptor: float  # without the texts of tags, and without reduction
    false_positives: int  # spurious interfaces of all messages together
    equal: bool  # for a Bloom table: whether it missed none
    us_json_loads: float
    matched: float  # interfaces of a message
    hashes: int | None = None
    by_tags: tuple[FalsePositives, ...] | None = None
    differences: tuple[str, ...] = ()  # what disagrees; empty if equal

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        members = asdict(self)
        del members["differences"]
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in members.items()}


@dataclass(frozen=True)
class TagOutcome:
    """The results of a run, one per table, and the expected answers."""

    results: list[TagResult]
    messages: int
    expected: ExpectedMatches


@dataclass(frozen=True)
class _TagInput:
    filters: pa.Table
    columns: Columns
    messages: pa.RecordBatch
    members: list[dict[str, Any]]


def tag_tables(traffic: TagTraffic, seconds: float, report: Report) -> TagOutcome:
    """Measure all tables on a workload; a measurement lasts at least `seconds`."""
    report("generating descriptors and messages")
    filters, messages = traffic.filters(), traffic.message_batch()
    given = _TagInput(filters, columns_from_arrow(filters), messages, as_messages(messages))
    expected = expected_tag_matches(filters, given.members, report)
    rivals = [_Rival(table, given, report) for table in TABLES]
    exact = rivals[0]
    differing = [tuple(rival.differences(exact, expected, report)) for rival in rivals]
    report("timing")
    best = _times(rivals, given, seconds)
    results = [rival.result(exact, best, differs, report) for rival, differs in zip(rivals, differing, strict=True)]
    return TagOutcome(results, len(given.members), expected)


def _times(rivals: list[_Rival], given: _TagInput, seconds: float) -> dict[str, float]:
    """Return the microseconds per message of each table, singly and in batches, and of `json.loads`."""
    texts = [json.dumps(message) for message in given.members]
    methods = {name: passes(work) for rival in rivals for name, work in rival.methods().items()}
    methods[_JSON] = passes(lambda: [json.loads(text) for text in texts] and None)
    return {name: best / len(texts) * 1e6 for name, best in best_of_rounds(methods, seconds).items()}


class _Rival:
    """A table, built on the input that all tables of a run share."""

    def __init__(self, table: str, given: _TagInput, report: Report) -> None:
        self._given = given
        self.compiled = self._build(table, lambda step: report(f"{table}: {step}"))
        self.batch, self._kept = encode_batch(given.messages, self.compiled.symbols)
        self.answer = EngineAnswer(*self.compiled.match_batch(self.batch)[:2])

    def _build(self, table: str, report: Report, *, reduce: bool = True) -> CompiledTable:
        sample = self._given.members[:_SAMPLE]
        return CompiledTable.build(self._given.columns, table, report, reduce=reduce, sample=sample)

    def differences(self, exact: _Rival, expected: ExpectedMatches, report: Report) -> Iterator[str]:
        """Yield the sources that disagree with the answers: another path, the reference, or an exact table."""
        report(f"{self.compiled.engine}: checking its answers")
        first = exact.answer
        if self.compiled.engine == _BLOOM:  # it may add interfaces, the same by all paths
            if not is_within(first, self.answer):
                yield f"{exact.compiled.engine}, whose answers it should contain"
            first, expected = self.answer, ExpectedMatches({})
        yield from differences(self.answer, self.compiled, self.batch, self._given.members, expected, first)

    def methods(self) -> dict[str, Callable[[], object]]:
        """Return the work to time: all messages, singly and in batches."""
        match, index, count = Table[Any](self.compiled).match, self.compiled.index, len(self.batch)

        def in_batches() -> None:
            for first in range(0, count, _BATCH):
                index.match_batch(self.batch, first, min(count, first + _BATCH))

        def one_by_one() -> None:
            for message in self._given.members:
                match(message)

        return {f"{self.compiled.engine}, single": one_by_one, f"{self.compiled.engine}, batch": in_batches}

    def result(self, exact: _Rival, best: dict[str, float], differing: tuple[str, ...], report: Report) -> TagResult:
        """Return the measurements, with the size of the table and its false positives."""
        table, about = self.compiled.engine, self.compiled.metadata
        is_bloom = table == _BLOOM
        report(f"{table}: measuring its size")
        return TagResult(
            table, about["filters"], about["interfaces"],
            best[f"{table}, single"], best[f"{table}, batch"], self._bytes() / about["filters"],
            len(self.answer.targets) - len(exact.answer.targets), not differing, best[_JSON],
            matched=len(exact.answer.targets) / len(self.batch),
            hashes=self.compiled.index.hashes if is_bloom else None,
            by_tags=tuple(self._by_tags(exact)) if is_bloom else None,
            differences=differing,
        )  # fmt: skip

    def _bytes(self) -> int:
        """Return the bytes needed for matching, with all filters, including covered ones."""
        compiled = self.compiled
        if compiled.metadata["covered"]:
            compiled = self._build(compiled.engine, lambda _: None, reduce=False)
        return sum(array.nbytes for name, array in compiled.arrays.items() if not name.startswith(_NOT_COUNTED))

    def _by_tags(self, exact: _Rival) -> list[FalsePositives]:
        symbols = self.compiled.symbols
        known = [[symbols.symbol(tag, True) for tag in members[RESERVED_NAME]] for members in self._given.members]
        messages = [np.array([symbol for symbol in found if symbol >= 0], np.int64) for found in known]
        return false_positives(self.compiled, exact.compiled, self.batch, messages)


def is_within(few: EngineAnswer, many: EngineAnswer) -> bool:
    """Return whether every target of a message in `few` is also in `many`."""
    rows = [np.repeat(np.arange(len(answer.offsets) - 1), np.diff(answer.offsets)) for answer in (few, many)]
    pairs = [row << 32 | answer.targets for row, answer in zip(rows, (few, many), strict=True)]
    indexes = np.searchsorted(pairs[1], pairs[0])
    return len(pairs[0]) == 0 or (
        bool(indexes[-1] < len(pairs[1])) and bool((pairs[1][np.minimum(indexes, len(pairs[1]) - 1)] == pairs[0]).all())
    )
