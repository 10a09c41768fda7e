"""Subscriptions of a router's clients, in one live table of all their predicates.

A node may also have an initial predicate, from the start of the network. It belongs to no client and is permanent;
clients may listen to the messages delivered to it. A gateway registers the interests of its other domains.

Offers are kept the same way, in another table: the predicates of requests that clients answer.

A client may leave with a hundred thousand filters. Delivery to it stops at once; its filters are removed from the table
and withdrawn from the announcements in slices, with other work served in between. Filters are kept in their byte form:
objects for their parts would take several times the memory, and the garbage collector would visit them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from cbnet._kernels.slot_table import CLIENT, INITIAL, PYTHON, SOURCES
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.network.announce.filter_counts import FilterCounts
from cbnet.network.announce.filter_load import NO_LOAD, FilterLoad, filter_load, total_load
from cbnet.network.announce.timed_table import TimedTable, empty_table
from cbnet.network.protocol.content import Content
from cbnet.routing.aggregation.aggregation import Aggregation, normalised
from cbnet.routing.aggregation.match_slots import Slots


class InternalSubscriber(Enum):
    """A subscriber of a router that is not a client."""

    INITIAL = "the initial predicate"
    OTHER_DOMAINS = "other domains"
    DURABLE = "durable subscriptions"


class OwnSource(Enum):
    """The origin of a router's own filters: those that it announces but did not receive from a neighbour."""

    CLIENTS = "clients"
    DOMAINS = "other domains"


OWN_SOURCES = tuple(OwnSource)
_SETTLE = 1.0  # seconds without a change after which new filters are compiled
SLICE = 128  # filters of clients that have left, removed at a time, or slightly more: about 5 ms
Subscriber: TypeAlias = int | InternalSubscriber  # int: the link of a client


class Matches(NamedTuple):
    """What a message matches: the subscriptions at this router, and the interfaces."""

    clients: dict[int, list[int]]  # ids by link
    domains: list[int]  # sides of a gateway
    is_initial: bool  # whether the initial predicate matches
    sources: int  # bits of the streams with a filter that matches
    durable: Sequence[int] = ()  # durable subscriptions


class _Piece(NamedTuple):
    """Some filters of a subscription that is being removed."""

    id: int
    filters: Sequence[bytes]
    is_last: bool  # of this subscription
    is_end: bool  # of all


