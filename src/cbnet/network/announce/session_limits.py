"""Limits on the filters that one session can make a router hold: their number and their size in bytes.

Filters are counted as they arrive, including the parts of incomplete changes. The streams of a session share filters
and remove some, so this count may be too high: when it exceeds a limit, the filters that are actually held are counted.
The next exact count is due when another eighth of the limit has arrived, so a session holds at most an eighth more than
the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import reduce
from typing import NamedTuple

from cbnet.network.announce.streams import StreamTable
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import WireError

_SLACK = 8  # 1/_SLACK of a limit may arrive between two exact counts


class FilterCount(NamedTuple):
    """A number of filters, and their size in bytes."""

    filters: int
    bytes: int

    def plus(self, other: FilterCount) -> FilterCount:
        """Return the sum."""
        return FilterCount(self.filters + other.filters, self.bytes + other.bytes)

    def minus(self, other: FilterCount) -> FilterCount:
        """Return the difference, at least 0."""
        return FilterCount(max(0, self.filters - other.filters), max(0, self.bytes - other.bytes))

    def exceeds(self, limit: FilterCount) -> bool:
        """Return whether either number exceeds its limit."""
        return self.filters > limit.filters or self.bytes > limit.bytes


NOTHING = FilterCount(0, 0)


def sum_counts(counts: Iterable[FilterCount]) -> FilterCount:
    """Return the sum of several counts."""
    return reduce(FilterCount.plus, counts, NOTHING)


def count(filters: Collection[bytes]) -> FilterCount:
    """Return the number of filters, and their size in bytes."""
    return FilterCount(len(filters), sum(map(len, filters)))


class PartCount(NamedTuple):
    """The size of the parts of incomplete changes."""

    added: FilterCount
    removed: FilterCount

    def plus(self, other: PartCount) -> PartCount:
        """Return the sum."""
        return PartCount(self.added.plus(other.added), self.removed.plus(other.removed))


NO_PARTS = PartCount(NOTHING, NOTHING)


class SessionLimits:
    """The filters that the sessions of one router have sent, and the limits."""

    def __init__(
        self, context: RouterContext, streams: StreamTable, incomplete: Callable[[int], PartCount]
    ) -> None:  # fmt: skip
        """Initialise; incomplete: returns the size of the parts of a session's incomplete changes."""
        self._context = context
        self._streams = streams
        self._incomplete = incomplete
        self._arrived: dict[int, FilterCount] = {}  # held at the last exact count, or arrived since; by session
        self._due: dict[int, FilterCount] = {}  # the count that triggers the next exact one, by session

    @property
    def limit(self) -> FilterCount:
        """The maximum that a session may announce."""
        return FilterCount(self._context.settings.session_filters, self._context.settings.session_bytes)

    def add(self, session: int, arrived: FilterCount) -> None:
        """Count filters of a session; raise a `WireError` if it has too many."""
        total = self._arrived[session] = self._arrived.get(session, NOTHING).plus(arrived)
        if total.exceeds(self._due.get(session, self.limit)):
            self._count(session)

    def close_session(self, session: int) -> None:
        """Forget a session."""
        self._arrived.pop(session, None)
        self._due.pop(session, None)

    def _count(self, session: int) -> None:
        streams = [stream for key, stream in self._streams.incoming.items() if key.session == session]
        held = sum_counts(FilterCount(*kind.total(streams)) for kind in self._streams.kinds)
        parts = self._incomplete(session)
        expected = held.plus(parts.added).minus(parts.removed)
        if expected.exceeds(self.limit) or parts.removed.exceeds(self.limit):
            self._context.counters[Event.LINKS_OVER_LIMIT] += 1
            raise WireError(
                f"this link announces {expected.filters:,} filters of {expected.bytes:,} bytes; "
                f"the limits of this router are {self.limit.filters:,} (`session_filters`) "
                f"and {self.limit.bytes:,} (`session_bytes`)",
                ReasonCode.LIMIT,
            )
        held = self._arrived[session] = held.plus(parts.added).plus(parts.removed)
        self._due[session] = FilterCount(
            max(self.limit.filters, held.filters + self.limit.filters // _SLACK),
            max(self.limit.bytes, held.bytes + self.limit.bytes // _SLACK),
        )
