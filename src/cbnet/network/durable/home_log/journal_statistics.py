"""Figures of a journal: how long its transactions take, and how much space it has.

The thread of the journal writes them, and the event loop reads them: each is a number of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

COMMIT_BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds


class JournalSize(NamedTuple):
    """The space of a journal in a folder, in bytes."""

    used: int  # by its files
    free: int  # of these: that further messages take first
    disk: int  # free on its disk


class JournalStatistics:
    """The figures of one journal since the router has started."""

    def __init__(self) -> None:
        self.within = [0] * (len(COMMIT_BOUNDS) + 1)  # transactions, by the first bound that they did not exceed
        self.seconds = 0.0  # of all transactions
        self.size: JournalSize | None = None  # None: unknown

    def committed(self, seconds: float) -> None:
        """Count a transaction that is on disk."""
        self.within[bisect_left(COMMIT_BOUNDS, seconds)] += 1
        self.seconds += seconds

    def quantile(self, fraction: float) -> float:
        """Return a time within which this fraction of the transactions was on disk: one of the bounds; 0: none was."""
        counts = [*self.within]
        due = fraction * sum(counts)
        if not due:
            return 0.0
        for bound, count in zip(COMMIT_BOUNDS, counts, strict=False):
            due -= count
            if due <= 0:
                return bound
        return COMMIT_BOUNDS[-1] * 2
