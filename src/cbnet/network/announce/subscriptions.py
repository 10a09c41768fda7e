"""Subscriptions of a router's clients, or their offers: they fill the local interfaces of a forwarding table.

A node may also have an initial predicate, from the start of the network. It belongs to no client and is permanent;
clients may listen to the messages delivered to it. A gateway registers the interests of its other domains.

A client may leave with a hundred thousand filters. Delivery to it stops at once; its filters are removed from the table
and withdrawn from the announcements in slices, with other work served in between.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from cbnet._kernels.filter_rows import FilterRows
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.relations.normal_form import normalised
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad, filter_load, total_load
from cbnet.network.forwarding.forwarding_table import Fib, InternalSubscriber, Subscriber, predicate_of
from cbnet.network.forwarding.queue_groups import GroupKey


class OwnSource(Enum):
    """The origin of a router's own filters: those that it announces but did not receive from a neighbour."""

    CLIENTS = "clients"
    DOMAINS = "other domains"


OWN_SOURCES = tuple(OwnSource)
_SETTLE = 1.0  # seconds without a change after which new filters are compiled
STEP = 32  # filters that a client adds or removes at a time: 1 ms; a neighbour that decodes conditions takes 4 ms
SLICE = (
    64  # filters of clients that have left, removed at a time, or slightly more: 3 ms, or 10 ms to decode conditions
)


class _Piece(NamedTuple):
    """Some filters of a subscription that is being removed."""

    id: int
    filters: Sequence[bytes]
    is_last: bool  # of this subscription
    is_end: bool  # of all


