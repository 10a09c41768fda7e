"""The tag benchmark: how fast does each table of tags find the interfaces of a message, and how small is it?

All tables of a run get the same descriptors and messages. The exact ones must give the same answers, by
every path, and those of the reference where it is asked; the Bloom table must miss none of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.lab.bench.answer import Answer, differences
from cbnet.lab.bench.expected import Expected
from cbnet.lab.bench.matching.false_positives import FalsePositives, false_positives
from cbnet.lab.bench.matching.tag_expected import expected
from cbnet.lab.bench.timing import best_of_rounds, passes
from cbnet.lab.workload.message_batch import as_messages
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.compiled_table import Compiled
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet.matching.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet.lab.bench.inputs import Report
    from cbnet.lab.workload.tag_traffic import TagTraffic
    from cbnet.matching.storage.columns import Columns

TABLES = ("tags", "bloom", "pivot")
_BLOOM, _JSON = "bloom", "json.loads"
_BATCH = 500  # messages; so the memory of one answer can serve for the next, which else would be most of the time
_SAMPLE = 1000  # messages that a table may look at when it is built
# What matching does not need: the texts of the tags, which each table has, and what a Bloom table is read back from.
_NOT_WEIGHED = ("symbol_", "aside_")


@dataclass(frozen=True)
class TagResult:
    """What was measured of a table; all times are per message."""

    table: str
    descriptors: int
    interfaces: int
    us_single: float
    us_batch: float
    bytes_per_descriptor: float  # without the texts of the tags, with no descriptor left out
    false_positives: int  # interfaces that messages were sent to in vain, all messages together
    equal: bool  # of a Bloom table: whether it missed none
    us_json_loads: float
    matched: float  # interfaces of a message
    hashes: int | None = None
    by_tags: tuple[FalsePositives, ...] | None = None
    differences: tuple[str, ...] = ()  # with whom; empty if equal

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        members = asdict(self)
        del members["differences"]
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in members.items()}


@dataclass(frozen=True)
class TagOutcome:
    """The results of a run, a table each, and what they were checked with."""

    results: list[TagResult]
    messages: int
    expected: Expected


@dataclass(frozen=True)
class _Given:
    filters: pa.Table
    columns: Columns
    messages: pa.RecordBatch
    members: list[dict[str, Any]]


def tag_tables(traffic: TagTraffic, seconds: float, report: Report) -> TagOutcome:
    """Measure all tables on a workload; a measurement lasts at least `seconds`."""
    report("generating descriptors and messages")
    filters, messages = traffic.filters(), traffic.message_batch()
    given = _Given(filters, columns_from_arrow(filters), messages, as_messages(messages))
    right = expected(filters, given.members, report)
    rivals = [_Rival(table, given, report) for table in TABLES]
    exact = rivals[0]
    who = [tuple(rival.differences(exact, right, report)) for rival in rivals]
    report("timing")
    best = _times(rivals, given, seconds)
    results = [rival.result(exact, best, differs, report) for rival, differs in zip(rivals, who, strict=True)]
    return TagOutcome(results, len(given.members), right)


def _times(rivals: list[_Rival], given: _Given, seconds: float) -> dict[str, float]:
    """Return the microseconds for a message of each table, one by one and in batches, and of `json.loads`."""
    texts = [json.dumps(message) for message in given.members]
    ways = {way: passes(work) for rival in rivals for way, work in rival.ways().items()}
    ways[_JSON] = passes(lambda: [json.loads(text) for text in texts] and None)
    return {way: best / len(texts) * 1e6 for way, best in best_of_rounds(ways, seconds).items()}


class _Rival:
    """A table, built on what all tables of a run are given."""

    def __init__(self, table: str, given: _Given, report: Report) -> None:
        self._given = given
        self.compiled = self._built(table, lambda step: report(f"{table}: {step}"))
        self.batch, self._kept = encode_batch(given.messages, self.compiled.symbols)
        self.answer = Answer(*self.compiled.match_batch(self.batch)[:2])

    def _built(self, table: str, report: Report, *, reduce: bool = True) -> Compiled:
        sample = self._given.members[:_SAMPLE]
        return Compiled.build(self._given.columns, table, report, reduce=reduce, sample=sample)

    def differences(self, exact: _Rival, right: Expected, report: Report) -> Iterator[str]:
        """Yield who does not agree with the answers: another path, the reference, or an exact table."""
        report(f"{self.compiled.engine}: checking its answers")
        first = exact.answer
        if self.compiled.engine == _BLOOM:  # it may add interfaces, by all its paths the same
            if not is_within(first, self.answer):
                yield f"{exact.compiled.engine}, whose answers it should contain"
            first, right = self.answer, Expected({})
        yield from differences(self.answer, self.compiled, self.batch, self._given.members, right, first)

    def ways(self) -> dict[str, Callable[[], object]]:
        """Return what is timed: all messages, one by one and in batches."""
        match, index, count = Table[Any](self.compiled).match, self.compiled.index, len(self.batch)

        def in_batches() -> None:
            for first in range(0, count, _BATCH):
                index.match_batch(self.batch, first, min(count, first + _BATCH))

        def one_by_one() -> None:
            for message in self._given.members:
                match(message)

        return {f"{self.compiled.engine}, single": one_by_one, f"{self.compiled.engine}, batch": in_batches}

    def result(self, exact: _Rival, best: dict[str, float], who: tuple[str, ...], report: Report) -> TagResult:
        """Return what was measured, with the weight of the table and the mistakes that it makes."""
        table, about = self.compiled.engine, self.compiled.about
        is_bloom = table == _BLOOM
        report(f"{table}: weighing it")
        return TagResult(
            table, about["filters"], about["interfaces"],
            best[f"{table}, single"], best[f"{table}, batch"], self._bytes() / about["filters"],
            len(self.answer.targets) - len(exact.answer.targets), not who, best[_JSON],
            matched=len(exact.answer.targets) / len(self.batch),
            hashes=self.compiled.index.hashes if is_bloom else None,
            by_tags=tuple(self._by_tags(exact)) if is_bloom else None,
            differences=who,
        )  # fmt: skip

    def _bytes(self) -> int:
        """Return the size of what is needed to match, with all filters in it, covered ones too."""
        compiled = self.compiled
        if compiled.about["covered"]:
            compiled = self._built(compiled.engine, lambda _: None, reduce=False)
        return sum(array.nbytes for name, array in compiled.arrays.items() if not name.startswith(_NOT_WEIGHED))

    def _by_tags(self, exact: _Rival) -> list[FalsePositives]:
        symbols = self.compiled.symbols
        known = [[symbols.symbol(tag, True) for tag in members[RESERVED_NAME]] for members in self._given.members]
        messages = [np.array([symbol for symbol in found if symbol >= 0], np.int64) for found in known]
        return false_positives(self.compiled, exact.compiled, self.batch, messages)


def is_within(few: Answer, many: Answer) -> bool:
    """Return whether each message has all its targets of `few` in `many`, too."""
    rows = [np.repeat(np.arange(len(answer.offsets) - 1), np.diff(answer.offsets)) for answer in (few, many)]
    pairs = [row << 32 | answer.targets for row, answer in zip(rows, (few, many), strict=True)]
    places = np.searchsorted(pairs[1], pairs[0])
    return len(pairs[0]) == 0 or (
        bool(places[-1] < len(pairs[1])) and bool((pairs[1][np.minimum(places, len(pairs[1]) - 1)] == pairs[0]).all())
    )
