"""Exponential backoff with jitter.

Without jitter, all clients of a failed router would reconnect at the same moment.
"""

from __future__ import annotations

from random import Random


class Backoff:
    """Delays between failed attempts."""

    def __init__(self, first: float = 0.1, maximum: float = 5.0, random: Random | None = None) -> None:
        self._first = first
        self._maximum = maximum
        self._random = random or Random()
        self._next = first

    def next(self) -> float:
        """Return the next delay in seconds: 50 to 100 % of a value that doubles up to the maximum."""
        delay = self._next
        self._next = min(2 * delay, self._maximum)
        return delay * self._random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Restart with the shortest delay, after a success."""
        self._next = self._first