class Subscriptions:
    """The subscriptions of all subscribers, each identified by the subscriber and the id that it chose."""

    def __init__(self, fib: Fib) -> None:
        self.fib = fib
        for source in OWN_SOURCES:
            fib.aggregation.add_source(source, is_matched=False)
        self._counts = {source: FilterCounts() for source in OWN_SOURCES}
        self._leaving: dict[int, Iterator[_Piece]] = {}  # pieces still to remove, by link of a client that has left
        self._settled = 0.0  # time of the last call of `fib.table.settle`
        self._loads: dict[Subscriber, FilterLoad] = {}

    # --- lookup

    def of(self, link: int) -> list[tuple[int, Predicate | None]]:
        """Return the id and predicate of each subscription of a client, oldest first; None: the initial predicate."""
        listened: list[tuple[int, Predicate | None]] = [(id, None) for id in self.fib.listens(link)]
        return listened + [(id, predicate_of(filters)) for id, filters in self.fib.of(link).items()]

    def count(self, link: int) -> int:
        """Return the number of subscriptions of a client."""
        return len(self.fib.of(link)) + len(self.fib.listens(link))

    def load(self, links: Iterable[int]) -> FilterLoad:
        """Return the load of the subscriptions of these links."""
        return total_load(self._loads.get(link, NO_LOAD) for link in links)

    def load_of(self, link: int, id: int) -> FilterLoad:
        """Return the load of a subscription; zero if it does not exist."""
        return filter_load(self.fib.local_filters(link, id))

    @property
    def own_filters(self) -> int:
        """The number of distinct filters of this router's own subscriptions."""
        return sum(map(len, self._counts.values()))

    # --- changes

    def listen(self, link: int, id: int) -> None:
        """Subscribe a client to the messages delivered to the initial predicate."""
        self.remove(link, id)
        self.fib.listen(link, id)

    def set(
        self, subscriber: Subscriber, id: int, filters: Iterable[bytes], group: GroupKey | None = None
    ) -> None:  # fmt: skip
        """Add a subscription with these encoded filters, or replace its filters and its queue group."""
        for _ in self.set_in_steps(subscriber, id, filters, group):
            pass

    def set_in_steps(
        self, subscriber: Subscriber, id: int, filters: Iterable[bytes], group: GroupKey | None = None
    ) -> Iterator[None]:  # fmt: skip
        """Do the same in steps of some milliseconds; filters are removed after all new ones were added.

        Members of a queue group join and leave in one step: in between, messages would go to two members, or to none.
        The new filters count from the first step on, so that quotas hold for the other links of an account.
        """
        step = STEP
        if isinstance(subscriber, int):
            self.fib.unlisten(subscriber, id)
            if group is not None or self.fib.groups.key(subscriber, id) is not None:
                step = sys.maxsize
        before = dict.fromkeys(self.fib.local_filters(subscriber, id))
        after = dict.fromkeys(filters)
        new = [encoded for encoded in after if encoded not in before]
        old = [encoded for encoded in before if encoded not in after]
        self._loads[subscriber] = self._loads.get(subscriber, NO_LOAD).plus(filter_load(new))
        while len(new) + len(old) > step:
            self._change(subscriber, id, new[:step], () if new else old[:step])
            old = old if new else old[step:]
            new = new[step:]
            yield
        self._change(subscriber, id, new, old)
        if isinstance(subscriber, int) and self.fib.groups.key(subscriber, id) != group:
            self.fib.set_group(subscriber, id, group)

    def change(self, subscriber: Subscriber, id: int, added: Collection[Filter], removed: Collection[Filter]) -> None:
        """Add new filters, in canonical form, to a subscription, and remove existing ones."""
        new = [*map(filter_to_bytes, added)]
        self._loads[subscriber] = self._loads.get(subscriber, NO_LOAD).plus(filter_load(new))
        self._change(subscriber, id, new, [*map(filter_to_bytes, removed)])

    def _change(self, subscriber: Subscriber, id: int, new: Collection[bytes], old: Collection[bytes]) -> None:
        """Add filters that are counted in the load, and remove others."""
        if old:
            self._loads[subscriber] = self._loads[subscriber].minus(filter_load(old))
        self.fib.change(subscriber, id, new, old)
        self._announce(_source(subscriber), new, old)

    def has(self, link: int, id: int) -> bool:
        """Return whether a client has a subscription."""
        return id in self.fib.of(link) or id in self.fib.listens(link)

    def remove_in_steps(self, link: int, id: int) -> Iterator[None]:
        """Remove a subscription of a client in steps of some milliseconds."""
        is_grouped = self.fib.groups.key(link, id) is not None  # a member leaves in one step
        while not is_grouped and len(filters := self.fib.local_filters(link, id)) > STEP:
            self._change(link, id, (), filters[-STEP:])
            yield
        self.remove(link, id)

    def remove(self, subscriber: Subscriber, id: int) -> bool:
        """Remove a subscription; return whether there was one."""
        if isinstance(subscriber, int) and self.fib.unlisten(subscriber, id):
            return True
        filters = self.fib.remove(subscriber, id)
        if filters is None:
            return False
        self._loads[subscriber] = self._loads[subscriber].minus(filter_load(filters))
        self._announce(_source(subscriber), (), filters)
        return True

    def remove_client(self, link: int) -> None:
        """Remove all subscriptions of a client; if it has very many filters, `work` does the rest."""
        for id in self.fib.listens(link):
            self.fib.unlisten(link, id)
        self._loads.pop(link, None)
        by_id = self.fib.retire(link)
        if by_id:
            self._leaving[link] = _pieces(by_id)
            if len(self._leaving) == 1:  # else other clients are leaving too, and `work` does it all
                self._remove_slice(link)

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._leaving) or self.fib.aggregation.has_work

    def settle(self, now: float) -> None:
        """Compile filters that have not changed for a while, so that matching them is faster."""
        if now - self._settled >= _SETTLE:
            self._settled = now
            self.fib.table.settle()

    def work(self) -> None:
        """Do a slice of deferred work: announce or withdraw filters, remove those of departed clients and streams."""
        if self.fib.aggregation.has_work:
            self.fib.aggregation.work()
        elif self._leaving:
            self._remove_slice(next(iter(self._leaving)))

    def _remove_slice(self, link: int) -> None:
        leaving = self._leaving[link]
        removed: list[bytes] = []
        is_end = False
        while len(removed) < SLICE and not is_end:
            piece = next(leaving)
            is_end = piece.is_end
            removed += piece.filters
            self.fib.remove_retired(link, piece.id, piece.filters, is_last=piece.is_last)
        if is_end:
            del self._leaving[link]
            self.fib.retired(link)
        self._announce(OwnSource.CLIENTS, (), removed)

    def _announce(self, source: OwnSource, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Change the filters that this router announces; several subscriptions may share one."""
        counts = self._counts[source]
        new = [form for form in map(normalised, added) if form is not None and counts.add(form)]
        gone = [form for form in map(normalised, removed) if form is not None and counts.remove(form)]
        self.fib.aggregation.change(source, new, gone)


class FilterCounts:
    """The number of times that each of millions of filters was added and not removed."""

    def __init__(self) -> None:
        self._rows = FilterRows()
        self._counts = array("I")  # by row

    def add(self, filter: bytes) -> bool:
        """Increment the count of a filter; return whether it is new."""
        row = self._rows.find(filter)
        if row >= 0:
            self._counts[row] += 1
            return False
        row = self._rows.insert(filter)
        if row == len(self._counts):
            self._counts.append(1)
        else:
            self._counts[row] = 1
        return True

    def remove(self, filter: bytes) -> bool:
        """Decrement the count of a filter that was added; return whether it has reached zero."""
        row = self._rows.find(filter)
        self._counts[row] -= 1
        if self._counts[row]:
            return False
        self._rows.delete(row)
        return True

    def __len__(self) -> int:
        return len(self._rows)


def _source(subscriber: Subscriber) -> OwnSource:
    return OwnSource.DOMAINS if subscriber is InternalSubscriber.OTHER_DOMAINS else OwnSource.CLIENTS


def _pieces(by_id: dict[int, tuple[bytes, ...]]) -> Iterator[_Piece]:
    """Yield the filters of subscriptions, last first, so that a piece takes the same time however many are left."""
    while by_id:
        id, filters = by_id.popitem()
        for first in range(0, max(1, len(filters)), SLICE):
            is_last = first + SLICE >= len(filters)
            yield _Piece(id, filters[first : first + SLICE], is_last, is_end=is_last and not by_id)
