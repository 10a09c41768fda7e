"""SendQueue: what is to be sent to a side that does not read fast enough, and what is given up?

Frames wait in their order. Of those that may be lost the oldest are dropped when all together are too many bytes, so
that what waits is what is newest. The others are never dropped: if they are too many, the link must be closed.

    spared     others that stood before frames which were dropped
    frames     all after that: (bytes, whether it may be lost)
"""

from __future__ import annotations

from collections import deque


class SendQueue:
    """The frames that wait to be sent over one link."""

    def __init__(self, most_lossy: int, most: int) -> None:
        """Take how many bytes may wait before some are dropped, and before the link must be closed."""
        self.most_lossy = most_lossy
        self.most = most
        self.drops = True  # if not, the link must be closed where something would be dropped
        self.size = 0  # bytes
        self._spared: list[bytes] = []
        self._frames: deque[tuple[bytes, bool]] = deque()

    @property
    def is_too_much(self) -> bool:
        """Whether more waits than the link may be kept open for."""
        return self.size > (self.most if self.drops else self.most_lossy)

    def add(self, data: bytes, *, is_lossy: bool) -> int:
        """Add a frame; return how many were dropped for it."""
        self._frames.append((data, is_lossy))
        self.size += len(data)
        dropped = 0
        while self.size > self.most_lossy and self._frames and self.drops:
            oldest, is_oldest_lossy = self._frames.popleft()
            if is_oldest_lossy:
                self.size -= len(oldest)
                dropped += 1
            else:
                self._spared.append(oldest)
        return dropped

    def take(self) -> bytes:
        """Return all that waits, to be sent now."""
        taken = b"".join([*self._spared, *(data for data, _ in self._frames)])
        self._spared.clear()
        self._frames.clear()
        self.size = 0
        return taken
