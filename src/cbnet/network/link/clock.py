"""Clock: how much time has passed, whatever the clock of the machine does?

The clock that a router is told may jump. Time never runs back here; and a step that is too long to be waiting for
the next tick counts as the longest one, so that a jump alone makes no link dead and no record old. What must not be
kept too long goes by `elapsed`, in which such a step counts whole: while a process stood still, others went on.
"""

from __future__ import annotations


class Clock:
    """Seconds that only grow, by at most so many at a time."""

    def __init__(self, longest: float) -> None:
        self.now = 0.0
        self.elapsed = 0.0  # with steps of any length
        self._longest = longest
        self._told: float | None = None

    def tell(self, now: float) -> None:
        """Take the time of another clock."""
        step = 0.0 if self._told is None else now - self._told
        self._told = now
        self.now += min(max(step, 0.0), self._longest)
        self.elapsed += max(step, 0.0)
