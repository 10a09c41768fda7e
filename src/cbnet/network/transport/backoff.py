"""Backoff: how long to wait before the next attempt? Twice as long as before, up to a limit, and never exactly.

Many clients that lose one router at the same moment would else all come back at the same moment.
"""

from __future__ import annotations

from random import Random


class Backoff:
    """The times to wait between attempts that fail."""

    def __init__(self, first: float = 0.1, most: float = 5.0, random: Random | None = None) -> None:
        self._first = first
        self._most = most
        self._random = random or Random()
        self._next = first

    def next(self) -> float:
        """Return how long to wait now, in seconds: between half and all of a time that doubles."""
        wait = self._next
        self._next = min(2 * wait, self._most)
        return wait * self._random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Begin again with the shortest time: an attempt has succeeded."""
        self._next = self._first
