"""Messages of this router's clients that homes must store before their publishers get a receipt.

    DurablePublish ──► packet along the tree ──► Stored by each home ──► DurablePublished
                          ▲        │
                          └────────┘  no answer from some homes: retried over the current tree, only toward these

The homes are those whose records match at the time of publishing, reachable or not. A message that is sent again keeps
its identity, the publisher's incarnation and the message's number, so homes store it once. Messages wait until the
router has the home records of its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from math import inf
from typing import Any, Final, TypeAlias

from cbnet.errors import InputError
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import Event
from cbnet.network.protocol import frames
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.durable_frames import MAX_PROBLEMS
from cbnet.network.protocol.fields import MAX_INT, MAX_REASON_LENGTH, DurableName

OVERHEAD: Final = 1_000  # bytes of a message without its payload
Identity: TypeAlias = tuple[int, int]  # incarnation of the publisher, and number of the message


@lru_cache(maxsize=1_024)  # 0.1 µs instead of 1 for each message
def publisher_incarnation(number: int) -> int:
    """Return the incarnation of a publisher's packets: its identity, visible to all others.

    A client that publishes under the number of another one can move the other's window at the homes, so that messages
    are acknowledged but not stored. The incarnation is a one-way function of the number, which only the client and its
    routers know; it is the same at every router, so a client that connects to another router keeps its identity.
    """
    digest = blake2b(number.to_bytes(8, "little"), digest_size=8, person=b"cbnet publisher").digest()
    return int.from_bytes(digest, "little") & MAX_INT


MAX_BYTES = 1 << 28  # approximate: payloads, and an overhead for each message


class WaitingBytes:
    """The bytes of the messages that wait at one router.

    all messages               MAX_BYTES
    those for one home         a quarter: a home that is away blocks only messages that it must store
    those of one account       a half; clients without accounts have no such limit
    """

    def __init__(self) -> None:
        self._limit, self._home_limit, self._account_limit = MAX_BYTES, MAX_BYTES // 4, MAX_BYTES // 2
        self.all = 0
        self._homes = Counter[str]()
        self._accounts = Counter[str]()

    def add(self, size: int, account: str, homes: Iterable[str]) -> None:
        """Count a message of an account that waits for homes; raise an `InputError` if it would exceed a limit."""
        if self.all + size > self._limit:
            raise _too_many("messages wait for durable subscriptions", self.all)
        for home in homes:
            if self._homes[home] + size > self._home_limit:
                raise _too_many(f"messages wait for durable subscriptions at router {home}", self._homes[home])
        if self._accounts[account] + size > self._account_limit:
            raise _too_many("messages of your account wait for durable subscriptions", self._accounts[account])
        self.count(size, account, homes)

    def count(self, size: int, account: str, homes: Iterable[str]) -> None:
        """Count a message, or messages, whatever the limits."""
        self.all += size
        if account:
            self._accounts[account] += size
        for home in homes:
            self._homes[home] += size

    def settle(self, size: int, home: str) -> None:
        """Release the share of a home that a message no longer waits for."""
        _subtract(self._homes, home, size)

    def remove(self, size: int, account: str) -> None:
        """Release the share of a message that no longer waits for any home."""
        self.all -= size
        if account:
            _subtract(self._accounts, account, size)


def _subtract(counts: Counter[Any], key: object, size: int) -> None:
    counts[key] -= size
    if not counts[key]:
        del counts[key]


def _too_many(what: str, size: int) -> InputError:
    return InputError(f"too many {what}: {size:,} bytes", hint="publish again later, or less at once")


@dataclass
class _Publication:
    link: int  # of the client, below 0: gone
    account: str  # of the client; empty: none
    publisher: int  # its number, disclosed only to the client
    packet: frames.Packet  # without a mark
    size: int  # bytes that it counts for
    floor: int
    required: list[DurableName] | None
    deadline: float  # in `Clock.elapsed`: homes forget a publisher also while this router is suspended
    missing: set[str] = field(default_factory=set)  # homes that have not answered
    subscriptions: int = 0
    dropped: int = 0
    refused: dict[str, frames.StoredEntry] = field(default_factory=dict)  # by home
    others: dict[str, frames.Refusals] = field(default_factory=dict)  # by home that has stored it
    sent: float = -inf


class Publications:
    """The messages that wait for homes."""

    def __init__(self, core: RouterCore, records: HomeRecords, forwarder: Forwarder) -> None:
        self._core = core
        self._records = records
        self._moves = 0  # of homes, that were seen
        self._forwarder = forwarder
        self._all: dict[Identity, _Publication] = {}
        self._publishers = Counter[int]()  # messages of `_all`, by incarnation
        self._lacking: dict[tuple[int, str], list[int]] = {}  # numbers, in order, by incarnation and home
        self._early: dict[Identity, _Publication] = {}  # published before the records arrived
        self.waiting = WaitingBytes()
        core.versions.on_adopted.append(self._adopted)

    def __len__(self) -> int:
        return len(self._all) + len(self._early)

    @property
    def is_open(self) -> bool:
        """Whether messages are published at once: this router has the home records of its neighbours."""
        return self._records.is_synchronised and not self._early

    def has(self, incarnation: int) -> bool:
        """Return whether a message of a publisher waits for homes."""
        return incarnation in self._publishers

    # --- events

    def begin(self, link: int, account: str, frame: frames.DurablePublish) -> None:
        """Publish a message, or update one that its client has sent again; raise an `InputError` if too many wait."""
        publication = self._publication(link, account, frame)
        identity = publication.packet.incarnation, publication.packet.number
        known = self._all.get(identity) or self._early.get(identity)
        if known is not None:
            known.link, known.deadline, known.floor = link, publication.deadline, max(known.floor, frame.floor)
        elif self.is_open:
            self._publish(publication)
        else:
            self.waiting.add(publication.size, account, ())
            self._early[identity] = publication

    def resume(
        self, link: int, account: str, frame: frames.DurablePublish, *, homes: Sequence[str], subscriptions: int
    ) -> None:  # fmt: skip
        """Continue with a message of a run; homes: that have not answered; subscriptions: that have it."""
        publication = self._publication(link, account, frame)
        publication.subscriptions = subscriptions
        self.waiting.count(publication.size, account, homes)
        self._add(publication, homes)
        if not homes:
            self._end(publication)

    def _publication(self, link: int, account: str, frame: frames.DurablePublish) -> _Publication:
        return _Publication(
            link=link,
            account=account,
            publisher=frame.publisher,
            packet=self._forwarder.durable_packet(frame, publisher_incarnation(frame.publisher)),
            size=len(frame.payload) + OVERHEAD,
            floor=frame.floor,
            required=frame.required,
            deadline=self._core.clock.elapsed + frame.timeout,
        )

    def is_valid(self, frame: frames.Stored) -> bool:
        """Return whether a home has the journal that this router knows of; else it answers again."""
        record = self._records.table.get(frame.home)
        return record is None or not frame.journal or record.journal in (0, frame.journal)

    def stored(self, frame: frames.Stored) -> None:
        """Handle the valid answer of a home."""
        for entry in chain(frame.entries, *(run.entries() for run in frame.runs)):
            publication = self._all.get((entry.incarnation, entry.number))
            if publication is None or frame.home not in publication.missing:
                continue
            publication.subscriptions += entry.subscriptions
            publication.dropped += entry.dropped
            if entry.problem:
                publication.refused[frame.home] = entry
            elif entry.refusals is not None:
                publication.others[frame.home] = entry.refusals
            self._settle(publication, [frame.home])
            if not publication.missing:
                self._end(publication)

    def _adopted(self) -> None:
        """Send unanswered messages again at the next check: trees, or the routers of homes, have changed."""
        for publication in self._all.values():
            publication.sent = -inf

    def check(self) -> None:
        """Send unanswered messages again, and answer publishers whose timeout has expired."""
        if self._early and self._records.is_synchronised:
            early, self._early = self._early, {}
            for publication in early.values():
                self._publish_early(publication)
        if self._moves != self._core.home_routers.changes:
            self._moves = self._core.home_routers.changes
            self._adopted()
        now, elapsed = self._core.now, self._core.clock.elapsed
        for publication in [each for each in self._all.values() if elapsed >= each.deadline]:
            self._end(publication)
        for publication in self._drop_early(lambda each: elapsed >= each.deadline):
            self._answer(publication, [self._core.name])
        for publication in self._all.values():
            if now - publication.sent >= self._core.settings.retry:
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
        self.waiting.remove(publication.size, publication.account)
        try:
            self._publish(publication)
        except InputError as error:
            packet = publication.packet
            refused = frames.StoredEntry(packet.incarnation, packet.number, 0, 0, error.summary[:MAX_REASON_LENGTH])
            publication.refused[self._core.name] = refused
            self._answer(publication, [])

    def _drop_early(self, is_dropped: Callable[[_Publication], bool]) -> list[_Publication]:
        dropped = [identity for identity, each in self._early.items() if is_dropped(each)]
        publications = [self._early.pop(identity) for identity in dropped]
        for each in publications:
            self.waiting.remove(each.size, each.account)
        return publications

    def _publish(self, publication: _Publication) -> None:
        packet = publication.packet
        self._check_required(publication.required or ())
        homes = self._records.table.matching(Content(packet))
        self.waiting.add(publication.size, publication.account, homes)
        publication.sent = self._core.now
        self._core.counters[Event.DURABLE_PUBLISHED] += 1
        self._add(publication, homes)
        self._forwarder.begin_durable(packet, self._mark(publication, publication.missing, is_repeated=False))
        if not publication.missing:
            self._end(publication)

    def _add(self, publication: _Publication, homes: Iterable[str]) -> None:
        packet = publication.packet
        publication.missing.update(homes)
        self._all[packet.incarnation, packet.number] = publication
        self._publishers[packet.incarnation] += 1
        for home in publication.missing:
            insort(self._lacking.setdefault((packet.incarnation, home), []), packet.number)

    def _check_required(self, names: Iterable[DurableName]) -> None:
        """Raise an `InputError` if no home has a subscription that a publisher requires."""
        for account, name in names:
            if self._records.table.home_of(account, name) is None:
                problem = f"no durable subscription {name!r} of account {account!r} is known"
                raise InputError(problem, hint="check the names that the publisher requires")

    def _repeat(self, publication: _Publication) -> None:
        """Send a message again if some of the homes that have not answered can be reached."""
        publication.sent = self._core.now
        holders = self._core.home_routers.of(publication.missing)
        if self._core.name in holders or not self._core.versions.newest.names.isdisjoint(holders):
            self._core.counters[Event.DURABLE_REPEATED] += 1
            # Also for homes that cannot be reached: other routers may know a path, and messages must keep their order.
            mark = self._mark(publication, publication.missing, is_repeated=True)
            self._forwarder.begin_durable(publication.packet, mark)

    def _mark(self, publication: _Publication, homes: Iterable[str], *, is_repeated: bool) -> frames.DurableMark:
        packet = publication.packet
        previous = {home: self._previous(packet.incarnation, home, packet.number) for home in sorted(homes)}
        return frames.DurableMark(publication.floor, previous, is_repeated, publication.account, publication.required)

    def _previous(self, incarnation: int, home: str, number: int) -> int:
        """Return the publisher's previous message that a home has not answered either; 0: none."""
        numbers = self._lacking[incarnation, home]
        index = bisect_left(numbers, number)
        return numbers[index - 1] if index else 0

    def _settle(self, publication: _Publication, homes: Iterable[str]) -> None:
        packet = publication.packet
        for home in homes:
            publication.missing.discard(home)
            self.waiting.settle(publication.size, home)
            numbers = self._lacking[packet.incarnation, home]
            del numbers[bisect_left(numbers, packet.number)]
            if not numbers:
                del self._lacking[packet.incarnation, home]

    def _end(self, publication: _Publication) -> None:
        """Answer a publisher: all homes have answered, or the timeout has expired."""
        packet = publication.packet
        del self._all[packet.incarnation, packet.number]
        _subtract(self._publishers, packet.incarnation, 1)
        silent = sorted(publication.missing)
        self._settle(publication, silent)
        self.waiting.remove(publication.size, publication.account)
        if silent or publication.refused:
            self._core.counters[Event.DURABLE_UNSTORED] += 1
        self._answer(publication, silent)

    def _answer(self, publication: _Publication, silent: list[str]) -> None:
        client = self._core.links.get(publication.link)
        if client is not None:
            is_named = client.rights.watch
            refused = [_reason(home, entry, is_named=is_named) for home, entry in publication.refused.items()]
            others = [
                (home, each if is_named else frames.Refusals(each.count, []))
                for home, each in publication.others.items()
            ]
            answer = frames.DurablePublished(
                publisher=publication.publisher,
                sequence=publication.packet.number,
                subscriptions=publication.subscriptions,
                dropped=publication.dropped,
                silent=silent[:MAX_PROBLEMS],
                refused=refused[:MAX_PROBLEMS],
                others=dict(others[:MAX_PROBLEMS]),
            )
            self._core.outbox.send(publication.link, answer)


def _reason(home: str, entry: frames.StoredEntry, *, is_named: bool) -> str:
    """Return why a home has refused a message; is_named: with the subscriptions of other accounts."""
    names = entry.refusals.names if is_named and entry.refusals is not None else []
    listed = "".join(f"; {name} of account {account!r}" for account, name in names)
    return f"{home}: {entry.problem}{listed}"[:MAX_REASON_LENGTH]
