"""Timed table: how long does a router match? Of many matches one is timed, so that this costs next to nothing.

By the time of the processor, as the time on the wall goes on while a router waits for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from time import thread_time_ns
from typing import Any

from cbnet.language.message import Message
from cbnet.matching import LiveTable

_ONE_IN = 64


class TimedTable(LiveTable[int]):
    """A live table that knows how often it was asked, and times some of its answers."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._untimed = 0
        self._timed = 0
        self._ns = 0

    def match(self, message: Message | Mapping[str, Any]) -> list[int]:
        """Return the interfaces that the message goes to."""
        if self._untimed < _ONE_IN:
            self._untimed += 1
            return super().match(message)
        self._untimed = 1
        start = thread_time_ns()
        found = super().match(message)
        self._ns += thread_time_ns() - start
        self._timed += 1
        return found

    def times(self) -> Counter[str]:
        """Return how often it was asked, how many of the answers were timed, and how long these took."""
        asked = self._timed * _ONE_IN + self._untimed
        return Counter({"matches": asked, "matches timed": self._timed, "matches timed, ns": self._ns})
