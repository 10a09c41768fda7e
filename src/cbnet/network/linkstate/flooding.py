"""Flooding: how does every router come to have every record? Each passes on what is new to it.

A link keeps the order of its frames and loses none while it lasts. So it is enough to tell, when a link comes up, what
there is (`Summary`), and from then on what is new; the other side asks for what it lacks (`Want`).

    links of a router         whole, each time: they are few
    change of a predicate     the difference to the version before, passed on
    predicate as a whole      to who asks: it was told that there is a newer version, and cannot get there
                              by a change. It may take several frames; a small one is passed on
    offers of a node          as its predicate

Every router that takes a record adds to its age. Else one that is about to be forgotten could go round a circle of
routers for ever: whoever has just forgotten it would take it for new.
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
from cbnet.network.linkstate.record_requests import RecordRequests
from cbnet.network.linkstate.records import Key, RecordKind, Version, entry_of, key_of, version_of
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
PART_BYTES = 1 << 18  # of filters in one frame
_SMALL = 200  # bytes of filters that are passed on to who may have them: not many more than to ask

Met = Callable[[Key, Version], None]
Installed = Callable[[Key, Version], None]
Each = TypeVar("Each")
AnyRecord = TypeVar("AnyRecord", LinkRecord, FilterRecord, FilterChange)


@dataclass
class _Parts:
    """The parts of a predicate that have come, before the last."""

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
        self._wanted = RecordRequests(context.settings.retry)
        self._parts: dict[int, _Parts] = {}  # of one predicate for each link
        self._told: set[int] = set()  # links over which something was told of what there is
        self._is_synchronised = False
        self.on_own: Met = lambda _key, _version: None  # called with records of this router that come from elsewhere
        self.on_change: Installed = lambda _key, _version: None  # called if the owner wants to know

    # --- links come and go

    def greet(self, link: int) -> None:
        """Tell a new neighbour what there is."""
        for entries in _chunks(self._database.entries(), MAX_ENTRIES):
            self._context.outbox.send(link, RecordSummary(entries))

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has once had all that its neighbours, at least one, had told it of."""
        if not self._is_synchronised and not self._wanted:
            links = self._links.routers()
            self._is_synchronised = bool(links) and self._told.issuperset(links)
        return self._is_synchronised

    def closed(self, link: int) -> None:
        """Forget what was expected of a neighbour."""
        self._told.discard(link)
        self._parts.pop(link, None)
        self._wanted.closed(link)

    def ask(self) -> None:
        """Ask for what is lacking and was not asked for, or not answered."""
        if not self._wanted:
            return
        asked: dict[int, list[RecordEntry]] = {}
        for link, key in self._wanted.due(self._context.now):
            asked.setdefault(link, []).append(entry_of(key, Version(0, 0)))
        for link, entries in asked.items():
            for some in _chunks(iter(entries), MAX_ENTRIES):
                self._context.outbox.send(link, RecordRequest(some))

    # --- own records

    def spread(self, frame: LinkRecord | FilterChange) -> None:
        """Send an own record, which is installed, to all neighbours."""
        self._context.outbox.send_all(self._links.routers(), frame)

    def advertise(self, key: Key, version: Version, but: int | None = None) -> None:
        """Tell the neighbours, but for one, that there is a record."""
        self._pass_on(RecordSummary([entry_of(key, version)]), but)

    # --- frames

    def summary(self, link: int, frame: RecordSummary) -> None:
        """Note what a neighbour has and this router lacks."""
        self._told.add(link)
        for entry in frame.entries:
            key, version = key_of(entry), version_of(entry)
            if key.owner == self._context.name:
                self.on_own(key, version)
            elif self._database.lacks(key, version):
                self._wanted.heard(link, key, version)

    def want(self, link: int, frame: RecordRequest) -> None:
        """Send a neighbour the records that it asks for."""
        for key in map(key_of, frame.entries):
            for part in self._frames(key):
                self._context.outbox.send(link, part)

    def links(self, link: int, frame: LinkRecord) -> None:
        """Take the record of a router's links."""
        key, version = Key(frame.owner, RecordKind.LINKS), version_of(frame)
        if frame.owner == self._context.name:
            self.on_own(key, version)
            return
        frame = self._aged(frame)
        now = self._context.now
        born, path = self._born(frame), frame.path
        outcome = self._database.install_links(frame.owner, version, born, frame.neighbours, now, path)
        if self._is_installed(outcome, key, version):
            self._pass_on(frame, link)

    def change(self, link: int, frame: FilterChange) -> None:
        """Take a change of a predicate; if what it changes is not here, ask for the whole."""
        key, version = key_of(frame), version_of(frame)
        if frame.owner == self._context.name:
            self.on_own(key, version)
            return
        frame = self._aged(frame)
        added, removed = read_filters(frame.added), read_filters(frame.removed)
        now, born = self._context.now, self._born(frame)
        outcome = self._database.install_change(frame.owner, version, born, added, removed, now, key.kind)
        if outcome is UpdateOutcome.BASELESS:
            self._wanted.heard(link, key, version)
        if self._is_installed(outcome, key, version):
            self._pass_on(frame, link)
            if frame.wants_ack:
                self.on_change(key, version)

    def whole(self, link: int, frame: FilterRecord) -> None:
        """Take a predicate, or a part of it; install it when its last part is here."""
        key, version = key_of(frame), version_of(frame)
        if frame.owner == self._context.name:
            self.on_own(key, version)
            return
        frame = self._aged(frame)
        parts = self._collected(link, key, version, frame)
        self._wanted.coming(key, version, self._context.now)
        if not frame.is_last:
            return
        del self._parts[link]
        filters, now = read_filters(parts.filters), self._context.now
        outcome = self._database.install_whole(frame.owner, version, self._born(frame), filters, now, key.kind)
        if self._is_installed(outcome, key, version):
            if len(filters) == len(frame.filters) and parts.size <= _SMALL:
                self._pass_on(frame, link)
            else:
                self.advertise(key, version, but=link)

    # --- inside

    def _collected(self, link: int, key: Key, version: Version, frame: FilterRecord) -> _Parts:
        """Return the filters of this part and of those before it."""
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
            self._wanted.have(key, version)
        return outcome is UpdateOutcome.INSTALLED

    def _pass_on(self, frame: Frame, but: int | None) -> None:
        self._context.outbox.send_all([link for link in self._links.routers() if link != but], frame)

    def _aged(self, frame: AnyRecord) -> AnyRecord:
        """Return a record as it is when it has come over a link: older by a thousandth of the time that one lives."""
        return replace(frame, age=frame.age + max(1, round(self._context.settings.lifetime)))

    def _born(self, frame: LinkRecord | FilterRecord | FilterChange) -> float:
        return self._context.now - frame.age / 1000

    def _frames(self, key: Key) -> Iterator[LinkRecord | FilterRecord]:
        """Yield the frames of a record that is here."""
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
        parts = list(_in_parts(self._database.filters[key.kind].written(owner)))
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
    """Return whether filters have room in one frame."""
    return len(filters) <= MAX_FRAME_FILTERS and sum(map(len, filters)) <= PART_BYTES


def _in_parts(filters: list[bytes]) -> Iterator[list[bytes]]:
    """Yield filters in parts that fit in a frame; one part if there is none."""
    part: list[bytes] = []
    size = 0
    for filter in filters:
        if size + len(filter) > PART_BYTES or len(part) == MAX_FRAME_FILTERS:
            yield part
            part, size = [], 0
        part.append(filter)
        size += len(filter)
    yield part


def _chunks(items: Iterable[Each], size: int) -> Iterator[list[Each]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
