"""A rival of a matching benchmark: one engine, built on the input that all engines of a run share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import CountingOptions
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet.matching.storage.columns import Array
from cbnet.matching.table import Table
from cbnet_lab.bench.bench_input import BenchInput
from cbnet_lab.bench.matching.oracle import ExpectedMatches
from cbnet_lab.bench.plans import Report
from cbnet_lab.bench.timing import Passes, best_of_rounds, stopwatch

_SAMPLE = 1000  # messages that an engine may sample when it is built
_DEFAULTS = CountingOptions()


@dataclass(frozen=True)
class EngineAnswer:
    """The targets of all messages; message i has targets[offsets[i]:offsets[i + 1]]."""

    offsets: Array  # int64[messages + 1]
    targets: Array  # uint32[deliveries]

    def equals(self, other: EngineAnswer) -> bool:
        """Return whether both answers are the same, in the same order."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.targets, other.targets)

    def interfaces(self, message: int, labels: list[str | int]) -> list[str | int]:
        """Return the interfaces of one message."""
        targets = self.targets[self.offsets[message] : self.offsets[message + 1]]
        return [labels[target] for target in targets.tolist()]


class EngineRival:
    """A table of one engine, and its answers to all messages."""

    def __init__(self, engine: str, given: BenchInput, report: Report, counting: CountingOptions = _DEFAULTS) -> None:
        self.engine, self._given = engine, given
        with stopwatch() as took:
            self.compiled = self._build(lambda step: report(f"{engine}: {step}"))
        self.build_s = given.read_s + took()
        if engine == "counting":
            self.compiled.index.options = counting
        self.batch, self._kept = encode_batch(given.messages, self.compiled.symbols)
        offsets, targets, self.touched = self.compiled.match_batch(self.batch)
        self.answer = EngineAnswer(offsets, targets)

    def _build(self, report: Report, *, reduce: bool = True) -> CompiledTable:
        sample = self._given.members[:_SAMPLE]
        return CompiledTable.build(self._given.columns, self.engine, report, reduce=reduce, sample=sample)

    def unreduced(self) -> CompiledTable:
        """Return the table with all filters, including covered ones."""
        return self._build(lambda _: None, reduce=False) if self.compiled.metadata["covered"] else self.compiled

    def differences(self, expected: ExpectedMatches, first: EngineAnswer | None = None) -> Iterator[str]:
        """Yield the sources that disagree: another path, the reference, or the answer of the first engine."""
        answer, labels, table = self.answer, self.compiled.labels, Table[Any](self.compiled)
        if not answer.equals(EngineAnswer(*self.compiled.match_batch(self.batch, 2)[:2])):
            yield "two threads"
        answers = (answer.interfaces(index, labels) for index in range(len(self._given.members)))
        if any(table.match(message) != own for message, own in zip(self._given.members, answers, strict=True)):
            yield "single messages"
        if any(right != answer.interfaces(index, labels) for index, right in expected.answers.items()):
            yield "the reference"
        if first is not None and not answer.equals(first):
            yield "the first engine"

    def match_singly(self) -> None:
        """Match all messages, each as a dict."""
        match = Table[Any](self.compiled).match
        for message in self._given.members:
            match(message)

    def microseconds(self, methods: Mapping[str, Passes], seconds: float) -> dict[str, float]:
        """Return the time per message of methods that match all messages."""
        return {name: best / len(self.batch) * 1e6 for name, best in best_of_rounds(methods, seconds).items()}
