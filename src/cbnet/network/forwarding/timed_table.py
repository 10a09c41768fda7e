"""Live table that times a sample of its matches.

One match in 64 is timed, so the cost is negligible; by processor time, as other processes delay the wall clock.

    up to µs    1    2    5   10  …   more
    matches    12   40    7    0  …      0
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from operator import add
from time import thread_time_ns
from typing import Any

from cbnet._kernels.frame_matching import LiveMatcher
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching import LiveTable, Table
from cbnet.matching.item_payment import MatchingCredit
from cbnet.matching.storage.filter_encoding import EncodedFilter
from cbnet.network.link.counters import Event

_SAMPLE_INTERVAL = 64
BOUNDS_NS = tuple(step * 10**power for power in range(3, 8) for step in (1, 2, 5))  # 1 µs to 50 ms


@cache
def empty_table() -> Table[int]:
    """Return the empty table that all live tables start with: compiling one takes milliseconds."""
    return Table.build({})


class TimedTable(LiveTable[int]):
    """A live table that counts its matches and times a sample of them.

    It does not look for covered filters: most filters come from streams, where none covers another, and the search
    would take longer than everything else.
    """

    reduces = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.size = 0  # filters, each counted once per interface
        self._untimed = 0
        self._timed = 0
        self._ns = 0
        self._within = [0] * (len(BOUNDS_NS) + 1)  # timed matches per bucket; the last one is unbounded
        self.matcher = LiveMatcher(self, BOUNDS_NS)  # of messages in frames

    def match(self, message: Message | Mapping[str, Any], credit: MatchingCredit | None = None) -> list[int]:
        """Return the interfaces that match a message."""
        if self._untimed < _SAMPLE_INTERVAL:
            self._untimed += 1
            return super().match(message, credit)
        self._untimed = 1
        start = thread_time_ns()
        interfaces = super().match(message, credit)
        duration = thread_time_ns() - start
        self._ns += duration
        self._timed += 1
        self._within[bisect_left(BOUNDS_NS, duration)] += 1
        return interfaces

    def add_tests(self, interface: int, filters: Collection[EncodedFilter]) -> None:
        """Add filters that the interface does not have."""
        super().add_tests(interface, filters)
        self.size += len(filters)

    def remove_tests(self, interface: int, filters: Collection[EncodedFilter]) -> None:
        """Remove filters that the interface has."""
        super().remove_tests(interface, filters)
        self.size -= len(filters)

    def fill(self, filters: Iterable[tuple[int, Filter]]) -> None:
        """Add very many filters that are not in the table."""
        listed = 0

        def counted() -> Iterator[tuple[int, Filter]]:
            nonlocal listed
            for each in filters:
                listed += 1
                yield each

        before = self.size
        super().fill(counted())
        self.size = before + listed

    @property
    def within(self) -> list[int]:
        """Timed matches per bucket; `BOUNDS_NS` are the upper bounds."""
        return list(map(add, self._within, self.matcher.within))

    def times(self) -> Counter[str]:
        """Return the number of matches, of timed matches, and the total time of these."""
        matches = self._timed * _SAMPLE_INTERVAL + self._untimed + self.matcher.matches
        timed, ns = self._timed + self.matcher.timed, self._ns + self.matcher.ns
        return Counter({Event.MATCHES: matches, Event.MATCHES_TIMED: timed, Event.MATCHES_TIMED_NS: ns})
