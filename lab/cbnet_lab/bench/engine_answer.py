"""The answer of one engine, and its differences from others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.matching.table import Table

if TYPE_CHECKING:
    from cbnet._kernels.message_encoding import Batch
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.storage.columns import Array
    from cbnet_lab.bench.expected_matches import ExpectedMatches


@dataclass(frozen=True)
class EngineAnswer:
    """The targets of all messages; those of message i are targets[offsets[i]:offsets[i + 1]]."""

    offsets: Array  # int64[messages + 1]
    targets: Array  # uint32[deliveries]

    def equals(self, other: EngineAnswer) -> bool:
        """Return whether both answers are the same, in the same order."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.targets, other.targets)

    def interfaces(self, message: int, labels: list[str | int]) -> list[str | int]:
        """Return the interfaces of one message."""
        targets = self.targets[self.offsets[message] : self.offsets[message + 1]]
        return [labels[target] for target in targets.tolist()]


def differences(
    answer: EngineAnswer,
    compiled: CompiledTable,
    batch: Batch,
    messages: list[dict[str, Any]],
    expected: ExpectedMatches,
    first: EngineAnswer,
) -> Iterator[str]:
    """Yield the sources that disagree with a batch answer: another path, the reference, or the first engine."""
    labels, table = compiled.labels, Table[Any](compiled)
    if not answer.equals(EngineAnswer(*compiled.match_batch(batch, 2)[:2])):
        yield "two threads"
    if any(table.match(message) != answer.interfaces(index, labels) for index, message in enumerate(messages)):
        yield "single messages"
    if any(right != answer.interfaces(index, labels) for index, right in expected.answers.items()):
        yield "the reference"
    if not answer.equals(first):
        yield "the first engine"
