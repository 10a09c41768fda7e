"""Streams being opened: their content is announced in slices, as it may have a very large number of filters.

    preparing    the filters of the stream are compared with each other (`Aggregation.is_ready`); nothing is sent
    sending      the parts of its first change, in slices; later changes wait for the last part

The first change is the difference from a content that the neighbour holds: that of the most similar stream of the same
session, one of an earlier session (`retained_contents`), or the empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cbnet.network.announce.announce_writer import Change
from cbnet.network.announce.retained_contents import Content, RetainedContents
from cbnet.network.announce.streams import Outgoing, StreamTable
from cbnet.network.link.context import RouterContext
from cbnet.routing.aggregation.aggregation import SLICE, Difference
from cbnet.routing.aggregation.union_rows import SCANNED

_NOTHING = Difference([], [])


class _Part(NamedTuple):
    differences: tuple[Difference, Difference]
    is_last: bool


@dataclass
class _Opening:
    side: bytes
    base: int | bytes = 0
    parts: Iterator[_Part] | None = None  # of its first change; None: it is being prepared


class StreamOpenings:
    """The streams to neighbours that are being opened."""

    def __init__(self, context: RouterContext, streams: StreamTable, retained: RetainedContents) -> None:
        self._context = context
        self._streams = streams
        self._retained = retained
        self._openings: dict[Outgoing, _Opening] = {}

    def __contains__(self, stream: Outgoing) -> bool:
        return stream in self._openings

    def __bool__(self) -> bool:
        return bool(self._openings)

    def add(self, stream: Outgoing, side: bytes) -> None:
        """Start announcing a stream that has been added to the table."""
        self._openings[stream] = _Opening(side)

    def discard(self, stream: Outgoing) -> None:
        """Stop announcing a stream, if it is being opened."""
        self._openings.pop(stream, None)

    def advance(self) -> Iterator[tuple[Outgoing, Change]]:
        """Yield the next parts of the first changes, with about one slice of filters in all."""
        left = SLICE
        for stream, opening in list(self._openings.items()):
            if opening.parts is None:
                if not all(kind.is_ready(stream) for kind in self._streams.kinds):
                    continue
                self._begin(stream, opening)
            while left > 0 and stream in self._openings:
                change = self._next(stream, opening)
                left -= max(1, _size(change.differences), len(self._streams.kinds[0]) // SCANNED)
                if change.is_last or not stream.is_begun or _size(change.differences):
                    stream.is_begun = True
                    yield stream, change

    def _next(self, stream: Outgoing, opening: _Opening) -> Change:
        assert opening.parts is not None
        part = next(opening.parts)
        if part.is_last:
            del self._openings[stream]
        return Change(stream.number, 1, part.differences, opening.side, opening.base, part.is_last)

    def _begin(self, stream: Outgoing, opening: _Opening) -> None:
        """Choose the content that a stream starts from: the one with the smallest difference."""
        subscriptions, offers = self._streams.kinds
        session = stream.key.session
        # A stream whose last part was sent in this turn may have changed meanwhile.
        others = [
            each
            for each in self._streams.of_session(session)
            if each not in self and not any(kind.has_pending(each) for kind in self._streams.kinds)
        ]
        nearest = subscriptions.nearest(stream, others)
        opening.base = 0 if nearest is None else nearest.number
        if self._retained.may_have_bases(session, self._context.now):
            least = subscriptions.distance(stream, nearest) + offers.distance(stream, nearest)
            content = self.content(stream)
            for digest, kept in self._retained.bases(stream.key.neighbour, session, content):
                smaller = _difference(content[0], kept[0]), _difference(content[1], kept[1])
                if _size(smaller) < least:
                    opening.base, least = digest, _size(smaller)
                    opening.parts = _slices(smaller)
        if opening.parts is None:
            for kind in self._streams.kinds:
                kind.begin(stream, nearest)
            opening.parts = self._parts(stream)

    def _parts(self, stream: Outgoing) -> Iterator[_Part]:
        """Yield the parts of the difference from the content that the stream starts from."""
        kinds = self._streams.kinds
        is_last = False
        while not is_last:
            subscriptions, offers = (kind.send_some(stream) if kind.is_sending(stream) else _NOTHING for kind in kinds)
            is_last = not any(kind.is_sending(stream) for kind in kinds)
            yield _Part((subscriptions, offers), is_last)

    def content(self, stream: Outgoing) -> Content:
        """Return the content of a stream, including unsent changes."""
        subscriptions, offers = (frozenset(kind.content(stream)) for kind in self._streams.kinds)
        return subscriptions, offers


def _difference(now: frozenset[bytes], before: frozenset[bytes]) -> Difference:
    return Difference(sorted(now - before), sorted(before - now))


def _size(differences: Iterable[Difference]) -> int:
    return sum(len(each.added) + len(each.removed) for each in differences)


def _slices(differences: tuple[Difference, Difference]) -> Iterator[_Part]:
    """Yield differences in parts."""
    most = max(len(filters) for each in differences for filters in each)
    for first in range(0, max(1, most), SLICE):
        subscriptions, offers = (
            Difference(*(filters[first : first + SLICE] for filters in each)) for each in differences
        )
        yield _Part((subscriptions, offers), first + SLICE >= most)
