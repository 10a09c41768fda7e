"""Acknowledgements of announcements, collected along the trees.

    r1 ──change──► r2 ──change──► r3        r3 has no router downstream: it acknowledges at once
    r1 ◄───ack──── r2 ◄───ack──── r3        r2 acknowledges once all its streams that carry the change have

An acknowledgement without a version covers the existing streams: routers that still use an earlier version have the
change too. One with a version also guarantees that, in this version, every router downstream has the streams, with the
change. A subscription is confirmed when both are complete (`confirmations`). A router that has waited for others for
some time reports their links, so that a client learns which ones have not answered.
"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.network.announce.exports import Exports
from cbnet.network.announce.silent_neighbours import NO_STREAM, SilentNeighbours
from cbnet.network.announce.streams import Incoming, Outgoing, StreamTable
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link
from cbnet.network.protocol.fields import MAX_FRAME_STREAMS, MAX_WAITING_LINKS
from cbnet.network.protocol.frames import AnnounceAck, StreamAck, StreamWaiting


class Acknowledgements:
    """Acknowledges the streams of neighbours, and records their acknowledgements."""

    def __init__(
        self,
        core: RouterCore,
        streams: StreamTable,
        exports: Exports,
        silent: SilentNeighbours,
    ) -> None:
        self._context = core
        self._links = core.links
        self._versions = core.versions
        self._streams = streams
        self._exports = exports
        self._silent = silent
        self._doubtful: dict[Incoming, None] = {}  # streams whose acknowledgement may advance
        self._generation = -1  # of the streams, when `_found` was filled
        self._found: dict[Incoming, list[Outgoing] | None] = {}  # results of `_beyond`
        self.advanced: dict[Outgoing, None] = {}  # streams whose acknowledgement advanced in this turn

    def receive(self, link: Link, frame: AnnounceAck) -> None:
        """Record a neighbour's acknowledgements."""
        for ack in frame.acks:
            stream = self._streams.to_number.get((link.session, ack.number))
            if stream is not None:  # else it has ended
                stream.acknowledge(min(ack.sequence, stream.sequence), ack.version, self._versions.newest.id)
                self.advanced[stream] = None
                self.consider(each for each in stream.feeds if stream in each.blockers.values())
        for report in frame.waiting:
            stream = self._streams.to_number.get((link.session, report.number))
            if report.number == NO_STREAM:
                self._silent.report(link.session, report.links)
            elif stream is not None:
                stream.waiting = report.links

    def report_waiting(self) -> None:
        """Report to neighbours which links have not acknowledged their changes for some time."""
        waiting: dict[Incoming, set[str]] | None = None
        for stream in list(self._streams.incoming.values()):
            link = self._links.by_session(stream.key.session)
            if link is None or self._context.now - stream.changed < self._context.settings.retry:
                continue
            is_done = stream.acked == stream.sequence and stream.stamped == (self._versions.newest.id, stream.sequence)
            if waiting is None and not is_done:
                waiting = self._waiting_links()
            links = [] if is_done or waiting is None else sorted(waiting.get(stream, ()))[:MAX_WAITING_LINKS]
            if links != stream.reported:
                stream.reported = links
                self._context.outbox.send(link, AnnounceAck([], [StreamWaiting(stream.number, links)]))

    def _waiting_links(self) -> dict[Incoming, set[str]]:
        """Return, for each stream, the downstream links that it waits for."""
        version, export = self._versions.newest.id, self._exports.current
        links: dict[Incoming, set[str]] = {}
        for fed in (*self._streams.outgoing.values(), *(() if export is None else (export,))):
            if not fed.has(fed.sequence) or not fed.is_stamped(version, fed.sequence):
                beyond = fed.waiting or [f"{self._context.name}→{fed.key.neighbour}"]
                for stream in fed.feeds:
                    links.setdefault(stream, set()).update(beyond)
        for tree, link, awaited in self._silent.unopened():
            for other in tree.links.values():
                feeding = self._streams.from_side(other) if other is not link and other.receives else None
                if feeding is not None:
                    links.setdefault(feeding, set()).update(awaited or [f"{self._context.name}→{link.neighbour}"])
        return links

    def consider(self, streams: Iterable[Incoming]) -> None:
        """Acknowledge these streams at the end of the turn, if possible."""
        self._doubtful.update(dict.fromkeys(streams))

    def consider_all(self) -> None:
        """Acknowledge every stream at the end of the turn, if possible."""
        self.consider(self._streams.incoming.values())

    def finish_turn(self) -> None:
        """Send the acknowledgements that have become possible."""
        if not self._doubtful:
            return
        doubtful, self._doubtful = self._doubtful, {}
        if self._generation != self._streams.generation:
            self._generation = self._streams.generation
            self._found.clear()
        acks: dict[int, list[StreamAck]] = {}
        for stream in doubtful:
            link = self._links.by_session(stream.key.session)
            if link is not None and stream.is_open and self._streams.incoming.get(stream.key) is stream:
                acks.setdefault(link, []).extend(self._acks(stream))
        for link, own in acks.items():
            for first in range(0, len(own), MAX_FRAME_STREAMS):
                self._context.outbox.send(link, AnnounceAck(own[first : first + MAX_FRAME_STREAMS]))

    def _acks(self, stream: Incoming) -> Iterable[StreamAck]:
        acked = stream.acknowledged()
        if acked > stream.acked:
            stream.acked = acked
            yield StreamAck(stream.number, acked, 0)
        version = self._versions.newest.id
        beyond = self._found[stream] if stream in self._found else self._found.setdefault(stream, self._beyond(stream))
        if beyond is not None:
            stamped = stream.stampable(version, beyond)
            if stamped and (version, stamped) != stream.stamped:
                stream.stamped = version, stamped
                yield StreamAck(stream.number, stamped, version)
        stream.forget_done()

    def _beyond(self, stream: Incoming) -> list[Outgoing] | None:
        """Return the streams of the newest version that a stream feeds; None if some are not open, or it is unused."""
        beyond: list[Outgoing] = []
        has_part = False
        for tree in self._versions.newest.trees:
            link = tree.links.get(stream.key.neighbour)
            if link is None or not link.receives or (link.session, link.far_key) != stream.key[1:]:
                continue
            has_part = True
            if self._exports.is_exporting and tree is self._exports.tree:
                export = self._exports.current
                if export is None:
                    return None
                beyond.append(export)
            for other in tree.links.values():
                if other is not link and other.announces:
                    fed = self._streams.to_side(other)
                    if fed is None or self._links.by_session(other.session) is None:
                        return None
                    beyond.append(fed)
        return beyond if has_part else None
