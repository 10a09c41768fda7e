"""Frames that announce the stream changes of one link; a filter that several streams need is sent once.

A change that does not fit in a frame is continued in the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from cbnet._kernels.plain_filter import is_plain
from cbnet.network.protocol.fields import MAX_FRAME_FILTERS, MAX_FRAME_STREAMS
from cbnet.network.protocol.frames import Announce, StreamChange
from cbnet.routing.aggregation.aggregation import NO_DIFFERENCE, Difference

MAX_PART_BYTES = 1 << 15  # of filters and indexes per frame: the receiver stores them in about 10 ms
_INDEX_BYTES = 3
_CONDITION_COST = 20  # a filter with conditions, or `in`, costs a receiver as much as 20 plain ones of its length
MAX_CHANGE: Final = 256  # filters of a change, which takes effect at once: some 5 ms


class Change(NamedTuple):
    """A change to one stream: to its subscriptions and to its offers."""

    number: int
    sequence: int
    differences: tuple[Difference, Difference]
    side: bytes = b""
    base: int | bytes = 0
    is_last: bool = True  # False: another `Change` continues it


def divided(subscriptions: Difference, offers: Difference) -> Iterator[tuple[Difference, Difference]]:
    """Yield changes of at most `MAX_CHANGE` filters that together make one: filters are added, then others removed."""
    if sum(map(len, (*subscriptions, *offers))) <= MAX_CHANGE:
        yield subscriptions, offers
        return
    for kind, filters, is_added in (
        (0, subscriptions.added, True), (1, offers.added, True),
        (0, subscriptions.removed, False), (1, offers.removed, False),
    ):  # fmt: skip
        for first in range(0, len(filters), MAX_CHANGE):
            part = filters[first : first + MAX_CHANGE]
            change = Difference(part, ()) if is_added else Difference((), part)
            yield (NO_DIFFERENCE, change) if kind else (change, NO_DIFFERENCE)


class _Part:
    """A frame that is being filled."""

    def __init__(self) -> None:
        self.filters: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})  # indexes, by kind
        self.changes: list[tuple[Change, list[tuple[int, int]], list[tuple[int, int]], bool]] = []
        self.size = 0

    def has_room(self, kind: int, filter: bytes) -> bool:
        own = self.filters[kind]
        if filter in own:
            return self.size + _INDEX_BYTES <= MAX_PART_BYTES
        return len(own) < MAX_FRAME_FILTERS and self.size + _INDEX_BYTES + cost(filter) <= MAX_PART_BYTES

    def index(self, kind: int, filter: bytes) -> tuple[int, int]:
        own = self.filters[kind]
        if filter not in own:
            own[filter] = len(own)
            self.size += cost(filter)
        self.size += _INDEX_BYTES
        return kind, own[filter]

    def frame(self, ended: list[int]) -> Announce:
        starts = (0, len(self.filters[0]))
        changes = [
            StreamChange(
                number=change.number,
                sequence=change.sequence,
                side=change.side,
                base=change.base,
                added=[starts[kind] + index for kind, index in added],
                removed=[starts[kind] + index for kind, index in removed],
                is_last=is_last,
            )
            for change, added, removed, is_last in self.changes
        ]
        return Announce(list(self.filters[0]), list(self.filters[1]), changes, ended)


def cost(filter: bytes) -> int:
    """Return the size of a filter in bytes, or of plain filters that take a receiver as long."""
    size = len(filter)
    return size if is_plain(filter) else max(size, min(_CONDITION_COST * size, MAX_PART_BYTES // 2))


def announce_frames(changes: Iterable[Change], ended: Sequence[int] = ()) -> Iterator[Announce]:
    """Yield the frames that announce changes to the streams of a link, and the end of others."""
    part = _Part()
    for change in changes:
        lists: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for list_number, kind, filter in _filters(change):
            if not part.has_room(kind, filter):
                part.changes.append((change, *lists, False))
                yield part.frame([])
                part, lists = _Part(), ([], [])
            lists[list_number].append(part.index(kind, filter))
        part.changes.append((change, *lists, change.is_last))
        if len(part.changes) == MAX_FRAME_STREAMS:
            yield part.frame([])
            part = _Part()
    rest = list(ended)
    if part.changes or rest:
        yield part.frame(rest[:MAX_FRAME_STREAMS])
    for first in range(MAX_FRAME_STREAMS, len(rest), MAX_FRAME_STREAMS):
        yield Announce([], [], [], rest[first : first + MAX_FRAME_STREAMS])


def _filters(change: Change) -> Iterator[tuple[int, int, bytes]]:
    """Yield (0 if added or 1 if removed, kind, filter) for each filter of a change."""
    for kind, difference in enumerate(change.differences):
        for filter in difference.removed:
            yield 1, kind, filter
        for filter in difference.added:
            yield 0, kind, filter


def read_change(frame: Announce, change: StreamChange) -> tuple[Difference, Difference]:
    """Return the filters of a change, by kind; raise an `IndexError` if it names one that the frame lacks."""
    first_offer = len(frame.filters)
    lists: tuple[tuple[list[bytes], list[bytes]], ...] = (([], []), ([], []))
    for list_number, indexes in enumerate((change.added, change.removed)):
        for index in indexes:
            if index < first_offer:
                lists[0][list_number].append(frame.filters[index])
            else:
                lists[1][list_number].append(frame.offers[index - first_offer])
    return Difference(*lists[0]), Difference(*lists[1])
