"""Timed table: how long does a router match? Of many matches one is timed, so that this costs next to nothing.

By the time of the processor, as the time on the wall goes on while a router waits for one.

    up to µs    1    2    5   10  …   more
    matches    12   40    7    0  …      0
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from time import thread_time_ns
from typing import Any

from cbnet.language.message import Message
from cbnet.matching import LiveTable
from cbnet.network.link.counters import Event

_ONE_IN = 64
BOUNDS_NS = tuple(step * 10**power for power in range(3, 8) for step in (1, 2, 5))  # 1 µs to 50 ms


class TimedTable(LiveTable[int]):
    """A live table that knows how often it was asked, and times some of its answers."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._untimed = 0
        self._timed = 0
        self._ns = 0
        self._within = [0] * (len(BOUNDS_NS) + 1)  # how many of those timed took up to so long, and longer than all

    def match(self, message: Message | Mapping[str, Any]) -> list[int]:
        """Return the interfaces that the message goes to."""
        if self._untimed < _ONE_IN:
            self._untimed += 1
            return super().match(message)
        self._untimed = 1
        start = thread_time_ns()
        found = super().match(message)
        took = thread_time_ns() - start
        self._ns += took
        self._timed += 1
        self._within[bisect_left(BOUNDS_NS, took)] += 1
        return found

    @property
    def within(self) -> list[int]:
        """How many of the matches that were timed took up to each of `BOUNDS_NS`, and not up to the one before."""
        return list(self._within)

    def times(self) -> Counter[str]:
        """Return how often it was asked, how many of the answers were timed, and how long these took."""
        asked = self._timed * _ONE_IN + self._untimed
        return Counter({Event.MATCHES: asked, Event.MATCHES_TIMED: self._timed, Event.MATCHES_TIMED_NS: self._ns})
