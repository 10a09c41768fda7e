"""Contents of streams that both ends of a link retain after their session has ended.

    session ends     the receiver keeps what it has received, the sender what it has sent
    next session     the receiver lists the digests of its contents; then the sender opens its streams as differences
                     from these

The sender uses the listed contents for a limited time only, and the receiver keeps them for longer than that.

So a link that was down for a moment costs a few bytes and not whole tables. A router that starts with computed tables
retains them as contents in the same way: where a neighbour has computed the same content, nothing is sent. To ensure
that the contents are the same, it announces nothing until it has links to all neighbours of its tables; meanwhile
messages are forwarded without pruning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest

from cbnet.language.syntax.byte_form import DIGEST_BYTES, filters_digest
from cbnet.network.announce.filter_counts import FilterCount, sum_counts
from cbnet.network.announce.streams import Incoming, StreamTable
from cbnet.network.forwarding.forwarding_table import SideKey
from cbnet.network.link.context import RouterContext
from cbnet.network.protocol.fields import MAX_HELD

_SECONDS = 60.0  # for which contents are kept after the end of a session
_USED_SECONDS = 300.0  # for which the sender uses contents that the receiver has listed
_LISTED_SECONDS = 360.0  # for which the receiver keeps them; longer, to allow for frames in flight
_COMPUTED_SECONDS = 600.0  # for which computed tables are kept after the start: a large network starts slowly
_MIN_FILTERS = 16  # of a content worth keeping
_MAX_FILTERS = 50_000  # whose digest takes at most about 50 ms; a larger content is announced again, in slices

Content = tuple[frozenset[bytes], frozenset[bytes]]  # filters of subscriptions, and of offers


@dataclass
class _Received:
    stream: Incoming
    digest: bytes
    until: float
    count: FilterCount
    used_until: float = 0.0  # time until which the neighbour may use the listed content


@dataclass
class _Held:
    digests: frozenset[bytes]
    until: float


@dataclass
class _Sent:
    content: Content
    until: float


class RetainedContents:
    """The contents that one router keeps, by neighbour."""

    def __init__(self, context: RouterContext, streams: StreamTable) -> None:
        self._context = context
        self._streams = streams
        self._received: dict[str, list[_Received]] = {}
        self._sent: dict[str, dict[bytes, _Sent]] = {}  # by digest
        self._held: dict[int, _Held] = {}  # contents that a neighbour holds, by session
        self._computed: list[_Received] = []  # contents of computed tables that are still kept
        self._computed_neighbours: list[frozenset[str]] = []  # of each tree

    # --- as receiver

    def load(self, tables: Sequence[Mapping[str, Iterable[bytes]]]) -> None:
        """Keep the computed tables of trees, by neighbour; equal contents are kept once."""
        self._computed_neighbours = [frozenset(table) for table in tables]
        contents = dict.fromkeys((name, frozenset(filters)) for table in tables for name, filters in table.items())
        streams = [(Incoming(SideKey(name, 0, b""), 0), filters) for name, filters in contents]
        for stream, _ in streams:
            self._streams.add_source(stream)
        if not streams:
            return
        self._streams.kinds[0].load(dict(streams))
        for stream, _ in streams:
            self._keep(stream, _COMPUTED_SECONDS)
            self._computed.append(self._received[stream.key.neighbour][-1])

    @property
    def has_computed(self) -> bool:
        """Whether computed tables are still kept for neighbours that have not connected."""
        return bool(self._computed)

    def missing(self, neighbours: Sequence[Set[str]]) -> Set[str]:
        """Return the neighbours of the computed tables that have not connected; neighbours: those present, by tree."""
        pairs = zip_longest(self._computed_neighbours, neighbours, fillvalue=frozenset[str]())
        return frozenset().union(*(computed - present for computed, present in pairs))

    def release_computed(self) -> None:
        """Keep computed tables only as long as neighbours may use them: all streams have arrived."""
        for each in self._computed:
            each.until = each.used_until
        self._computed.clear()
        self._computed_neighbours.clear()

    def keep_received(self, stream: Incoming, now: float) -> None:
        """Keep the content of a stream whose session has ended, if it is worth keeping and within the limits."""
        if stream.is_open and is_kept(sum(kind.count(stream) for kind in self._streams.kinds)):
            kept = sum_counts(each.count for each in self._received.get(stream.key.neighbour, ()))
            settings = self._context.settings
            limit = FilterCount(settings.session_filters, settings.session_bytes)  # for each neighbour
            if not kept.plus(self._count(stream)).exceeds(limit):
                self._keep(stream, now + _SECONDS)

    def _count(self, stream: Incoming) -> FilterCount:
        return sum_counts(FilterCount(*kind.total([stream])) for kind in self._streams.kinds)

    def _keep(self, stream: Incoming, until: float) -> None:
        kept = self._received.setdefault(stream.key.neighbour, [])
        digest = joint_digest([kind.filters(stream) for kind in self._streams.kinds])
        same = next((each for each in kept if each.digest == digest), None)
        if same is not None:
            same.until = max(same.until, until)
        elif len(kept) < MAX_HELD:
            kept.append(_Received(stream, digest, until, self._count(stream)))

    def has(self, stream: Incoming) -> bool:
        """Return whether the content of a stream is kept."""
        return any(each.stream is stream for each in self._received.get(stream.key.neighbour, ()))

    def listed(self, neighbour: str, now: float) -> list[bytes]:
        """Return the digests of the contents received from a neighbour, and keep the contents while it may use them."""
        kept = self._received.get(neighbour, ())
        for each in kept:
            each.used_until = now + _LISTED_SECONDS
            each.until = max(each.until, each.used_until)
        return [each.digest for each in kept]

    def received(self, neighbour: str, digest: bytes) -> Incoming | None:
        """Return the source with a content received from a neighbour, if it is kept."""
        kept = (each.stream for each in self._received.get(neighbour, ()) if each.digest == digest)
        return next(kept, None)

    def count(self, neighbour: str, digest: bytes) -> FilterCount:
        """Return the size of a content received from a neighbour."""
        return sum_counts(each.count for each in self._received.get(neighbour, ()) if each.digest == digest)

    # --- as sender

    def keep_sent(self, neighbour: str, content: Content, now: float) -> None:
        """Keep the content of a stream as it was sent."""
        if is_kept(sum(map(len, content))):
            sent = self._sent.setdefault(neighbour, {})
            sent[joint_digest(content)] = _Sent(content, now + _SECONDS)
            while len(sent) > MAX_HELD:
                del sent[next(iter(sent))]

    def hold(self, session: int, digests: Iterable[bytes], now: float) -> None:
        """Record the contents that the neighbour holds at the start of a session."""
        self._held[session] = _Held(frozenset(digests), now + _USED_SECONDS)

    def may_have_bases(self, session: int, now: float) -> bool:
        """Return whether the neighbour still holds some contents."""
        held = self._held.get(session)
        return held is not None and bool(held.digests) and now < held.until

    def bases(self, neighbour: str, session: int, content: Content) -> Iterable[tuple[bytes, Content]]:
        """Yield the contents that the neighbour also holds: the current one of a stream, and those sent before."""
        held, digest = self._held[session], joint_digest(content)
        if digest in held.digests:
            yield digest, content
        for digest in held.digests & self._sent.get(neighbour, {}).keys():
            yield digest, self._sent[neighbour][digest].content

    # --- both

    def is_listed(self, session: int) -> bool:
        """Return whether the neighbour has listed its contents; before that, nothing is announced to it."""
        return session in self._held

    def close_session(self, session: int) -> None:
        """Forget the contents that a neighbour listed in a session."""
        self._held.pop(session, None)

    def expire(self, now: float) -> None:
        """Drop the contents whose retention time is over."""
        for neighbour, kept in list(self._received.items()):
            for each in [each for each in kept if each.until <= now]:
                kept.remove(each)
                if self._streams.incoming.get(each.stream.key) is not each.stream:
                    self._streams.remove_source(each.stream)
            if not kept:
                del self._received[neighbour]
        for neighbour, sent in list(self._sent.items()):
            self._sent[neighbour] = {digest: each for digest, each in sent.items() if each.until > now}
            if not self._sent[neighbour]:
                del self._sent[neighbour]


def is_kept(filters: int) -> bool:
    """Return whether a content with this number of filters is kept after the end of its session."""
    return _MIN_FILTERS <= filters <= _MAX_FILTERS


def joint_digest(content: Sequence[Iterable[bytes]]) -> bytes:
    """Return the digest of a stream's content: of its subscriptions and offers together."""
    return blake2b(b"".join(map(filters_digest, content)), digest_size=DIGEST_BYTES).digest()
