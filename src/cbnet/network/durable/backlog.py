"""Index of the unacknowledged messages of a durable subscription.

    first 7   sizes  300   0  120      offsets 7 and 9 are on disk, 8 is acknowledged; the next message gets 10
              times  5.0   –  6.5

The messages themselves are on disk; each takes twelve bytes of memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from cbnet.network.durable.journal import StockItem

_TRIM = 4_096  # acknowledged offsets at the beginning, beyond which the arrays are compacted


class Backlog:
    """Offsets, sizes and times of the messages of one subscription."""

    def __init__(self, following: int = 1, stock: Iterable[StockItem] = ()) -> None:
        """Create the index of some messages, in the order of offsets; following: the next offset."""
        self.next = following
        self.messages = 0
        self.bytes = 0
        self._base = following  # offset of the first element of the arrays
        self._start = 0  # elements before are acknowledged
        self._sizes = array("I")  # bytes + 1; 0: acknowledged
        self._times = array("d")
        for item in stock:
            if not self._sizes:
                self._base = item.offset
            self._fill(item.offset)
            self._add(item.size, item.time)
        if self._sizes:
            self._fill(following)

    def _fill(self, offset: int) -> None:
        missing = offset - self._base - len(self._sizes)
        self._sizes.extend([0] * missing)
        self._times.extend([0.0] * missing)

    def _add(self, size: int, time: float) -> None:
        self._sizes.append(size + 1)
        self._times.append(time)
        self.messages += 1
        self.bytes += size

    # --- lookup

    @property
    def first(self) -> int:
        """The lowest offset that is not acknowledged; the next one if all are."""
        return self._base + self._start

    def __contains__(self, offset: int) -> bool:
        index = offset - self._base
        return self._start <= index < len(self._sizes) and self._sizes[index] > 0

    def size(self, offset: int) -> int:
        """Return the size of a message that is not acknowledged."""
        return self._sizes[offset - self._base] - 1

    def time(self, offset: int) -> float:
        """Return the time of a message that is not acknowledged."""
        return self._times[offset - self._base]

    def since(self, time: float) -> int:
        """Return the first offset with this time or a later one, if times never decrease and no offset is missing."""
        return self._base + bisect_left(self._times, time, self._start)

    def __iter__(self) -> Iterator[int]:
        return (offset for offset in range(self.first, self.next) if offset in self)

    # --- changes

    def append(self, size: int, time: float) -> int:
        """Add a message; return its offset."""
        self._add(size, time)
        self.next += 1
        return self.next - 1

    def remove(self, offset: int) -> bool:
        """Remove a message; return whether it was there."""
        if offset not in self:
            return False
        index = offset - self._base
        self.messages -= 1
        self.bytes -= self._sizes[index] - 1
        self._sizes[index] = 0
        if index == self._start:
            self._trim()
        return True

    def _trim(self) -> None:
        sizes, end = self._sizes, len(self._sizes)
        start = self._start
        while start < end and not sizes[start]:
            start += 1
        self._start = start
        if start > _TRIM and start > end // 2:
            del self._sizes[:start], self._times[:start]
            self._base += start
            self._start = 0
