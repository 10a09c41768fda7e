"""Streams of a router, by key and by number, and the branches of a tree that they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cbnet.network.announce.streams import Incoming, Outgoing, StreamKey
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.tree_view import TreeLink, TreeView
from cbnet.network.linkstate.versions import Versions
from cbnet.routing.aggregation.aggregation import Aggregation


class TreeBranch(NamedTuple):
    """A branch of a tree at this router."""

    to: TreeLink
    link: int | None  # None: the session of the tree is closed
    subscriptions: int | None  # bits of the sources with the filters behind it; None: not known for all nodes
    offers: int | None


class StreamTable:
    """The incoming and outgoing streams of a router."""

    def __init__(self, links: LinkTable, versions: Versions, subscriptions: Aggregation, offers: Aggregation) -> None:
        self._links = links
        self._versions = versions
        self.kinds = (subscriptions, offers)
        self.incoming: dict[StreamKey, Incoming] = {}
        self.outgoing: dict[StreamKey, Outgoing] = {}
        self.by_number: dict[tuple[int, int], Incoming] = {}  # by session and number
        self.to_number: dict[tuple[int, int], Outgoing] = {}
        self._fed: dict[Incoming, dict[Outgoing, None]] = {}  # a hub has many streams, and each change looks these up
        self._branches: dict[int, tuple[TreeView, list[TreeBranch]]] = {}  # by the identity of a tree
        self.generation = 0  # changes with the versions, the links and the set of streams
        self.on_forgotten: Callable[[], None] = lambda: None  # called when branches have changed

    # --- lookup

    def from_side(self, link: TreeLink) -> Incoming | None:
        """Return the stream that announces the side behind a link of a tree, if it is open."""
        stream = self.incoming.get(StreamKey(link.neighbour, link.session, link.far_key))
        return stream if stream is not None and stream.is_open else None

    def to_side(self, link: TreeLink) -> Outgoing | None:
        """Return the stream that announces this router's side over a link of a tree."""
        return self.outgoing.get(StreamKey(link.neighbour, link.session, link.near_key))

    def fed_by(self, stream: Incoming) -> list[Outgoing]:
        """Return the outgoing streams that an incoming one feeds."""
        return list(self._fed.get(stream, ()))

    def branches(self, tree: TreeView) -> list[TreeBranch]:
        """Return the branches of a tree."""
        known = self._branches.get(id(tree))
        if known is None:
            branches = [self._branch(link) for link in tree.links.values() if link.receives]
            known = self._branches[id(tree)] = tree, branches
        return known[1]

    def _branch(self, link: TreeLink) -> TreeBranch:
        streams = self._sources_behind(link)
        subscriptions, offers = (
            None if streams is None else sum({kind.bit(stream) for stream in streams}) for kind in self.kinds
        )
        return TreeBranch(link, self._links.by_session(link.session), subscriptions, offers)

    def _sources_behind(self, link: TreeLink) -> list[Incoming] | None:
        """Return the streams that together announce the side behind a link; None if they lack some of its nodes.

        If the stream for this side has not arrived, or its session is closed, streams of other sides may replace it,
        of the newest version that has them.
        """
        exact = self._live(link._replace(far_key=link.matched))
        if exact is not None:
            return [exact]
        found: list[Incoming] = []
        rest = set(link.behind)
        for version in self._versions.kept:
            if not rest <= version.names:
                break
            for other in version.links():
                stream = self._live(other) if rest & other.behind else None
                if stream is not None:
                    found.append(stream)
                    rest -= other.behind
            if not rest:
                return found
        return None

    def _live(self, link: TreeLink) -> Incoming | None:
        """Return the stream of a side, if its session is open; otherwise it lacks later changes."""
        return None if self._links.by_session(link.session) is None else self.from_side(link)

    def filters(self, link: TreeLink, kind: int = 0) -> set[bytes]:
        """Return the filters of the subscriptions, or offers, behind a link of a tree, as far as they are known."""
        return set().union(*map(self.kinds[kind].filters, self._sources_behind(link) or ()))

    def forget_branches(self) -> None:
        """Discard the computed branches: versions, links or streams have changed."""
        self.generation += 1
        self._branches.clear()
        self.on_forgotten()

    # --- changes

    def add_incoming(self, stream: Incoming, base: Incoming | None) -> None:
        """Add a stream from a neighbour, initially with the content of another one, if given."""
        self.add_source(stream, base)
        self.by_number[stream.key.session, stream.number] = stream
        self.incoming[stream.key] = stream

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
        self.forget_branches()

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

    def of_session(self, session: int) -> Iterator[Outgoing]:
        """Yield the outgoing streams of a session."""
        return (stream for stream in list(self.outgoing.values()) if stream.key.session == session)
