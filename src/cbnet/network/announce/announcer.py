"""Announcement of the aggregated predicate of each side of a link, along the trees [2001 §2, 2014 §3.2].

    clients ─► own filters ─┐
    stream from w1 ─────────┼─► reduced union ─► stream to v
    stream from w2 ─────────┘                                 for each tree, and each neighbour v on it

A stream is opened once all streams that feed it have arrived, so the leaves of a tree start, and once the neighbour has
listed the contents that it holds (`retained_contents`). Its first content is sent in slices (`stream_openings`). A
change is a set of additions and removals with a sequence number; a covered filter changes nothing and is not sent. A
large one is sent as several: filters are added before others are removed. All changes of a turn go into one frame per
link, or several, which are sent in turns (`announce_pace`).

A new version of the topology needs new streams only for the sides that are new in it; all other streams serve both
versions. The new streams are opened while the earlier ones still carry messages. Once the version has been complete
here for some time, this router ends the streams that it no longer needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from cbnet.network.announce.announce_pace import AnnouncePace
from cbnet.network.announce.announce_writer import Change, announce_frames, divided
from cbnet.network.announce.exports import Exports
from cbnet.network.announce.retained_contents import Content, RetainedContents, is_kept
from cbnet.network.announce.silent_neighbours import SilentNeighbours
from cbnet.network.announce.stream_openings import StreamOpenings
from cbnet.network.announce.stream_receiver import StreamReceiver
from cbnet.network.announce.streams import Incoming, Outgoing, StreamTable
from cbnet.network.announce.subscriptions import OWN_SOURCES
from cbnet.network.forwarding.forwarding_table import SideKey
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link
from cbnet.network.linkstate.tree_view import TreeLink, TreeView
from cbnet.network.protocol.frames import Announce, Held
from cbnet.network.protocol.wire import WireError

_PATIENCE = 20.0  # seconds without a topology change in which a neighbour of a computed table may still connect
_SHORT_PATIENCE = 6.0  # the same, for one that was up before this router started: neighbours redial every 5 s
_MAX_PATIENCE = 240.0  # seconds after the start


class Announcer:
    """Opens, changes and ends the streams of one router."""

    def __init__(self, core: RouterCore, streams: StreamTable, exports: Exports) -> None:
        self._context = core
        self._links = core.links
        self._versions = core.versions
        self._streams = streams
        self._exports = exports
        self.retained = RetainedContents(core, streams)
        self._receiver = StreamReceiver(core, streams, self.retained)
        self.silent = SilentNeighbours(core, streams, self._receiver.incomplete_sessions, self._awaited)
        self._openings = StreamOpenings(core, streams, self.retained)
        self.pace = AnnouncePace(core, core.links)
        self._may_send_parts = False  # of streams that are being opened, in this turn
        self._numbers = 0
        self._has_lost = False  # whether a session has closed since streams were last ended
        self._may_open = False  # whether streams may have to be opened, or the newest version may be complete
        self._changed: dict[Incoming, None] = {}  # in this turn
        self._changes: dict[int, list[Change]] = {}  # to send, by session
        self._ended: dict[int, list[int]] = {}  # streams, by session
        self._reconsidered: dict[Incoming, None] = {}  # streams that feed one that was opened or removed in this turn

    # --- events

    def reconsider(self) -> None:
        """Reconsider which streams to open, as links, or the version of the topology, have changed."""
        self._may_open = True
        self._streams.forget_interfaces()

    def open_session(self, link: Link) -> None:
        """Send a neighbour the digests of the contents of its streams that this router still holds."""
        self._context.outbox.send(link.id, Held(self.retained.listed(link.name, self._context.now)))
        self.reconsider()

    def close_session(self, session: int) -> None:
        """Remove the streams to a neighbour whose link has closed; those from it stay in use for a while."""
        now = self._context.now
        for stream in self._streams.of_session(session):
            if stream not in self._openings and is_kept(sum(kind.size(stream) for kind in self._streams.kinds)):
                self.retained.keep_sent(stream.key.neighbour, self._sent_content(stream), now)
            self._release(stream)
        for received in self._streams.incoming.values():
            if received.key.session == session:
                self.retained.keep_received(received, now)
        self.retained.close_session(session)
        self.silent.close_session(session)
        self._receiver.close_session(session)
        self.pace.close_session(session)
        self._has_lost = True
        self.reconsider()

    def held(self, link: Link, frame: Held) -> None:
        """Record which contents a neighbour still holds."""
        self.retained.hold(link.session, frame.contents, self._context.now)
        self._may_open = True

    def receive(self, link: Link, frame: Announce) -> None:
        """Handle changes to a neighbour's streams."""
        self.silent.hear(link.session)
        for change in frame.changes:
            stream = self._receiver.receive(link.name, link.session, frame, change)
            if stream is not None:
                self._changed[stream] = None
                if stream.sequence == 1:
                    self._streams.open_incoming(stream)
                    self._may_open = True
        for number in frame.ended:
            self._receive_end(link.session, number)

    def finish_turn(self) -> list[Incoming]:
        """Send the changes of this turn; return the incoming streams whose acknowledgement may advance."""
        self._end_streams()
        self._collect_changes()  # before new streams are opened: they may start from the content sent here
        if self._may_open:
            self._may_open = False
            self._open_streams()
        if self._may_send_parts:
            self._may_send_parts = False
            for opened, change in self._openings.advance():
                self._changes.setdefault(opened.key.session, []).append(change)
        self._send()
        changed, self._changed = list(self._changed), {}
        for stream in changed:
            fed = (*self._streams.fed_by(stream), *self._exports.fed_by(stream))
            stream.record({each: each.sequence for each in fed}, self._context.now)
        reconsidered, self._reconsidered = self._reconsidered, {}
        return [*changed, *reconsidered]

    @property
    def has_work(self) -> bool:
        """Whether streams are being opened."""
        return bool(self._openings)

    def work(self) -> None:
        """Send the next parts of streams that are being opened, at the end of the turn."""
        self._may_send_parts = True

    # --- streams of neighbours

    def _receive_end(self, session: int, number: int) -> None:
        stream = self._streams.by_number.get((session, number))
        if stream is None:
            raise WireError("the end of a stream that is not open")
        self._remove(stream)

    def _remove(self, stream: Incoming) -> None:
        """Remove a stream of a neighbour, and end those that it feeds."""
        for fed in self._streams.fed_by(stream):
            self._end(fed)
        for export in self._exports.fed_by(stream):
            self._exports.close()
            self._reconsidered.update(dict.fromkeys(export.feeds))
        self._receiver.forget(stream)
        self._changed.pop(stream, None)
        self._reconsidered.pop(stream, None)
        self._streams.remove_incoming(stream)
        if not self.retained.has(stream):
            self._streams.remove_source(stream)
        self._may_open = True

    # --- own streams

    def _open_streams(self) -> None:
        """Open the streams of the newest version that can be opened; record when all incoming ones have arrived."""
        version = self._versions.newest
        if self._awaited():
            self._may_open = True
            return
        for tree in version.trees:
            for link in self._openable(tree):
                is_up = link.announces and self._links.by_session(link.session) is not None
                if is_up and self.retained.is_listed(link.session) and self._streams.to_side(link) is None:
                    self._open(tree, link)
        self._exports.open()
        if version.complete is None and all(self._streams.from_side(link) for link in version.links() if link.receives):
            version.complete = self._context.now
            self.retained.release_computed()

    def _awaited(self) -> Set[str]:
        """Return the neighbours of the computed tables that may still connect."""
        if not self.retained.has_computed:
            return frozenset()
        trees = [{link.neighbour for link in tree.links.values()} for tree in self._versions.newest.trees]
        missing = self.retained.missing(trees)
        return {name for name in missing if self._may_come(name)}

    def _may_come(self, name: str) -> bool:
        """Return whether a missing neighbour may still be starting, like the rest of the network.

        If the network was running before this router started, a missing neighbour with a record is taken to be down,
        and is awaited only briefly.
        """
        was_running = self._versions.is_known(name) and self._versions.age_at_start >= _PATIENCE
        patience = _SHORT_PATIENCE if was_running else _PATIENCE
        return self._versions.quiet < patience and self._context.now < _MAX_PATIENCE

    def _openable(self, tree: TreeView) -> Iterable[TreeLink]:
        """Return the links whose streams can be opened: all other links of the tree have announced their sides."""
        missing = [link for link in tree.links.values() if link.receives and self._streams.from_side(link) is None]
        return missing if len(missing) == 1 else () if missing else tree.links.values()

    def _open(self, tree: TreeView, link: TreeLink) -> None:
        feeds = [self._streams.from_side(each) for each in tree.links.values() if each is not link and each.receives]
        self._numbers += 1
        key = SideKey(link.neighbour, link.session, link.near_key)
        stream = Outgoing(key, self._numbers, tuple(each for each in feeds if each is not None))
        self._streams.add_outgoing(stream, OWN_SOURCES)
        self._reconsidered.update(dict.fromkeys(stream.feeds))  # their acknowledgement depends on it now
        self._openings.add(stream, link.near_key)
        self._may_send_parts = True

    def _sent_content(self, stream: Outgoing) -> Content:
        """Return the content of a stream as the neighbour holds it: without unsent changes."""
        unsent = [kind.take(stream) for kind in self._streams.kinds]
        subscriptions, offers = (
            content.difference(change.added).union(change.removed)
            for content, change in zip(self._openings.content(stream), unsent, strict=True)
        )
        return subscriptions, offers

    def _end_streams(self) -> None:
        """End the streams that the newest version does not need, once it has been complete for a while."""
        version = self._versions.newest
        if version.complete is None or (len(self._versions.kept) == 1 and not self._has_lost):
            return
        if self._context.now < version.complete + self._context.settings.overlap:
            return
        self._has_lost = False
        self._versions.forget_earlier()
        self._streams.forget_interfaces()
        needed = {self._streams.to_side(link) for link in version.links() if link.announces}
        for stream in [each for each in self._streams.outgoing.values() if each not in needed]:
            self._end(stream)
        received = {self._streams.from_side(link) for link in version.links() if link.receives}
        for lost in [each for each in self._streams.incoming.values() if each not in received]:
            if self._links.by_session(lost.key.session) is None:
                self._remove(lost)

    def _end(self, stream: Outgoing) -> None:
        self._release(stream)
        if stream.is_begun:
            self._ended.setdefault(stream.key.session, []).append(stream.number)

    def _release(self, stream: Outgoing) -> None:
        self._openings.discard(stream)
        self._streams.remove_outgoing(stream)
        self._reconsidered.update(dict.fromkeys(stream.feeds))

    def _collect_changes(self) -> None:
        self._exports.collect_changes()
        subscriptions, offers = self._streams.kinds
        for stream in self._streams.outgoing.values():
            if stream in self._openings:
                continue
            if subscriptions.has_pending(stream) or offers.has_pending(stream):
                changes = self._changes.setdefault(stream.key.session, [])
                for differences in divided(subscriptions.take(stream), offers.take(stream)):
                    stream.sequence += 1
                    stream.note(*differences)
                    changes.append(Change(stream.number, stream.sequence, differences))

    def _send(self) -> None:
        if not self._changes and not self._ended:
            return
        for session in {**self._changes, **self._ended}:
            link = self._links.by_session(session)
            if link is not None:
                changes = self._changes.get(session, ())
                frames = announce_frames(changes, self._ended.get(session, ()))
                self.pace.send(session, link, frames, is_urgent=any(change.sequence == 1 for change in changes))
        self._changes, self._ended = {}, {}
