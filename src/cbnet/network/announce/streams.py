"""Announcement streams: the aggregated predicate of one side of a link, as a sequence of changes; and their table.

    Incoming     from a neighbour; its content is the predicate of the interface to it, on each tree with this side
    Outgoing     to a neighbour; its content is the reduced union of this router's own filters and of `feeds`

A change is acknowledged to the neighbour once the streams that it feeds have acknowledged the changes it caused there.
To track this, an incoming stream logs, for each change, the sequence numbers that its outgoing streams had after it. As
these only grow, a later entry requires everything that earlier ones do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cbnet.network.forwarding.forwarding_table import Fib, SideKey
from cbnet.network.linkstate.tree_view import TreeLink
from cbnet.routing.aggregation.aggregation import Difference

_MIN_SINCE = 64
_MAX_LOG = 64  # changes whose acknowledgement is pending; more are acknowledged together


@dataclass(eq=False)
class Outgoing:
    """A stream to a neighbour."""

    key: SideKey
    number: int
    feeds: tuple[Incoming, ...]
    is_open: bool = True
    is_begun: bool = False  # a part of its first change was sent
    sequence: int = 1  # of the last change that was sent
    acked: int = 0  # the streams downstream have all changes up to this one
    stamped: dict[int, int] = field(default_factory=dict)  # by version: all routers downstream have changes up to this
    waiting: list[str] = field(default_factory=list)  # downstream links that have not acknowledged the last change
    settled: int = 0  # acknowledged and stamped; older announcements need no sequence number of their own
    # The change that announced a filter, by kind and filter: of all filters after `settled`, perhaps of older ones.
    since: dict[tuple[int, bytes], int] = field(default_factory=dict)
    _max_since: int = _MIN_SINCE

    def has(self, sequence: int) -> bool:
        """Return whether a change needs no further acknowledgement: it is acknowledged, or the stream has ended."""
        return not self.is_open or self.acked >= sequence

    def is_stamped(self, version: int, sequence: int) -> bool:
        """Return whether all routers downstream have a change, in a version of the topology."""
        return self.is_open and self.stamped.get(version, 0) >= max(1, sequence)

    def acknowledge(self, sequence: int, version: int, newest: int) -> None:
        """Record an acknowledgement; newest: the id of the newest version."""
        if version:
            self.stamped[version] = max(sequence, self.stamped.get(version, 0))
            for other in [each for each in self.stamped if each not in (version, newest)]:
                del self.stamped[other]
        else:
            self.acked = max(sequence, self.acked)
        self._settle(min(self.acked, self.stamped.get(newest, 0)))
        if self.settled == self.sequence:
            self.waiting = []

    def note(self, *differences: Difference) -> None:
        """Record the filters that the last change announces."""
        for kind, difference in enumerate(differences):
            self.since.update(dict.fromkeys(((kind, each) for each in difference.added), self.sequence))

    def _settle(self, settled: int) -> None:
        self.settled = max(settled, self.settled)
        if len(self.since) > self._max_since:
            self.since = {each: change for each, change in self.since.items() if change > self.settled}
            self._max_since = 2 * len(self.since) + _MIN_SINCE


Needs = Mapping[Outgoing, int]  # the sequence numbers that must be acknowledged


@dataclass(eq=False)
class Incoming:
    """A stream from a neighbour."""

    key: SideKey
    number: int
    sequence: int = 0  # of the last complete change; 0: it is still being opened
    acked: int = 0
    stamped: tuple[int, int] = (0, 0)  # version and sequence of the last acknowledgement for a version
    log: list[tuple[int, Needs]] = field(default_factory=list)
    blockers: dict[str, Outgoing | None] = field(default_factory=dict)  # of the next acknowledgement of either kind
    changed: float = 0.0  # time of the last change
    reported: list[str] = field(default_factory=list)  # links waited for, as last reported to the neighbour

    @property
    def is_open(self) -> bool:
        """Whether its first change has arrived."""
        return self.sequence > 0

    def record(self, needs: Needs, now: float) -> None:
        """Log the sequence numbers that the last change requires."""
        self.changed = now
        self.log.append((self.sequence, needs))
        if len(self.log) > _MAX_LOG:
            del self.log[1:-1:2]  # never the oldest: it would not be acknowledged until changes stop

    def forget_done(self) -> None:
        """Shorten the log: of the fully acknowledged changes, later versions need only the last one."""
        done = min(self.acked, self.stamped[1])
        while len(self.log) > 1 and self.log[1][0] <= done:
            del self.log[0]

    def acknowledged(self) -> int:
        """Return the last change that all streams fed by this one have acknowledged."""
        last, self.blockers["streams"] = self._last(
            lambda needs: next((outgoing for outgoing, needed in needs.items() if not outgoing.has(needed)), None)
        )
        return max(last, self.acked)

    def stampable(self, version: int, beyond: Sequence[Outgoing]) -> int:
        """Return the last change that all routers downstream have, in a version."""
        last, self.blockers["version"] = self._last(
            lambda needs: next((each for each in beyond if not each.is_stamped(version, needs.get(each, 0))), None)
        )
        return last

    def _last(self, blocker: Callable[[Needs], Outgoing | None]) -> tuple[int, Outgoing | None]:
        """Return the last unblocked change in the log, and the stream that blocks the next one and all after it."""
        count = bisect_left(self.log, True, key=lambda entry: blocker(entry[1]) is not None)
        return self.log[count - 1][0] if count else 0, blocker(self.log[count][1]) if count < len(self.log) else None


class StreamTable:
    """The incoming and outgoing streams of a router, whose contents fill its forwarding tables."""

    def __init__(self, fib: Fib, offer_fib: Fib) -> None:
        self._fibs = fib, offer_fib
        self.kinds = fib.aggregation, offer_fib.aggregation  # what streams announce: subscriptions and offers
        self.incoming: dict[SideKey, Incoming] = {}
        self.outgoing: dict[SideKey, Outgoing] = {}
        self.by_number: dict[tuple[int, int], Incoming] = {}  # by session and number
        self.to_number: dict[tuple[int, int], Outgoing] = {}
        self._fed: dict[Incoming, dict[Outgoing, None]] = {}  # a hub has many streams, and each change looks these up
        self.generation = 0  # changes with the versions, the links and the set of streams

    # --- lookup

    def from_side(self, link: TreeLink) -> Incoming | None:
        """Return the stream that announces the side behind a link of a tree, if it is open."""
        stream = self.incoming.get(SideKey(link.neighbour, link.session, link.far_key))
        return stream if stream is not None and stream.is_open else None

    def to_side(self, link: TreeLink) -> Outgoing | None:
        """Return the stream that announces this router's side over a link of a tree."""
        return self.outgoing.get(SideKey(link.neighbour, link.session, link.near_key))

    def fed_by(self, stream: Incoming) -> list[Outgoing]:
        """Return the outgoing streams that an incoming one feeds."""
        return list(self._fed.get(stream, ()))

    def of_session(self, session: int) -> Iterator[Outgoing]:
        """Yield the outgoing streams of a session."""
        return (stream for stream in list(self.outgoing.values()) if stream.key.session == session)

    # --- changes

    def forget_interfaces(self) -> None:
        """Compute the interfaces to neighbours again: versions, links or streams have changed."""
        self.generation += 1
        for fib in self._fibs:
            fib.forget_interfaces()

    def add_incoming(self, stream: Incoming, base: Incoming | None) -> None:
        """Add a stream from a neighbour, initially with the content of another one, if given."""
        self.add_source(stream, base)
        self.by_number[stream.key.session, stream.number] = stream
        self.incoming[stream.key] = stream

    def open_incoming(self, stream: Incoming) -> None:
        """Let a stream describe its side: its first change is complete."""
        for fib in self._fibs:
            fib.connect(stream.key, stream)
        self.forget_interfaces()

    def add_outgoing(self, stream: Outgoing, own: tuple[object, ...]) -> None:
        """Add a stream to a neighbour; own: the sources of this router itself."""
        for kind in self.kinds:
            kind.open(stream, (*own, *stream.feeds))
        self.to_number[stream.key.session, stream.number] = stream
        self.outgoing[stream.key] = stream
        for feeding in stream.feeds:
            self._fed.setdefault(feeding, {})[stream] = None
        self.generation += 1

    def add_source(self, stream: Incoming, base: Incoming | None = None) -> None:
        """Add the content of a stream."""
        for kind in self.kinds:
            kind.add_source(stream, base)

    def remove_source(self, stream: Incoming) -> None:
        """Remove the content of a stream, which must not feed any other stream."""
        for kind in self.kinds:
            kind.remove_source(stream)

    def remove_incoming(self, stream: Incoming) -> None:
        """Remove a stream from a neighbour, without its content."""
        del self.by_number[stream.key.session, stream.number]
        if self.incoming.get(stream.key) is stream:
            del self.incoming[stream.key]
            for fib in self._fibs:
                fib.disconnect(stream.key)
        self.forget_interfaces()

    def remove_outgoing(self, stream: Outgoing) -> None:
        """Remove a stream to a neighbour."""
        stream.is_open = False
        self.generation += 1
        for kind in self.kinds:
            kind.close(stream)
        del self.outgoing[stream.key], self.to_number[stream.key.session, stream.number]
        for feeding in stream.feeds:
            fed = self._fed[feeding]
            del fed[stream]
            if not fed:
                del self._fed[feeding]
