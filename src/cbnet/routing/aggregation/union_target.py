"""Targets of reduced unions: their sources, and the changes that are not sent yet.

Very many filters are sent to a neighbour in slices, by a cursor over the rows:

    rows    0 … cursor     sent: a change is recorded, and sent after the last slice
            cursor …       not sent yet: a change is ignored, because the cursor will see its result

The first slice may refer to the content of another target at that moment (`former`). Rows above the cursor then stand
for the part of that content that the neighbour has; a filter deleted in the meantime is recorded in `gone`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

ALL = sys.maxsize  # a cursor that has passed all rows


class UnionTarget:
    """A set of sources, and the announced or withdrawn filters that are not sent yet."""

    __slots__ = ("base", "bit", "cursor", "former", "gone", "pending", "size", "sources")

    def __init__(self, bit: int, sources: int) -> None:
        self.bit = bit
        self.sources = sources  # bits
        self.size = 0
        self.pending: dict[bytes, bool] = {}  # by filter: whether it was announced or withdrawn
        self.cursor = 0  # rows from here on are not sent yet
        self.base = 0  # the bit of the target whose content the neighbour has
        self.former: list[int] = []  # the announced bits of each row when the neighbour had that content
        self.gone: list[bytes] = []  # filters of that content that were deleted above the cursor

    def note(self, row: int, filter: bytes, *, is_announced: bool) -> None:
        """Record that a row was announced or withdrawn."""
        self.size += 1 if is_announced else -1
        if row < self.cursor and self.pending.pop(filter, None) is None:
            self.pending[filter] = is_announced

    def complete(self) -> None:
        """Record all changes from now on."""
        self.cursor, self.base, self.former, self.gone = ALL, 0, [], []

    def begin(self, base: int, former: list[int]) -> None:
        """Start to send the content; base: the bit of a target whose content the neighbour has, 0 for none."""
        self.cursor, self.base, self.former, self.gone = 0, base, former, []
        self.pending.clear()

    def had(self, row: int) -> bool:
        """Return whether the neighbour has the filter of a row above the cursor."""
        return row < len(self.former) and bool(self.former[row] & self.base)

    def forget_row(self, row: int, filter: bytes) -> None:
        """Record the filter of a deleted row above the cursor, which may be reused for another filter."""
        if self.base and row >= self.cursor and self.had(row):
            self.gone.append(filter)
            self.former[row] = 0

    def take_gone(self) -> Iterable[bytes]:
        """Return the filters that were deleted above the cursor since the last call."""
        gone, self.gone = self.gone, []
        return gone
