"""Receipt of announcements: changes to neighbours' streams, complete or in parts.

A change takes effect when it is complete. The one that opens a stream may have a million filters, so its parts are
stored as they arrive, with other frames served in between: nothing uses the stream before it is open.

A session may hold a limited number of filters, and of their bytes. They are counted as they arrive, including the parts
of incomplete changes. The streams of a session share filters and remove some, so this count may be too high: when it
exceeds a limit, the filters that are actually held are counted. The next exact count is due when another eighth of the
limit has arrived, so a session holds at most an eighth more than the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from cbnet._kernels.plain_filter import is_plain
from cbnet.errors import InputError
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.network.announce.announce_writer import read_change
from cbnet.network.announce.filter_counts import NOTHING, FilterCount, count, sum_counts
from cbnet.network.announce.retained_contents import RetainedContents
from cbnet.network.announce.streams import Incoming, StreamTable
from cbnet.network.forwarding.forwarding_table import SideKey
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.protocol.frames import Announce, StreamChange
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import WireError

_MAX_SESSION_STREAMS = 4_096
_SLACK = 8  # 1/_SLACK of a limit may arrive between two exact counts


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


@dataclass
class _Parts:
    """The parts of a change that have arrived."""

    added: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))  # filters, by kind
    removed: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))
    count: PartCount = NO_PARTS


class StreamReceiver:
    """Applies the changes that neighbours announce; raises a `WireError` for invalid ones."""

    def __init__(self, context: RouterContext, streams: StreamTable, retained: RetainedContents) -> None:
        self._streams = streams
        self._retained = retained
        self._parts: dict[Incoming, _Parts] = {}  # of incomplete changes
        self._limits = SessionLimits(context, streams, self._incomplete)

    def receive(self, neighbour: str, session: int, frame: Announce, change: StreamChange) -> Incoming | None:
        """Apply a change to a stream, or a part of one; return the stream if the change is complete."""
        stream = self._streams.by_number.get((session, change.number))
        if stream is None:
            stream = self._accept(neighbour, session, change)
        elif change.sequence != stream.sequence + 1:
            raise WireError(f"change {change.sequence} of a stream follows {stream.sequence}")
        parts = self._collect(stream, frame, change)
        if stream.is_open and not change.is_last:
            return None
        self._store(stream, parts)
        if not change.is_last:
            self._parts[stream] = _Parts()
            return None
        del self._parts[stream]
        stream.sequence = change.sequence
        return stream

    def _store(self, stream: Incoming, parts: _Parts) -> None:
        for kind, added, removed in zip(self._streams.kinds, parts.added, parts.removed, strict=True):
            try:
                kind.change(stream, added, removed)
            except InputError as error:
                raise WireError(error.summary) from None

    def incomplete_sessions(self) -> set[int]:
        """Return the sessions that have sent a part of a change."""
        return {stream.key.session for stream in self._parts}

    def close_session(self, session: int) -> None:
        """Forget a session and the parts of its incomplete changes."""
        self._limits.close_session(session)
        for stream in [each for each in self._parts if each.key.session == session]:
            del self._parts[stream]

    def _incomplete(self, session: int) -> PartCount:
        counts = (parts.count for stream, parts in self._parts.items() if stream.key.session == session)
        return reduce(PartCount.plus, counts, NO_PARTS)

    def forget(self, stream: Incoming) -> None:
        """Forget the parts of an incomplete change."""
        self._parts.pop(stream, None)

    def _collect(self, stream: Incoming, frame: Announce, change: StreamChange) -> _Parts:
        """Add the part in a frame to the others of its change; return them all."""
        try:
            differences = read_change(frame, change)
        except IndexError:
            raise WireError("a change names a filter that is not in its frame") from None
        if not change.is_last:
            _decode_ahead(frame)
        parts = self._parts.setdefault(stream, _Parts())
        for added, removed, part in zip(parts.added, parts.removed, differences, strict=True):
            added += part.added
            removed += part.removed
        new_added, new_removed = (sum_counts(map(count, lists)) for lists in zip(*differences, strict=True))
        parts.count = parts.count.plus(PartCount(new_added, new_removed))
        self._limits.add(stream.key.session, new_added.plus(new_removed))
        return parts

    def _accept(self, neighbour: str, session: int, change: StreamChange) -> Incoming:
        """Add a stream that a neighbour opens."""
        base = (
            self._retained.received(neighbour, change.base)
            if isinstance(change.base, bytes)
            else self._streams.by_number.get((session, change.base))
        )
        if change.sequence != 1 or not change.number or not change.side or (change.base and base is None):
            raise WireError("a change of a stream that is not open")
        if sum(key.session == session for key in self._streams.incoming) >= _MAX_SESSION_STREAMS:
            raise WireError(f"more than {_MAX_SESSION_STREAMS:,} streams")
        stream = Incoming(SideKey(neighbour, session, change.side), change.number)
        if stream.key in self._streams.incoming:
            raise WireError("a second stream for the same side")
        self._streams.add_incoming(stream, base)
        if isinstance(change.base, bytes):
            self._limits.add(session, self._retained.count(neighbour, change.base))
        return stream


def _decode_ahead(frame: Announce) -> None:
    """Decode the filters with conditions of a part, so that the complete change takes effect quickly."""
    for encoded in (*frame.filters, *frame.offers):
        if not is_plain(encoded):
            try:
                filter_from_bytes(encoded)  # keeps the last filters
            except InputError as error:
                raise WireError(error.summary) from None