class Subscriptions:
    """The subscriptions of all subscribers, each identified by the subscriber and the id that it chose.

    One table holds them and the filters of all streams: a message is matched once.
    """

    def __init__(self) -> None:
        self.table = TimedTable(empty_table())
        self._slots: Slots[Any] = Slots()
        self.aggregation = Aggregation(self.table, self._slots)
        for source in OWN_SOURCES:
            self.aggregation.add_source(source, is_matched=False)
        self._counts = {source: FilterCounts() for source in OWN_SOURCES}
        self._filters: dict[Subscriber, dict[int, tuple[bytes, ...]]] = {}  # by subscriber and id
        self._leaving: dict[int, Iterator[_Piece]] = {}  # pieces still to remove, by link of a client that has left
        self._listeners: dict[tuple[int, int], None] = {}  # to the initial predicate: link and id
        self.size = 0  # bytes of all filters, as in records
        self.changes = 0  # of any subscription
        self._settled = 0.0  # time of the last call of `table.settle`
        self._loads: dict[Subscriber, FilterLoad] = {}

    # --- lookup

    def matched(self, content: Content) -> Matches:
        """Return the subscriptions that a message matches."""
        clients: dict[int, list[int]] = {}
        domains: list[int] = []
        durable: list[int] = []
        is_initial = False
        slots = self.table.match(content.members)
        for slot in slots:
            holder = self._slots.holder(slot)
            if type(holder) is not tuple:
                continue  # a group of streams
            subscriber, id = holder
            if isinstance(subscriber, int):
                if subscriber not in self._leaving:
                    clients.setdefault(subscriber, []).append(id)
            elif subscriber is InternalSubscriber.OTHER_DOMAINS:
                domains.append(id)
            elif subscriber is InternalSubscriber.DURABLE:
                durable.append(id)
            else:
                is_initial = True
        if is_initial:
            for link, id in self._listeners:
                clients.setdefault(link, []).append(id)
        return Matches(clients, domains, is_initial, self.aggregation.matched(slots), durable)

    def holder(self, slot: int) -> tuple[int, int, int]:
        """Return the holder of a slot of the table, in the form of `slot_table`."""
        holder = self._slots.holder(slot)
        if type(holder) is not tuple:
            return SOURCES, 0, self.aggregation.sources(slot)
        subscriber, id = holder
        if isinstance(subscriber, int):
            return (SOURCES, 0, 0) if subscriber in self._leaving else (CLIENT, subscriber, id)
        is_simple = subscriber is InternalSubscriber.INITIAL and not self._listeners
        return INITIAL if is_simple else PYTHON, 0, 0

    def on_slot_changed(self, call: Callable[[int], None]) -> None:
        """Call a function with each slot whose holder changes, from now on."""
        self._slots.on_changed = call

    def filters(self, subscriber: Subscriber, id: int) -> Collection[Filter]:
        """Return the filters of a subscription; none if it does not exist."""
        return [*map(filter_from_bytes, self._filters.get(subscriber, {}).get(id, ()))]

    def of(self, link: int) -> list[tuple[int, Predicate | None]]:
        """Return the id and predicate of each subscription of a client, oldest first; None: the initial predicate."""
        listened: list[tuple[int, Predicate | None]] = [(id, None) for each, id in self._listeners if each == link]
        return listened + [(id, _predicate(filters)) for id, filters in self._filters.get(link, {}).items()]

    def count(self, link: int) -> int:
        """Return the number of subscriptions of a client."""
        return len(self._filters.get(link, ())) + sum(listener == link for listener, _ in self._listeners)

    def load(self, links: Iterable[int]) -> FilterLoad:
        """Return the load of the subscriptions of these links."""
        return total_load(self._loads.get(link, NO_LOAD) for link in links)

    def load_of(self, link: int, id: int) -> FilterLoad:
        """Return the load of a subscription; zero if it does not exist."""
        return filter_load(self._filters.get(link, {}).get(id, ()))

    @property
    def initial(self) -> Predicate | None:
        """The initial predicate; None if there is none."""
        filters = self._filters.get(InternalSubscriber.INITIAL)
        return None if filters is None else _predicate(filters[0])

    @property
    def initial_count(self) -> int:
        """The number of filters of the initial predicate."""
        return len(self._filters.get(InternalSubscriber.INITIAL, {0: ()})[0])

    def all(self) -> Iterable[tuple[Subscriber, int, Predicate]]:
        """Yield subscriber, id and predicate of each subscription."""
        for subscriber, id, filters in self.encoded():
            yield subscriber, id, _predicate(filters)

    def encoded(self) -> Iterable[tuple[Subscriber, int, Sequence[bytes]]]:
        """Yield subscriber, id and encoded filters of each subscription."""
        for subscriber, by_id in self._filters.items():
            for id, filters in by_id.items():
                yield subscriber, id, filters

    @property
    def own_filters(self) -> int:
        """The number of distinct filters of this router's own subscriptions."""
        return len(self._counts[OwnSource.CLIENTS]) + len(self._counts[OwnSource.DOMAINS])

    def __len__(self) -> int:
        own = (len(by_id) for who, by_id in self._filters.items() if who is not InternalSubscriber.INITIAL)
        return sum(own) + len(self._listeners)

    # --- changes

    def listen(self, link: int, id: int) -> None:
        """Subscribe a client to the messages delivered to the initial predicate."""
        self.remove(link, id)
        self._listeners[link, id] = None
        self._listeners_changed()

    def set(self, subscriber: Subscriber, id: int, filters: Iterable[bytes]) -> None:
        """Add a subscription with these encoded filters, or replace its filters."""
        if isinstance(subscriber, int):
            self._remove_listener(subscriber, id)
        before = dict.fromkeys(self._filters.get(subscriber, {}).get(id, ()))
        after = dict.fromkeys(filters)
        new = [encoded for encoded in after if encoded not in before]
        self._change(subscriber, id, new, [encoded for encoded in before if encoded not in after])

    def change(self, subscriber: Subscriber, id: int, added: Collection[Filter], removed: Collection[Filter]) -> None:
        """Add new filters, in canonical form, to a subscription, and remove existing ones."""
        self._change(subscriber, id, [*map(filter_to_bytes, added)], [*map(filter_to_bytes, removed)])

    def _change(self, subscriber: Subscriber, id: int, new: Collection[bytes], old: Collection[bytes]) -> None:
        self.changes += 1
        by_id = self._filters.setdefault(subscriber, {})
        gone = set(old)
        by_id[id] = (*(each for each in by_id.get(id, ()) if each not in gone), *new)
        slot = self._slots.take((subscriber, id))
        self._loads[subscriber] = self._loads.get(subscriber, NO_LOAD).plus(filter_load(new)).minus(filter_load(old))
        self.table.add_tests(slot, [*map(tests_from_bytes, new)])
        self.size += sum(map(len, new))
        self._remove_from_table(slot, old)
        self._announce(_source(subscriber), new, old)

    def remove(self, subscriber: Subscriber, id: int) -> bool:
        """Remove a subscription; return whether there was one."""
        if isinstance(subscriber, int) and self._remove_listener(subscriber, id):
            return True
        if id not in self._filters.get(subscriber, {}):
            return False
        self.changes += 1
        filters = self._filters[subscriber].pop(id)
        self._loads[subscriber] = self._loads[subscriber].minus(filter_load(filters))
        self._remove_from_table(self._slots.release((subscriber, id)), filters)
        self._announce(_source(subscriber), (), filters)
        return True

    def remove_client(self, link: int) -> None:
        """Remove all subscriptions of a client; if it has very many filters, `work` does the rest."""
        for listener in [listener for listener in self._listeners if listener[0] == link]:
            self._remove_listener(*listener)
        self._loads.pop(link, None)
        by_id = self._filters.pop(link, None)
        if by_id:
            self.changes += 1
            self._leaving[link] = _pieces(by_id)
            for id in by_id:
                self._slots.on_changed(self._slots.take((link, id)))
            if len(self._leaving) == 1:  # else other clients are leaving too, and `work` does it all
                self._remove_slice(link)

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._leaving) or self.aggregation.has_work

    def settle(self, now: float) -> None:
        """Compile filters that have not changed for a while, so that matching them is faster."""
        if now - self._settled >= _SETTLE:
            self._settled = now
            self.table.settle()

    def work(self) -> None:
        """Do a slice of deferred work: announce or withdraw filters, remove those of departed clients and streams."""
        if self.aggregation.has_work:
            self.aggregation.work()
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
            self._remove_from_table(self._slots.take((link, piece.id)), piece.filters)
            if piece.is_last:
                self._slots.release((link, piece.id))
        if is_end:
            del self._leaving[link]
        self._announce(OwnSource.CLIENTS, (), removed)

    def _remove_listener(self, link: int, id: int) -> bool:
        if (link, id) not in self._listeners:
            return False
        del self._listeners[link, id]
        self._listeners_changed()
        return True

    def _listeners_changed(self) -> None:
        if InternalSubscriber.INITIAL in self._filters:
            self._slots.on_changed(self._slots.take((InternalSubscriber.INITIAL, 0)))

    def _announce(self, source: OwnSource, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Change the filters that this router announces; several subscriptions may share one."""
        counts = self._counts[source]
        new = [form for form in map(normalised, added) if form is not None and counts.add(form)]
        gone = [form for form in map(normalised, removed) if form is not None and counts.remove(form)]
        self.aggregation.change(source, new, gone)

    def _remove_from_table(self, slot: int, filters: Collection[bytes]) -> None:
        self.table.remove_tests(slot, [*map(tests_from_bytes, filters)])
        self.size -= sum(map(len, filters))


def _source(subscriber: Subscriber) -> OwnSource:
    return OwnSource.DOMAINS if subscriber is InternalSubscriber.OTHER_DOMAINS else OwnSource.CLIENTS


def _pieces(by_id: dict[int, tuple[bytes, ...]]) -> Iterator[_Piece]:
    """Yield the filters of subscriptions, last first, so that a piece takes the same time however many are left."""
    while by_id:
        id, filters = by_id.popitem()
        for first in range(0, max(1, len(filters)), SLICE):
            is_last = first + SLICE >= len(filters)
            yield _Piece(id, filters[first : first + SLICE], is_last, is_end=is_last and not by_id)


def _predicate(filters: Iterable[bytes]) -> Predicate:
    return Predicate(map(filter_from_bytes, filters))
