"""Neighbours that answer pings but do not announce the predicate of their side.

While the announcement of one neighbour is missing, a version of the topology stays incomplete at all routers, and no
subscription is confirmed. The announcement may be late because the neighbour itself waits for others; it then reports
the links that it waits for at regular intervals. So only the neighbour that causes the delay is blamed:

    first time    its link is closed, and the session starts again
    later         the same incarnation of the neighbour is also refused for a while, longer each time: the topology
                  routes around it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cbnet.network.announce.streams import StreamTable
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import Event
from cbnet.network.linkstate.tree_view import TreeLink, TreeView
from cbnet.network.linkstate.versions import Version
from cbnet.network.protocol.fields import MAX_WAITING_LINKS
from cbnet.network.protocol.frames import AnnounceAck, StreamWaiting
from cbnet.network.protocol.reasons import ReasonCode

NO_STREAM = 0  # in place of a stream number, in a report about streams that are not open yet
_REPORTS = 4  # sent in the time for which a neighbour may be silent
_PAUSE, _MAX_PAUSE = 3, 30  # times that: longer than another neighbour of the same router takes to refuse it, too


class SilentNeighbours:
    """The neighbours of one router that owe it an announcement."""

    def __init__(
        self,
        core: RouterCore,
        streams: StreamTable,
        incomplete: Callable[[], Iterable[int]],
        awaited: Callable[[], Iterable[str]],
    ) -> None:
        """Initialise; incomplete: returns the sessions with a partial change; awaited: the neighbours to wait for."""
        self._context = core
        self._links = core.links
        self._versions = core.versions
        self._streams = streams
        self._incomplete = incomplete
        self._awaited = awaited
        self._version: Version | None = None
        self._since = 0.0  # time when the version was first checked
        self._last_announced: dict[int, float] = {}  # time of the last announcement, by session
        self._excuses: dict[int, tuple[float, list[str]]] = {}  # time of the last report, and its links, by session
        self._reported = 0.0  # time of the last reports
        self._closed: dict[tuple[str, int], int] = {}  # links closed for silence, by name and incarnation

    # --- events

    def hear(self, session: int) -> None:
        """Record an announcement."""
        self._last_announced[session] = self._context.now
        self._excuses.pop(session, None)

    def report(self, session: int, links: list[str]) -> None:
        """Record that a neighbour waits for other links."""
        self._excuses[session] = self._context.now, links

    def close_session(self, session: int) -> None:
        """Forget a session."""
        self._last_announced.pop(session, None)
        self._excuses.pop(session, None)

    # --- lookup

    def seconds(self) -> dict[str, float]:
        """Return the neighbours whose announcements are missing, each with the seconds since the last one.

        Neighbours of a computed table that have not connected are included.
        """
        silent = dict.fromkeys(self._awaited(), self._context.now - self._since)
        for session in self._owing():
            link = self._links.by_session(session)
            if link is not None:
                silent[self._links.name(link)] = self._context.now - self._last_heard(session)
        return silent

    def unopened(self) -> Iterator[tuple[TreeView, TreeLink, set[str]]]:
        """Yield tree, link and awaited links of each stream of the newest trees that is not announced yet."""
        me, awaited = self._context.name, self._awaited()
        for tree in self._versions.newest.trees:
            missing = [link for link in tree.links.values() if link.receives and not self._streams.from_side(link)]
            for link in (each for each in tree.links.values() if each.announces):
                stream = self._streams.to_side(link)
                if stream is not None:
                    if not stream.is_begun:
                        yield tree, link, {f"{me}→{link.neighbour}"}  # very many filters are being compared
                    continue
                links = {f"{name}→{me}" for name in awaited}
                for other in (each for each in missing if each is not link):
                    excuse = self._excuses.get(other.session)
                    links.update([f"{other.neighbour}→{me}"] if excuse is None else excuse[1])
                yield tree, link, links

    def _last_heard(self, session: int) -> float:
        return max(self._since, self._last_announced.get(session, 0.0))

    def _is_to_blame(self, session: int) -> bool:
        reported = self._excuses.get(session, (0.0, []))[0]
        last = max(self._last_heard(session), reported)
        return self._context.now - last >= self._context.settings.silence

    def _owing(self) -> set[int]:
        """Return the sessions that owe an announcement, or the rest of one."""
        version = self._versions.newest
        owing = set(self._incomplete())
        if version.complete is None:
            owing.update(
                link.session for link in version.links() if link.receives and not self._streams.from_side(link)
            )
        return owing

    # --- periodic work

    def check(self) -> None:
        """Report the links that this router waits for; close those to neighbours whose announcement is overdue."""
        version, now = self._versions.newest, self._context.now
        if version is not self._version:
            self._version, self._since, self._reported = version, now, now
        if version.complete is not None:
            for name, incarnation in [each for each in self._closed if each[0] in version.neighbours]:
                del self._closed[name, incarnation]
        if now - self._reported >= self._context.settings.silence / _REPORTS:
            self._reported = now
            self._send_reports()
        for session in self._owing():
            link = self._links.by_session(session)
            if link is not None and self._is_to_blame(session):
                self._close(link)

    def _send_reports(self) -> None:
        waiting: dict[int, set[str]] = {}  # links, by session
        for _, link, beyond in self.unopened():
            waiting.setdefault(link.session, set()).update(beyond)
        for session, links in waiting.items():
            to = self._links.by_session(session)
            if to is not None and links:
                report = StreamWaiting(NO_STREAM, sorted(links)[:MAX_WAITING_LINKS])
                self._context.outbox.send(to, AnnounceAck([], [report]))

    def _close(self, link: int) -> None:
        known = self._links.get(link)
        assert known is not None
        assert known.hello is not None
        name, incarnation, bound = known.hello.name, known.hello.incarnation, self._context.settings.silence
        times = self._closed.get((name, incarnation), 0)
        self._closed[name, incarnation] = times + 1
        self._context.counters[Event.LINKS_SILENT] += 1
        reason = f"{name} has not announced what its side wants for {bound:g} s, though it answers pings; restart it"
        self._context.warn("silent neighbour", name=name, reason=reason)
        if times:
            self._links.refuse(name, incarnation, self._context.now + min(times * _PAUSE, _MAX_PAUSE) * bound)
        self._links.shut(link, reason, ReasonCode.SILENT)
