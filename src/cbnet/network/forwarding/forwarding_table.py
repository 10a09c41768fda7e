"""Forwarding table (FIB) of a router: its interfaces, each with its predicate [2001 §2, 2014 §3].

    interface                                      predicate
    subscription 4 of the client at link 17        x > 7
    side 0 of the gateway to other domains         #alert
    neighbour v, on the trees 0 and 2              x > 5, or y = 1       as v has announced it

A router has one for messages, filled by subscriptions, and one for requests, filled by offers. Clients and the router
itself fill the local interfaces (`announce.subscriptions`); streams of announcements fill the interfaces to neighbours
(`announce.streams`). Every filter is in one match table, under a slot: the number of a local interface, or of the
set of streams that have the filter. So a message is matched once, against everything.

Filters are kept in their byte form: objects for their parts would take several times the memory, and the garbage
collector would visit them all.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from cbnet._kernels.slot_table import CLIENT, INITIAL, PYTHON, SOURCES
from cbnet.errors import UndecidedError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.network.forwarding.queue_groups import GroupKey, LocalGroups, Member
from cbnet.network.forwarding.search_credit import FilterCredit
from cbnet.network.forwarding.timed_table import TimedTable, empty_table
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.tree_view import TreeLink, TreeView
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.content import Content
from cbnet.routing.aggregation.aggregation import Aggregation
from cbnet.routing.aggregation.match_slots import Slots


class InternalSubscriber(Enum):
    """A subscriber of a router that is not a client."""

    INITIAL = "the initial predicate"
    OTHER_DOMAINS = "other domains"
    DURABLE = "durable subscriptions"


Subscriber: TypeAlias = int | InternalSubscriber  # int: the link of a client


class SideKey(NamedTuple):
    """The identity of a side at one router: the neighbour that announces it, the session, and the key of the side."""

    neighbour: str
    session: int
    side: bytes


class TreeInterface(NamedTuple):
    """The interface to a neighbour on a tree."""

    to: TreeLink
    link: int | None  # None: the session of the tree is closed
    sources: int | None  # bits of the streams with the filters behind it; None: not known for all nodes


class Matches(NamedTuple):
    """What a message or a request matches: the local interfaces, and the streams of neighbours."""

    clients: dict[int, list[int]]  # ids by link
    domains: list[int]  # sides of a gateway
    is_initial: bool  # whether the initial predicate matches
    sources: int  # bits of the streams with a filter that matches
    durable: Sequence[int] = ()  # durable subscriptions
    undecided: Matches | None = None  # interfaces that perhaps match; those of others are taken to match
    # Members of queue groups by link and id, of `clients` if none was chosen yet: who gets the message in their place.
    passed_over: Mapping[tuple[int, int], str] = MappingProxyType({})

    @property
    def possible_clients(self) -> dict[int, list[int]]:
        """The clients whose interfaces match, and those that perhaps do."""
        if self.undecided is None:
            return self.clients
        links = {**self.clients, **self.undecided.clients}
        return {link: [*self.clients.get(link, ()), *self.undecided.clients.get(link, ())] for link in links}


class Fib:
    """The interfaces of one router, for messages or for requests.

    Local interfaces are identified by the subscriber and an id that it chose, those to neighbours by a link of a tree.
    """

    def __init__(self, context: RouterContext, links: LinkTable, versions: Versions) -> None:
        self._credit = FilterCredit(context, self._payer)
        self._links = links
        self._versions = versions
        self.table = TimedTable(empty_table())
        self._slots: Slots[Any] = Slots()
        self.aggregation = Aggregation(self.table, self._slots)  # of the streams, which are its sources
        self._local: dict[Subscriber, dict[int, tuple[bytes, ...]]] = {}
        self.groups = LocalGroups()
        self._retired: set[int] = set()  # links of clients that have left, whose filters are being removed
        self._listeners: dict[tuple[int, int], None] = {}  # clients that receive what the initial predicate matches
        self._streams: dict[SideKey, Hashable] = {}  # open ones, by the side that they announce
        self._interfaces: dict[int, tuple[TreeView, list[TreeInterface]]] = {}  # by the identity of a tree
        self.durable_accounts: dict[int, str] = {}  # of durable subscriptions, by id
        self.generation = 0  # of the interfaces to neighbours
        self.size = 0  # bytes of all local filters

    # --- lookup

    def match(self, content: Content) -> Matches:
        """Return the interfaces that a message or a request matches."""
        try:
            return self.matches_of(self.table.match(content.members, self._credit.begin()))
        except UndecidedError as error:
            decided, undecided = self.matches_of(error.rules), self.matches_of(error.undecided)
            return decided._replace(
                domains=[*decided.domains, *undecided.domains],
                sources=decided.sources | undecided.sources,
                undecided=undecided,
            )

    def _payer(self, slot: int) -> str:
        """Return who pays for the search for a filter of a slot; empty: the neighbours."""
        holder = self._slots.holder(slot)
        if type(holder) is not tuple:
            return ""
        subscriber, id = holder
        if subscriber is InternalSubscriber.DURABLE:
            return self.durable_accounts.get(id) or str(subscriber)
        link = self._links.get(subscriber) if isinstance(subscriber, int) else None
        return str(subscriber) if link is None else link.payer

    def matches_of(self, slots: Sequence[int]) -> Matches:
        """Return the interfaces of some slots of the match table."""
        clients: dict[int, list[int]] = {}
        domains: list[int] = []
        durable: list[int] = []
        is_initial = False
        for slot in slots:
            holder = self._slots.holder(slot)
            if type(holder) is not tuple:
                continue  # a set of streams
            subscriber, id = holder
            if isinstance(subscriber, int):
                if subscriber not in self._retired:
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
        """Return the meaning of a slot of the match table, in the form of `slot_table`."""
        holder = self._slots.holder(slot)
        if type(holder) is not tuple:
            return SOURCES, 0, self.aggregation.sources(slot)
        subscriber, id = holder
        if isinstance(subscriber, int) and subscriber in self._retired:
            return SOURCES, 0, 0
        if isinstance(subscriber, int) and self.groups.key(subscriber, id) is None:
            return CLIENT, subscriber, id
        is_simple = subscriber is InternalSubscriber.INITIAL and not self._listeners
        return INITIAL if is_simple else PYTHON, 0, 0

    def take_changed_slots(self) -> Iterable[int]:
        """Return the slots whose meaning has changed since the last call."""
        changed, self._slots.changed = self._slots.changed, set()
        return changed

    def interfaces(self, tree: TreeView) -> list[TreeInterface]:
        """Return the interfaces to the neighbours on a tree."""
        known = self._interfaces.get(id(tree))
        if known is None:
            interfaces = [self._interface(link) for link in tree.links.values() if link.receives]
            known = self._interfaces[id(tree)] = tree, interfaces
        return known[1]

    def filters(self, link: TreeLink) -> set[bytes]:
        """Return the filters of the interface to a neighbour, as far as they are known."""
        return set().union(*map(self.aggregation.filters, self._streams_behind(link) or ()))

    def local_filters(self, subscriber: Subscriber, id: int) -> Sequence[bytes]:
        """Return the encoded filters of a local interface; none if it does not exist."""
        return self._local.get(subscriber, {}).get(id, ())

    def local(self) -> Iterator[tuple[Subscriber, int, Sequence[bytes]]]:
        """Yield subscriber, id and encoded filters of each local interface."""
        for subscriber, by_id in self._local.items():
            for id, filters in by_id.items():
                yield subscriber, id, filters

    def of(self, link: int) -> Mapping[int, Sequence[bytes]]:
        """Return the encoded filters of a client's interfaces by id, oldest first; without those that only listen."""
        return self._local.get(link, {})

    def listens(self, link: int) -> list[int]:
        """Return the ids under which a client receives what the initial predicate matches."""
        return [id for each, id in self._listeners if each == link]

    @property
    def initial(self) -> Predicate | None:
        """The initial predicate; None if there is none."""
        filters = self._local.get(InternalSubscriber.INITIAL)
        return None if filters is None else predicate_of(filters[0])

    def __len__(self) -> int:
        own = (len(by_id) for who, by_id in self._local.items() if who is not InternalSubscriber.INITIAL)
        return sum(own) + len(self._listeners)

    def _interface(self, link: TreeLink) -> TreeInterface:
        streams = self._streams_behind(link)
        sources = None if streams is None else sum({self.aggregation.bit(stream) for stream in streams})
        return TreeInterface(link, self._links.by_session(link.session), sources)

    def _streams_behind(self, link: TreeLink) -> list[Hashable] | None:
        """Return the streams that together announce the side behind a link; None if they lack some of its nodes.

        If the stream for this side has not arrived, or its session is closed, streams of other sides may replace it,
        of the newest version that has them.
        """
        exact = self._live(link._replace(far_key=link.matched))
        if exact is not None:
            return [exact]
        found: list[Hashable] = []
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

    def _live(self, link: TreeLink) -> Hashable | None:
        """Return the stream of a side, if its session is open; otherwise it lacks later changes."""
        if self._links.by_session(link.session) is None:
            return None
        return self._streams.get(SideKey(link.neighbour, link.session, link.far_key))

    # --- local interfaces

    def change(self, subscriber: Subscriber, id: int, added: Collection[bytes], removed: Collection[bytes]) -> None:
        """Add new filters to a local interface, which may be new, and remove existing ones."""
        by_id, gone = self._local.setdefault(subscriber, {}), set(removed)
        by_id[id] = (*(each for each in by_id.get(id, ()) if each not in gone), *added)
        slot = self._slots.take((subscriber, id))
        self.table.add_tests(slot, [*map(tests_from_bytes, added)])
        self.size += sum(map(len, added))
        self._remove_filters(slot, removed)

    def set_group(self, link: int, id: int, group: GroupKey | None) -> None:
        """Make an interface of a client a member of a queue group, or of none."""
        member = Member(link, id)
        if group is None:
            self.groups.leave(member)
        else:
            self.groups.join(member, group)
        self._slots.changed.add(self._slots.take((link, id)))

    def remove(self, subscriber: Subscriber, id: int) -> Sequence[bytes] | None:
        """Remove a local interface; return its filters, or None if it does not exist."""
        filters = self._local.get(subscriber, {}).pop(id, None)
        if filters is not None:
            if isinstance(subscriber, int):
                self.groups.leave(Member(subscriber, id))
            self._remove_filters(self._slots.release((subscriber, id)), filters)
        return filters

    def listen(self, link: int, id: int) -> None:
        """Deliver to a client what the initial predicate matches."""
        self._listeners[link, id] = None
        self._listeners_changed()

    def unlisten(self, link: int, id: int) -> bool:
        """End `listen`; return whether the client listened under this id."""
        if (link, id) not in self._listeners:
            return False
        del self._listeners[link, id]
        self._listeners_changed()
        return True

    def retire(self, link: int) -> dict[int, tuple[bytes, ...]]:
        """Deliver nothing more to a client; return its filters by id, for `remove_retired`."""
        by_id = self._local.pop(link, {})
        if by_id:
            for id in by_id:
                self.groups.leave(Member(link, id))
            self._retired.add(link)
            self._slots.changed.update(self._slots.take((link, id)) for id in by_id)
        return by_id

    def remove_retired(self, link: int, id: int, filters: Collection[bytes], *, is_last: bool) -> None:
        """Remove some filters of a client that has left; is_last: of this id."""
        self._remove_filters(self._slots.take((link, id)), filters)
        if is_last:
            self._slots.release((link, id))

    def retired(self, link: int) -> None:
        """Forget a client that has left: all its filters are removed."""
        self._retired.discard(link)

    def _remove_filters(self, slot: int, filters: Collection[bytes]) -> None:
        self.table.remove_tests(slot, [*map(tests_from_bytes, filters)])
        self.size -= sum(map(len, filters))

    def _listeners_changed(self) -> None:
        if InternalSubscriber.INITIAL in self._local:
            self._slots.changed.add(self._slots.take((InternalSubscriber.INITIAL, 0)))

    # --- interfaces to neighbours

    def connect(self, key: SideKey, stream: Hashable) -> None:
        """Let a source of `aggregation` describe a side: all of its filters have arrived."""
        self._streams[key] = stream

    def disconnect(self, key: SideKey) -> None:
        """End `connect`, if it was called."""
        self._streams.pop(key, None)

    def forget_interfaces(self) -> None:
        """Compute the interfaces to neighbours again: versions, links or streams have changed."""
        self.generation += 1
        self._interfaces.clear()


def predicate_of(filters: Iterable[bytes]) -> Predicate:
    """Return the predicate of encoded filters."""
    return Predicate(map(filter_from_bytes, filters))
