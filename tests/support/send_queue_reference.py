"""Bounded queue for a slow peer in plain Python: what `FrameBuffer` must do.

kept       lossless frames that stood before dropped ones
frames     all later frames: (bytes, whether it is lossy)
"""

from __future__ import annotations

from collections import deque


class SendQueue:
    """The frames queued for one link."""

    def __init__(self, max_lossy: int, max_size: int) -> None:
        """Initialise with the number of bytes above which frames are dropped, and above which the link is closed."""
        self.max_lossy = max_lossy
        self.max_size = max_size
        self.drops = True  # if False, the link is closed where a frame would be dropped
        self.size = 0  # bytes
        self._kept: list[bytes] = []
        self._frames: deque[tuple[bytes, bool]] = deque()

    @property
    def is_overfull(self) -> bool:
        """Whether the link must be closed."""
        return self.size > (self.max_size if self.drops else self.max_lossy)

    def add(self, data: bytes, *, is_lossy: bool) -> int:
        """Add a frame; return the number of frames dropped."""
        self._frames.append((data, is_lossy))
        self.size += len(data)
        dropped = 0
        while self.size > self.max_lossy and self._frames and self.drops:
            oldest, is_oldest_lossy = self._frames.popleft()
            if is_oldest_lossy:
                self.size -= len(oldest)
                dropped += 1
            else:
                self._kept.append(oldest)
        return dropped

    def take(self) -> bytes:
        """Remove and return all queued bytes."""
        taken = b"".join([*self._kept, *(data for data, _ in self._frames)])
        self._kept.clear()
        self._frames.clear()
        self.size = 0
        return taken
