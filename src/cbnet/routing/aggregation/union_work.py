"""Work on reduced unions that is done in slices, so that a router with very many filters never stalls.

A `Sweep` withdraws very many filters that an announced one dominates; or, if this one has no source any more, announces
them again and withdraws it last. A `Fill` opens a target, or begins to compare its filters.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


class RowQueue:
    """Rows to be visited, in the order in which they were added."""

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
    hiding: int = 0  # bits of the targets where it is announced, and the dominated ones are withdrawn
    reviving: int = 0  # where it has no source any more, and they are announced
    cursor: int = 0  # rows below were visited
    is_partial: bool = False  # whether it lost its sources before all that it dominates was withdrawn


@dataclass
class Fill:
    """What is to be done before the content of a target is exact."""

    bit: int
    is_opening: bool  # nobody has been told anything yet
    is_indexed: bool = False
    indexed: RowQueue = field(default_factory=RowQueue)  # rows to add to the index
    whole: int = 0  # bit of a reduced source whose filters are all announced, until they are compared with others
    plain: RowQueue = field(default_factory=RowQueue)  # rows to announce, whatever else is announced
    compared: RowQueue = field(default_factory=RowQueue)  # rows to compare
    former: RowQueue = field(default_factory=RowQueue)  # rows of a similar target that are perhaps not in this one
    is_first: bool = False  # whether the compared rows are all that is announced
