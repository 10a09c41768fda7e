"""Monotonic clock of a router, independent of jumps of the machine's clock.

`now` never runs back, and grows by at most `max_step` per update: a jump alone closes no link and expires no record.
`elapsed` counts steps in full; it bounds how long replies are cached, also while the process was suspended.
"""

from __future__ import annotations


class Clock:
    """Seconds since the start, driven by another clock."""

    def __init__(self, max_step: float) -> None:
        self.now = 0.0
        self.elapsed = 0.0  # with steps of any length
        self._max_step = max_step
        self._last: float | None = None

    def advance(self, now: float) -> None:
        """Advance to the time of the other clock."""
        step = 0.0 if self._last is None else now - self._last
        self._last = now
        self.now += min(max(step, 0.0), self._max_step)
        self.elapsed += max(step, 0.0)
