"""Targets of reduced unions: their sources, and the filters announced or withdrawn since the last time.

A neighbour that gets very many filters gets them in slices, by a cursor over the rows:

    rows    0 … cursor     announced: a change is noted, and sent after the last slice
            cursor …       not announced yet: a change is ignored, the cursor will see the result

The first slice may refer to what another target had at that moment (`former`). Then rows above the cursor stand for
what the neighbour has from there; a filter that is deleted meanwhile is noted in `gone`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

ALL = sys.maxsize  # a cursor that has passed all rows


class UnionTarget:
    """A set of sources, and the filters announced or withdrawn since the last time."""

    __slots__ = ("base", "bit", "cursor", "former", "gone", "pending", "size", "sources")

    def __init__(self, bit: int, sources: int) -> None:
        self.bit = bit
        self.sources = sources  # bits
        self.size = 0
        self.pending: dict[bytes, bool] = {}  # whether it was announced
        self.cursor = 0  # rows from here on are not announced yet
        self.base = 0  # the bit of the target whose content the neighbour has
        self.former: list[int] = []  # the announced bits of each row when this was so
        self.gone: list[bytes] = []  # filters of it that were deleted above the cursor

    def note(self, row: int, filter: bytes, *, is_announced: bool) -> None:
        """Note that a row was announced or withdrawn."""
        self.size += 1 if is_announced else -1
        if row < self.cursor and self.pending.pop(filter, None) is None:
            self.pending[filter] = is_announced

    def complete(self) -> None:
        """Note all changes from now on."""
        self.cursor, self.base, self.former, self.gone = ALL, 0, [], []

    def begin(self, base: int, former: list[int]) -> None:
        """Begin to announce; base: the bit of a target whose content the neighbour has, 0 for none."""
        self.cursor, self.base, self.former, self.gone = 0, base, former, []
        self.pending.clear()

    def had(self, row: int) -> bool:
        """Return whether the neighbour has the filter of a row above the cursor."""
        return row < len(self.former) and bool(self.former[row] & self.base)

    def forget_row(self, row: int, filter: bytes) -> None:
        """Note that a row above the cursor may get another filter."""
        if self.base and row >= self.cursor and self.had(row):
            self.gone.append(filter)
            self.former[row] = 0

    def take_gone(self) -> Iterable[bytes]:
        """Return the filters that were deleted above the cursor since the last call."""
        gone, self.gone = self.gone, []
        return gone
