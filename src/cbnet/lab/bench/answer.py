"""Answer: where do all messages go, according to one engine, and who says otherwise?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.matching.table import Table

if TYPE_CHECKING:
    from cbnet._kernels.message_encoding import Batch
    from cbnet.lab.bench.expected import Expected
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.storage.columns import Array


@dataclass(frozen=True)
class Answer:
    """The targets of all messages; those of message i are targets[offsets[i]:offsets[i + 1]]."""

    offsets: Array  # int64[messages + 1]
    targets: Array  # uint32[deliveries]

    def equals(self, other: Answer) -> bool:
        """Return whether all is the same, the order too."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.targets, other.targets)

    def interfaces(self, message: int, labels: list[str | int]) -> list[str | int]:
        """Return where one message goes."""
        targets = self.targets[self.offsets[message] : self.offsets[message + 1]]
        return [labels[target] for target in targets.tolist()]


def differences(
    answer: Answer, compiled: Compiled, batch: Batch, members: list[dict[str, Any]], expected: Expected, first: Answer
) -> Iterator[str]:
    """Yield who does not agree with the answer of a batch: the other paths, the reference, the first engine."""
    labels, table = compiled.labels, Table[Any](compiled)
    if not answer.equals(Answer(*compiled.match_batch(batch, 2)[:2])):
        yield "two threads"
    if any(table.match(message) != answer.interfaces(place, labels) for place, message in enumerate(members)):
        yield "single messages"
    if any(right != answer.interfaces(place, labels) for place, right in expected.answers.items()):
        yield "the reference"
    if not answer.equals(first):
        yield "the first engine"
