"""Reserves: the unused part of a rate, of messages, bytes or processor time."""

from __future__ import annotations


class Reserve:
    """The unused part of a rate; at most the amount that accrues in one second."""

    def __init__(self, now: float) -> None:
        self._left: float | None = None  # None: full
        self._since = now

    def left(self, rate: int, now: float) -> float:
        """Return the remaining amount."""
        accrued = rate * max(0.0, now - self._since)
        self._since = now
        self._left = float(rate) if self._left is None else min(self._left + accrued, float(rate))
        return self._left

    def use(self, count: int) -> None:
        """Use `count` of the reserve; an excess over the remaining amount becomes a debt."""
        if self._left is not None:
            self._left -= count
