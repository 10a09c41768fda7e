"""Messages of this router's clients that homes must store before their publishers are answered.

    DurablePublish ──► packet along the tree ──► Stored by each home ──► DurablePublished
                          ▲        │
                          └────────┘  no answer from some homes: retried over the current tree, only toward these

The homes are those whose records match at the time of publishing, reachable or not. A message that is sent again keeps
its identity, the publisher's incarnation and the message's number, so homes store it once. Messages wait until the
router has the home records of its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from cbnet.errors import InputError
from cbnet.network.durable.publishing.publisher_incarnation import publisher_incarnation
from cbnet.network.durable.publishing.waiting_bytes import WaitingBytes
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.durable_frames import MAX_PROBLEMS
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import DurableMark, DurablePublish, DurablePublished, Packet, Stored

_OVERHEAD = 1_000  # bytes of a message without its payload
Identity: TypeAlias = tuple[int, int]  # incarnation of the publisher, and number of the message


@dataclass
class _Publication:
    link: int  # of the client
    account: str  # of the client; empty: none
    publisher: int  # its number, disclosed only to the client
    packet: Packet  # without a mark
    size: int  # bytes that it counts for
    floor: int
    deadline: float  # in `Clock.elapsed`: homes forget a publisher also while this router is suspended
    missing: set[str] = field(default_factory=set)  # homes that have not answered
    subscriptions: int = 0
    dropped: int = 0
    refused: list[str] = field(default_factory=list)
    sent: float = -inf


class Publications:
    """The messages that wait for homes."""

    def __init__(self, context: RouterContext, versions: Versions, records: HomeRecords, forwarder: Forwarder) -> None:
        self._context = context
        self._versions = versions
        self._records = records
        self._forwarder = forwarder
        self._all: dict[Identity, _Publication] = {}
        self._lacking: dict[tuple[int, str], list[int]] = {}  # numbers, in order, by incarnation and home
        self._early: dict[Identity, _Publication] = {}  # published before the records arrived
        self._waiting = WaitingBytes()

    def __len__(self) -> int:
        return len(self._all) + len(self._early)

    # --- events

    def begin(self, link: int, account: str, frame: DurablePublish) -> None:
        """Publish a message, or update one that its client has sent again; raise an `InputError` if too many wait."""
        incarnation, deadline = publisher_incarnation(frame.publisher), self._context.clock.elapsed + frame.timeout
        identity = incarnation, frame.sequence
        known = self._all.get(identity) or self._early.get(identity)
        if known is not None:
            known.link, known.deadline, known.floor = link, deadline, max(known.floor, frame.floor)
            return
        packet = self._forwarder.durable_packet(frame, incarnation)
        size = len(frame.payload) + _OVERHEAD
        publication = _Publication(link, account, frame.publisher, packet, size, frame.floor, deadline)
        if self._records.is_synchronised and not self._early:
            self._publish(publication)
        else:
            self._waiting.add(size, account, ())
            self._early[identity] = publication

    def stored(self, frame: Stored) -> None:
        """Handle the answer of a home."""
        for entry in frame.entries:
            publication = self._all.get((entry.incarnation, entry.number))
            if publication is None or frame.home not in publication.missing:
                continue
            publication.subscriptions += entry.subscriptions
            publication.dropped += entry.dropped
            if entry.problem:
                publication.refused.append(f"{frame.home}: {entry.problem}"[:MAX_REASON_LENGTH])
            self._settle(publication, [frame.home])
            if not publication.missing:
                self._end(publication)

    def adopted(self) -> None:
        """Send unanswered messages again at the next check: trees have changed."""
        for publication in self._all.values():
            publication.sent = -inf

    def check(self) -> None:
        """Send unanswered messages again, and answer publishers whose timeout has expired."""
        if self._early and self._records.is_synchronised:
            early, self._early = self._early, {}
            for publication in early.values():
                self._publish_early(publication)
        now, elapsed = self._context.now, self._context.clock.elapsed
        for publication in [each for each in self._all.values() if elapsed >= each.deadline]:
            self._end(publication)
        for publication in self._drop_early(lambda each: elapsed >= each.deadline):
            self._answer(publication, [self._context.name], [])
        for publication in self._all.values():
            if now - publication.sent >= self._context.settings.retry:
                self._repeat(publication)

    def remove_client(self, link: int) -> None:
        """Stop answering a client; its messages are still retried until their timeouts."""
        for publication in self._all.values():
            if publication.link == link:
                publication.link = -1
        self._drop_early(lambda each: each.link == link)

    # --- inside

    def _publish_early(self, publication: _Publication) -> None:
        """Publish a message that has waited for the records, or refuse it if too many wait for one of its homes."""
        self._waiting.remove(publication.size, publication.account)
        try:
            self._publish(publication)
        except InputError as error:
            self._answer(publication, [], [f"{self._context.name}: {error.summary}"[:MAX_REASON_LENGTH]])

    def _drop_early(self, is_dropped: Callable[[_Publication], bool]) -> list[_Publication]:
        dropped = [identity for identity, each in self._early.items() if is_dropped(each)]
        publications = [self._early.pop(identity) for identity in dropped]
        for each in publications:
            self._waiting.remove(each.size, each.account)
        return publications

    def _publish(self, publication: _Publication) -> None:
        packet = publication.packet
        homes = self._records.table.matching(Content(packet))
        self._waiting.add(publication.size, publication.account, homes)
        publication.missing.update(homes)
        publication.sent = self._context.now
        self._context.counters[Event.DURABLE_PUBLISHED] += 1
        self._all[packet.incarnation, packet.number] = publication
        for home in publication.missing:
            insort(self._lacking.setdefault((packet.incarnation, home), []), packet.number)
        self._forwarder.begin_durable(packet, self._mark(publication, publication.missing, is_repeated=False))
        if not publication.missing:
            self._end(publication)

    def _repeat(self, publication: _Publication) -> None:
        """Send a message again if some of the homes that have not answered can be reached."""
        publication.sent = self._context.now
        if not publication.missing.isdisjoint({self._context.name, *self._versions.newest.names}):
            self._context.counters[Event.DURABLE_REPEATED] += 1
            # Also for homes that cannot be reached: other routers may know a path, and messages must keep their order.
            mark = self._mark(publication, publication.missing, is_repeated=True)
            self._forwarder.begin_durable(publication.packet, mark)

    def _mark(self, publication: _Publication, homes: Iterable[str], *, is_repeated: bool) -> DurableMark:
        packet = publication.packet
        previous = {home: self._previous(packet.incarnation, home, packet.number) for home in sorted(homes)}
        return DurableMark(publication.floor, previous, is_repeated)

    def _previous(self, incarnation: int, home: str, number: int) -> int:
        """Return the publisher's previous message that a home has not answered either; 0: none."""
        numbers = self._lacking[incarnation, home]
        index = bisect_left(numbers, number)
        return numbers[index - 1] if index else 0

    def _settle(self, publication: _Publication, homes: Iterable[str]) -> None:
        packet = publication.packet
        for home in homes:
            publication.missing.discard(home)
            self._waiting.settle(publication.size, home)
            numbers = self._lacking[packet.incarnation, home]
            del numbers[bisect_left(numbers, packet.number)]
            if not numbers:
                del self._lacking[packet.incarnation, home]

    def _end(self, publication: _Publication) -> None:
        """Answer a publisher: all homes have answered, or the timeout has expired."""
        packet = publication.packet
        del self._all[packet.incarnation, packet.number]
        silent = sorted(publication.missing)
        self._settle(publication, silent)
        self._waiting.remove(publication.size, publication.account)
        if silent or publication.refused:
            self._context.counters[Event.DURABLE_UNSTORED] += 1
        self._answer(publication, silent, publication.refused)

    def _answer(self, publication: _Publication, silent: list[str], refused: list[str]) -> None:
        if publication.link >= 0:
            answer = DurablePublished(
                publisher=publication.publisher,
                sequence=publication.packet.number,
                subscriptions=publication.subscriptions,
                dropped=publication.dropped,
                silent=silent[:MAX_PROBLEMS],
                refused=refused[:MAX_PROBLEMS],
            )
            self._context.outbox.send(publication.link, answer)
