"""Work on reduced unions, done in slices so that a router with very many filters never stalls.

A `Sweep` withdraws very many filters that an announced one dominates. If the dominating filter has no source any more,
the sweep announces them again, and withdraws that filter last. A `Fill` opens a target, or starts to compare its
filters.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


class RowQueue:
    """Rows to visit, in the order in which they were added."""

    def __init__(self, parts: Iterable[array[int]] = ()) -> None:
        self._parts = [part[:] for part in parts if part]
        self._next = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts)) - self._next

    def take(self, count: int) -> Iterator[int]:
        """Yield the next rows, at most `count`."""
        while self._parts and count > 0:
            first = self._parts[0]
            rows = first[self._next : self._next + count]
            self._next += len(rows)
            count -= len(rows)
            if self._next >= len(first):
                del self._parts[0]
                self._next = 0
            yield from rows


@dataclass
class Sweep:
    """A pass over all rows that one row dominates.

    Invariant: only the first sweep in the queue has visited rows; the others begin with row 0.
    """

    row: int
    hiding: int = 0  # bits of the targets where the row is announced and the dominated rows are withdrawn
    reviving: int = 0  # bits of the targets where the row has no source any more and the dominated rows are announced
    cursor: int = 0  # rows below it have been visited
    is_partial: bool = False  # whether the row lost its sources before all dominated rows were withdrawn


@dataclass
class Fill:
    """The work that remains before the content of a target is exact."""

    bit: int
    is_opening: bool  # whether the target is new: nothing has been sent yet
    is_indexed: bool = False
    indexed: RowQueue = field(default_factory=RowQueue)  # rows to add to the index
    whole: int = 0  # bit of a reduced source; all its filters are announced until they are compared with others
    plain: RowQueue = field(default_factory=RowQueue)  # rows to announce without comparison
    compared: RowQueue = field(default_factory=RowQueue)  # rows to compare
    former: RowQueue = field(default_factory=RowQueue)  # rows of the copied target that may not belong to this one
    is_first: bool = False  # whether nothing but the compared rows is announced
