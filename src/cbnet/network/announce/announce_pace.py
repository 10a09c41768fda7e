"""The pace of long announcements: a neighbour gets further frames when it has handled earlier ones.

    this router ──Announce, Ping──► neighbour      other frames wait for `_WINDOW` of them at most
                ◄──────Pong──────
                ──Announce, Ping──►

A change of 900 filters with conditions takes a neighbour 0.15 s, in frames of some 5 ms (`announce_writer`): packets
behind all of them would wait for all. Packets may overtake announcements, which concern only what comes back.

Announcements of few filters do not wait, nor do those that open streams: a network may start with millions of filters.
Nor do more than `_MOST` frames, which take a neighbour some seconds. The steps in which a client adds many filters wait
while more than `_MANY` frames do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cbnet.network.announce.announce_writer import cost
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.frames import Announce

_WINDOW: Final = 3  # frames that a neighbour has not handled yet; it may be 0.2 s away
_MOST: Final = 256  # frames that wait for one neighbour
_MANY: Final = 4  # frames that wait
_LONG: Final = 1 << 12  # bytes of plain filters, or others that take as long: more than a millisecond


@dataclass
class _Waiting:
    link: int
    pings: deque[int] = field(default_factory=deque)  # behind frames that the neighbour has not handled, oldest first
    frames: deque[Announce] = field(default_factory=deque)


class AnnouncePace:
    """The announcements that wait, or that neighbours handle, by session."""

    def __init__(self, context: RouterContext, links: LinkTable) -> None:
        self._context = context
        self._links = links
        self._sessions: dict[int, _Waiting] = {}  # with frames that wait, or pings

    def send(self, session: int, link: int, frames: Iterable[Announce], *, is_urgent: bool) -> None:
        """Send frames over the link of a session, in order; is_urgent: at once, with all that wait."""
        known = self._sessions.get(session)
        waiting = _Waiting(link) if known is None else known
        waiting.frames.extend(frames)
        if is_urgent or len(waiting.frames) > _MOST:
            while waiting.frames:
                self._send_next(waiting)
            self._sessions.pop(session, None)
        else:
            self._sessions[session] = waiting
            self._send_some(session)

    @property
    def is_congested(self) -> bool:
        """Whether many frames wait for a neighbour."""
        return any(len(waiting.frames) > _MANY for waiting in self._sessions.values())

    def confirm(self, session: int, ping: int) -> None:
        """Send further frames: the answer to a Ping shows that the neighbour has handled those before it."""
        waiting = self._sessions.get(session)
        if waiting is not None:
            while waiting.pings and waiting.pings[0] <= ping:
                waiting.pings.popleft()
            self._send_some(session)

    def repeat(self) -> None:
        """Repeat the Pings; call it several times per second: one may be omitted while many packets are queued."""
        for waiting in self._sessions.values():
            if waiting.frames:
                self._links.ping(waiting.link)

    def close_session(self, session: int) -> None:
        """Forget the frames of a session."""
        self._sessions.pop(session, None)

    def _send_some(self, session: int) -> None:
        waiting = self._sessions[session]
        while waiting.frames and len(waiting.pings) < _WINDOW:
            is_long = self._send_next(waiting)
            if is_long or waiting.frames:
                waiting.pings.append(self._links.ping(waiting.link))
        if not waiting.frames and not waiting.pings:
            del self._sessions[session]

    def _send_next(self, waiting: _Waiting) -> bool:
        """Send the next frame; return whether it takes the neighbour long."""
        frame = waiting.frames.popleft()
        self._context.outbox.send(waiting.link, frame)
        self._context.counters[Event.ANNOUNCES_SENT] += 1
        self._context.counters[Event.FILTERS_SENT] += len(frame.filters) + len(frame.offers)
        return sum(map(cost, frame.filters)) + sum(map(cost, frame.offers)) > _LONG
