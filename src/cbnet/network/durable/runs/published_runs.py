"""Runs of messages that clients of a router publish, without an object for each message.

    bytes ──► run: what each message matches ──► all for the own home alone? ──yes──► log ──► on disk ──┐
                                                       │ no                                             ├──► one answer
                                                 all for the same other homes? ──yes──► PacketRun ──►   │
                                                       │ no, or anything is unusual          StoredRun ─┘
                                                 publications, one by one

`publications` and `home` are the specification: the same messages are stored, and their publishers get the same
answers. A run is left to them if a client needs one of its messages, if they are not all for the same homes, if a
subscription has no room for all, or if its publisher has sent any of its messages before. A run that is not answered in
time, whose homes have refused or dropped messages for it, or whose tree has changed, is *resolved* into its messages:
each unanswered one goes on in `publications`, sent again as if it had been published alone. Runs on their way to the
own disk arrive there in any case: they are resolved when their time is over, and when the router loses its home.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final

from cbnet.errors import InputError
from cbnet.network.durable.held_home import HeldHome
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.publications import OVERHEAD, Publications, publisher_incarnation
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.durable.runs.run_kinds import Kind, RunKinds
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.forwarding_table import TreeInterface
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import Event
from cbnet.network.link.link import Link
from cbnet.network.protocol.frames import DurableMark, DurablePublished, DurablePublishedRun, PacketRun, Stored
from cbnet.network.protocol.wire import OLDEST_CLIENT, Data

MAX_RUN: Final = 512  # messages: about 2 ms


@dataclass
class _Sent:
    """A run that some homes have not stored yet, as far as is known."""

    link: int  # of the client; -1: it has left
    account: str
    run: Run
    is_own: bool  # whether it is for the home of this router alone
    deadline: float  # in `Clock.elapsed`
    sent: float
    size: int  # bytes that it counts for
    missing: set[str]  # homes that have not answered for all
    subscriptions: list[int]  # that have each message
    answered: dict[str, set[int]] = field(default_factory=dict)  # numbers, by home

    def __post_init__(self) -> None:
        self.answered = {home: set() for home in self.missing}

    @property
    def numbers(self) -> range:
        """The sequence numbers of its messages."""
        return range(self.run.first, self.run.first + len(self.run.contents))


class PublishedRuns:
    """The runs that clients of one router publish."""

    def __init__(
        self, core: RouterCore, forwarder: Forwarder, records: HomeRecords, publications: Publications, kinds: RunKinds
    ) -> None:  # fmt: skip
        self._core = core
        self._moves = 0  # of homes, that were seen
        self._forwarder = forwarder
        self._duplicates = forwarder.fast.path.duplicates
        self._records = records
        self._publications = publications
        self._kinds = kinds
        self._all: dict[int, list[_Sent]] = {}  # by the incarnation of the publisher, in the order of numbers
        core.versions.on_adopted.append(self.resolve_all)

    # --- events

    def read(self, link: int, data: Data, start: int, end: int, most: int) -> Run | None:
        """Return the run that begins in the bytes of a client; None if its first frame is to be handled alone."""
        return self._kinds.read(link, data, start, end, min(most, MAX_RUN)) if self._publications.is_open else None

    def publish(self, client: Link, own: HeldHome | None, run: Run) -> bool:
        """Publish a run; return False, without any effect, if its messages are to be published one by one.

        own: the home of this router, if it holds one.
        """
        incarnation, count = publisher_incarnation(run.publisher), len(run.contents)
        if not self._is_done(client, own, run, incarnation):
            self._kinds.reader.undo(count)
            return False
        self._duplicates.record_run("", incarnation, self._tree(incarnation), run.first, count)
        for event in (Event.PUBLISHED, Event.DURABLE_PUBLISHED):
            self._core.counters[event] += count
        return True

    def stored(self, frame: Stored) -> None:
        """Handle the answer of a home, for runs and for single messages."""
        if not self._publications.is_valid(frame):
            return
        for entry in frame.entries:
            if any(entry.number in sent.numbers for sent in self._all.get(entry.incarnation, ())):
                self.resolve(entry.incarnation)
        for run in frame.runs:
            for sent in [*self._all.get(run.incarnation, ())]:
                if frame.home in sent.missing and run.number in sent.numbers:
                    self._mark(sent, frame.home, run.number, run.messages, run.subscriptions)
                    if not sent.missing:
                        self._end(run.incarnation, sent)
        self._publications.stored(frame)

    def check(self) -> None:
        """Resolve runs that are not answered in time, or whose homes have other routers now."""
        if self._moves != self._core.home_routers.changes:
            self._moves = self._core.home_routers.changes
            self.resolve_all()
        now, elapsed, retry = self._core.now, self._core.clock.elapsed, self._core.settings.retry
        for incarnation, all in [*self._all.items()]:
            if any(elapsed >= sent.deadline for sent in all):
                self.resolve(incarnation, with_own=True)
            elif any(now - sent.sent >= retry for sent in all if not sent.is_own):
                self.resolve(incarnation)

    def remove_client(self, link: int) -> None:
        """Stop answering a client that has left; its messages are still retried until their timeouts."""
        for all in self._all.values():
            for sent in all:
                if sent.link == link:
                    sent.link = -1

    # --- resolution

    def resolve(self, incarnation: int, *, with_own: bool = False) -> None:
        """Let `publications` continue with each message of the runs of a publisher; with_own: also for the own home."""
        for sent in self._all.pop(incarnation, []):
            if sent.is_own and not with_own:
                self._all.setdefault(incarnation, []).append(sent)
                continue
            self._release(sent)
            left = max(0.0, sent.deadline - self._core.clock.elapsed)
            for index, number in enumerate(sent.numbers):
                homes = [home for home, answered in sent.answered.items() if number not in answered]
                frame, subscriptions = sent.run.frame(index, left), sent.subscriptions[index]
                self._publications.resume(sent.link, sent.account, frame, homes=homes, subscriptions=subscriptions)

    def resolve_all(self, *, with_own: bool = False) -> None:
        """Resolve all runs: trees or routers of homes have changed; with_own: this router has lost its home."""
        for incarnation in [*self._all]:
            self.resolve(incarnation, with_own=with_own)

    # --- inside

    def _tree(self, incarnation: int) -> int:
        return incarnation % self._core.settings.tree_count

    def _is_done(self, client: Link, own: HeldHome | None, run: Run, incarnation: int) -> bool:
        """Store a run at the own home, or send it to other ones; return whether that was possible."""
        kinds = {number: self._kinds.of(number) for number in {*run.kinds}}
        homes = next(iter(kinds.values())).homes
        if not homes or not all(kind.is_usual and kind.homes == homes for kind in kinds.values()):
            return False
        if any(sent.numbers[-1] >= run.first for sent in self._all.get(incarnation, ()) if not sent.is_own):
            self.resolve(incarnation)  # its messages are sent again
        if self._publications.has(incarnation):
            return False
        tree = self._core.versions.newest.tree(self._tree(incarnation), self._core.name)
        branches = self._kinds.branches(tree, kinds.values(), homes)
        is_own = homes == [self._core.home]
        if branches is None or is_own == bool(branches):
            return False
        sent = self._sent(client, run, homes, is_own=is_own)
        try:
            self._publications.waiting.add(sent.size, sent.account, homes)
        except InputError:
            return False
        if is_own:
            is_done = own is not None and self._store(own, sent, kinds, incarnation)
        else:
            is_done = self._core.home not in homes and not any(kind.durable for kind in kinds.values())
        if not is_done:
            self._release(sent)
            return False
        before = self._all.setdefault(incarnation, [])
        if not is_own:
            self._send(sent, incarnation, before, branches)
        before.append(sent)
        return True

    def _sent(self, client: Link, run: Run, homes: Sequence[str], *, is_own: bool) -> _Sent:
        return _Sent(
            link=client.id,
            account=client.account,
            run=run,
            is_own=is_own,
            deadline=self._core.clock.elapsed + run.timeout,
            sent=self._core.now,
            size=sum(map(len, run.contents)) + OVERHEAD * len(run.contents),
            missing={*homes},
            subscriptions=[0] * len(run.contents),
        )

    def _store(self, own: HeldHome, sent: _Sent, kinds: Mapping[int, Kind], incarnation: int) -> bool:
        """Store a run at the own home; return False, without any effect, if that is not possible."""
        answers = self._kinds.store(own, sent.run, kinds, incarnation, self._core.name)
        if answers is None:
            return False
        self._core.counters[Event.MATCHED] += len(sent.run.contents)
        own.queue.after(partial(self._stored, incarnation, Stored("", 0, self._core.home, [], runs=answers)))
        return True

    def _stored(self, incarnation: int, frame: Stored) -> None:
        """Handle the answer of the own home: a run is on disk."""
        if self._records.is_own_known:
            self.stored(frame)
        else:
            self.resolve(incarnation, with_own=True)

    def _send(
        self, sent: _Sent, incarnation: int, before: Sequence[_Sent], branches: Sequence[TreeInterface]
    ) -> None:  # fmt: skip
        """Send a run to its homes; before: those of its publisher that were sent before."""
        run = sent.run
        last = {
            home: max((each.numbers[-1] for each in before if home in each.missing), default=0) for home in sent.missing
        }
        packet = PacketRun(
            source=self._core.name,
            incarnation=incarnation,
            number=run.first,
            hops=0,
            tree=self._tree(incarnation),
            side=0,
            tries=0,
            contents=run.contents,
            durable=DurableMark(run.floor, last, False, sent.account, run.required),
        )
        self._forwarder.send_run(packet, branches)

    def _mark(self, sent: _Sent, home: str, first: int, messages: int, subscriptions: int) -> None:
        """Record that a home has stored messages from a number on, each for so many subscriptions."""
        answered = sent.answered[home]
        for number in range(first, min(first + messages, sent.numbers.stop)):
            if number not in answered:
                answered.add(number)
                sent.subscriptions[number - sent.run.first] += subscriptions
        if len(answered) == len(sent.numbers):
            sent.missing.discard(home)
            self._publications.waiting.settle(sent.size, home)

    def _release(self, sent: _Sent) -> None:
        for home in sent.missing:
            self._publications.waiting.settle(sent.size, home)
        self._publications.waiting.remove(sent.size, sent.account)

    def _end(self, incarnation: int, sent: _Sent) -> None:
        """Answer the publisher: all homes have stored the run."""
        self._release(sent)
        left = [each for each in self._all.pop(incarnation) if each is not sent]
        if left:
            self._all[incarnation] = left
        client = self._core.links.get(sent.link)
        if client is not None:
            for answer in _published(client, sent.run, sent.subscriptions):
                self._core.outbox.send(sent.link, answer)


def _published(
    client: Link, run: Run, subscriptions: Sequence[int]
) -> Iterator[DurablePublished | DurablePublishedRun]:  # fmt: skip
    """Yield the answers for a run; subscriptions: the number that have each message."""
    number = run.first
    for count, group in groupby(subscriptions):
        answer = DurablePublishedRun(run.publisher, number, len([*group]), count)
        if client.hello is None or client.hello.high <= OLDEST_CLIENT:
            yield from answer.each()
        else:
            yield answer
        number += answer.messages
