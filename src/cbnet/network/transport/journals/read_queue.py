"""Reads of a journal that wait: payers take turns, so that the reads of one wait for one of each other payer at most.

payer a     read 1  read 2  read 3            next: 1, 4, 2, 5, 3
payer b     read 4  read 5
"""

from __future__ import annotations

from collections import deque

from cbnet.network.durable.home_log.journal import Read


class ReadQueue:
    """The reads that wait."""

    def __init__(self) -> None:
        self._reads: dict[str, deque[Read]] = {}  # by payer; the next one in turn is first

    def __bool__(self) -> bool:
        return bool(self._reads)

    def add(self, read: Read) -> None:
        """Add a read."""
        self._reads.setdefault(read.payer, deque()).append(read)

    def take(self) -> Read:
        """Remove and return the next read; there must be one."""
        payer = next(iter(self._reads))
        reads = self._reads.pop(payer)
        read = reads.popleft()
        if reads:
            self._reads[payer] = reads
        return read
