"""Flooding of records: every router forwards what is new to it.

A link keeps the order of its frames and loses none while it is up. So it suffices to send a summary of all records
when a link comes up (`RecordSummary`), and from then on what is new; the peer requests what it lacks (`RecordRequest`).

    links of a router         always whole: they are few
    change of a predicate     the difference to the previous version, forwarded
    whole predicate           on request of a router that knows of a newer version and cannot reach it by a change. It
                              may take several frames; a small one is forwarded
    offers of a node          as its predicate

Every router adds to the age of a record that it receives. Otherwise a record about to expire could circulate for ever:
a router that has just expired it would take it for new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from cbnet.network.announce.initial_predicates import MAX_NODE_FILTERS as MAX_NODE_FILTERS
from cbnet.network.announce.node_predicates import EncodedFilters, read_filters
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.database import Database, UpdateOutcome
from cbnet.network.linkstate.records import Key, RecordKind, Version, entry_of, key_of, version_of
from cbnet.network.linkstate.resynchronisation import RecordRequests
from cbnet.network.protocol.fields import MAX_ENTRIES, MAX_FRAME_FILTERS
from cbnet.network.protocol.frames import (
    FilterChange,
    FilterRecord,
    Frame,
    LinkRecord,
    RecordEntry,
    RecordRequest,
    RecordSummary,
)
from cbnet.network.protocol.wire import WireError

MAX_NODE_BYTES = 1 << 28
MAX_PART_BYTES = 1 << 18  # of filters in one frame
_SMALL_BYTES = 200  # whole predicates up to this size are forwarded: requesting them costs as much

VersionCallback = Callable[[Key, Version], None]
Item = TypeVar("Item")
AnyRecord = TypeVar("AnyRecord", LinkRecord, FilterRecord, FilterChange)


@dataclass
class _Parts:
    """The parts of a predicate received so far."""

    key: Key
    version: Version
    filters: dict[bytes, None] = field(default_factory=dict)
    size: int = 0  # bytes


class Flooding:
    """The exchange of records with the neighbours."""

    def __init__(self, context: RouterContext, database: Database, links: LinkTable) -> None:
        self._context = context
        self._database = database
        self._links = links
        self._requests = RecordRequests(context.settings.retry)
        self._parts: dict[int, _Parts] = {}  # by link; one predicate at a time
        self._summarised: set[int] = set()  # links over which a summary was received
        self._is_synchronised = False
        self.on_own: VersionCallback = lambda _key, _version: None  # own records received from others
        self.on_change: VersionCallback = lambda _key, _version: None  # changes to acknowledge

    # --- links

    def greet(self, link: int) -> None:
        """Send a new neighbour a summary of all records."""
        for entries in _chunks(self._database.entries(), MAX_ENTRIES):
            self._context.outbox.send(link, RecordSummary(entries))

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has once had all records that its neighbours, at least one, announced."""
        if not self._is_synchronised and not self._requests:
            links = self._links.routers()
            self._is_synchronised = bool(links) and self._summarised.issuperset(links)
        return self._is_synchronised

    def remove_link(self, link: int) -> None:
        """Remove a closed link."""
        self._summarised.discard(link)
        self._parts.pop(link, None)
        self._requests.remove_link(link)

    def request_missing(self) -> None:
        """Request missing records that were not requested yet, or not answered in time."""
        if not self._requests:
            return
        due: dict[int, list[RecordEntry]] = {}
        for link, key in self._requests.due(self._context.now):
            due.setdefault(link, []).append(entry_of(key, Version(0, 0)))
        for link, entries in due.items():
            for chunk in _chunks(iter(entries), MAX_ENTRIES):
                self._context.outbox.send(link, RecordRequest(chunk))

    # --- own records

    def flood(self, frame: LinkRecord | FilterChange) -> None:
        """Send an own record to all neighbours."""
        self._context.outbox.send_all(self._links.routers(), frame)

    def advertise(self, key: Key, version: Version, except_link: int | None = None) -> None:
        """Announce a record to all neighbours except one."""
        self._forward(RecordSummary([entry_of(key, version)]), except_link)

    # --- frames

    def summary(self, link: int, frame: RecordSummary) -> None:
        """Handle a summary: note the records that this router lacks."""
        self._summarised.add(link)
        for entry in frame.entries:
            key, version = key_of(entry), version_of(entry)
            if key.owner == self._context.name:
                self.on_own(key, version)
            elif self._database.lacks(key, version):
                self._requests.add(link, key, version)

    def request(self, link: int, frame: RecordRequest) -> None:
        """Send a neighbour the records that it requests."""
        for key in map(key_of, frame.entries):
            for part in self._frames(key):
                self._context.outbox.send(link, part)

    def link_record(self, link: int, frame: LinkRecord) -> None:
        """Handle a link record."""
        key, version = Key(frame.owner, RecordKind.LINKS), version_of(frame)
        if frame.owner == self._context.name:
            self.on_own(key, version)
            return
        frame = self._with_age(frame)
        now = self._context.now
        born, path = self._born(frame), frame.path
        outcome = self._database.install_links(frame.owner, version, born, frame.neighbours, now, path)
        if self._is_installed(outcome, key, version):
            self._forward(frame, link)

    def filter_change(self, link: int, frame: FilterChange) -> None:
        """Handle a change of a predicate; if its base is missing, request the whole."""
        key, version = key_of(frame), version_of(frame)
        if frame.owner == self._context.name:
            self.on_own(key, version)
            return
        frame = self._with_age(frame)
        added, removed = read_filters(frame.added), read_filters(frame.removed)
        now, born = self._context.now, self._born(frame)
        outcome = self._database.install_change(frame.owner, version, born, added, removed, now, key.kind)
        if outcome is UpdateOutcome.WITHOUT_BASE:
            self._requests.add(link, key, version)
        if self._is_installed(outcome, key, version):
            self._forward(frame, link)
            if frame.wants_ack:
                self.on_change(key, version)

    def filter_record(self, link: int, frame: FilterRecord) -> None:
        """Handle a whole predicate or a part of it; install it with its last part."""
        key, version = key_of(frame), version_of(frame)
        if frame.owner == self._context.name:
            self.on_own(key, version)
            return
        frame = self._with_age(frame)
        parts = self._collect(link, key, version, frame)
        self._requests.postpone(key, version, self._context.now)
        if not frame.is_last:
            return
        del self._parts[link]
        filters, now = read_filters(parts.filters), self._context.now
        outcome = self._database.install_whole(frame.owner, version, self._born(frame), filters, now, key.kind)
        if self._is_installed(outcome, key, version):
            if len(filters) == len(frame.filters) and parts.size <= _SMALL_BYTES:
                self._forward(frame, link)
            else:
                self.advertise(key, version, except_link=link)

    # --- inside

    def _collect(self, link: int, key: Key, version: Version, frame: FilterRecord) -> _Parts:
        """Return the filters of this part and of the previous ones."""
        parts = self._parts.get(link)
        if parts is None or (parts.key, parts.version) != (key, version):
            parts = self._parts[link] = _Parts(key, version)
        parts.filters.update(dict.fromkeys(frame.filters))
        parts.size += sum(map(len, frame.filters))
        if len(parts.filters) > MAX_NODE_FILTERS or parts.size > MAX_NODE_BYTES:
            raise WireError(f"the predicate of {frame.owner} is too large")
        return parts

    def _is_installed(self, outcome: UpdateOutcome, key: Key, version: Version) -> bool:
        self._context.counters[outcome.value] += 1
        if outcome is UpdateOutcome.INSTALLED:
            self._requests.complete(key, version)
        return outcome is UpdateOutcome.INSTALLED

    def _forward(self, frame: Frame, except_link: int | None) -> None:
        self._context.outbox.send_all([link for link in self._links.routers() if link != except_link], frame)

    def _with_age(self, frame: AnyRecord) -> AnyRecord:
        """Return a record with the age that one link adds: a thousandth of the lifetime."""
        return replace(frame, age=frame.age + max(1, round(self._context.settings.lifetime)))

    def _born(self, frame: LinkRecord | FilterRecord | FilterChange) -> float:
        return self._context.now - frame.age / 1000

    def _frames(self, key: Key) -> Iterator[LinkRecord | FilterRecord]:
        """Yield the frames of a record."""
        version = self._database.version(key)
        if version is None:
            return
        owner, age = key.owner, self._database.age(key, self._context.now)
        if key.kind is RecordKind.LINKS:
            neighbours = dict(self._database.neighbours(owner))
            yield LinkRecord(
                owner=owner,
                life=version.life,
                sequence=version.sequence,
                age=age,
                neighbours=neighbours,
                path=list(self._database.gateway_path(owner)),
            )
            return
        parts = list(_in_parts(self._database.filters[key.kind].encoded(owner)))
        for number, part in enumerate(parts, 1):
            yield FilterRecord(
                owner=owner,
                life=version.life,
                sequence=version.sequence,
                age=age,
                filters=part,
                is_last=number == len(parts),
                kind=key.kind,
            )


def fits(filters: EncodedFilters) -> bool:
    """Return whether filters fit in one frame."""
    return len(filters) <= MAX_FRAME_FILTERS and sum(map(len, filters)) <= MAX_PART_BYTES


def _in_parts(filters: list[bytes]) -> Iterator[list[bytes]]:
    """Yield filters in parts that fit in a frame; one empty part if there are none."""
    part: list[bytes] = []
    size = 0
    for filter in filters:
        if size + len(filter) > MAX_PART_BYTES or len(part) == MAX_FRAME_FILTERS:
            yield part
            part, size = [], 0
        part.append(filter)
        size += len(filter)
    yield part


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
