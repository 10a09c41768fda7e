"""Runs of messages on their way to the disks of other homes.

    run ──► PacketRun along the tree ──► StoredRun by each home ──► one answer for all

All that is unusual is left to `publications`, the specification: a run that is not answered in time, whose homes have
refused or dropped messages for it, or whose tree has changed, is *resolved* into its messages, and each unanswered one
goes on from there, sent again as if it had been published alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from cbnet.errors import InputError
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.publications import OVERHEAD, Publications
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.forwarding_table import TreeInterface
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link
from cbnet.network.protocol.frames import (
    DurableMark,
    DurablePublished,
    DurablePublishedRun,
    PacketRun,
    Stored,
    StoredRun,
)
from cbnet.network.protocol.wire import OLDEST_CLIENT


@dataclass
class _Sent:
    """A run that some homes have not stored yet, as far as is known."""

    link: int  # of the client; -1: it has left
    account: str
    run: Run
    deadline: float  # in `Clock.elapsed`
    sent: float
    size: int  # bytes that it counts for
    subscriptions: list[int]  # that have each message
    answered: dict[str, set[int]]  # numbers, by home
    missing: set[str] = field(default_factory=set)  # homes that have not answered for all

    @property
    def numbers(self) -> range:
        """The sequence numbers of its messages."""
        return range(self.run.first, self.run.first + len(self.run.contents))


class RemoteRuns:
    """The runs of the clients of one router that other homes must store."""

    def __init__(self, core: RouterCore, forwarder: Forwarder, publications: Publications) -> None:
        self._context = core.context
        self._links = core.links
        self._home_routers = core.home_routers
        self._moves = 0  # of homes, that were seen
        self._forwarder = forwarder
        self._publications = publications
        self._all: dict[int, list[_Sent]] = {}  # by the incarnation of the publisher, in the order of numbers
        core.versions.on_adopted.append(self._resolve_all)

    # --- events

    def send(
        self, client: Link, run: Run, incarnation: int, homes: Sequence[str], branches: Sequence[TreeInterface]
    ) -> bool:  # fmt: skip
        """Send a run to its homes; return False, without any effect, if too many messages wait."""
        size = sum(map(len, run.contents)) + OVERHEAD * len(run.contents)
        try:
            self._publications.waiting.add(size, client.account, homes)
        except InputError:
            return False
        context, elapsed = self._context, self._context.clock.elapsed
        before = self._all.setdefault(incarnation, [])
        last = {home: max((each.numbers[-1] for each in before if home in each.missing), default=0) for home in homes}
        sent = _Sent(
            link=client.id,
            account=client.account,
            run=run,
            deadline=elapsed + run.timeout,
            sent=context.now,
            size=size,
            subscriptions=[0] * len(run.contents),
            answered={home: set() for home in homes},
            missing={*homes},
        )
        before.append(sent)
        packet = PacketRun(
            source=context.name,
            incarnation=incarnation,
            number=run.first,
            hops=0,
            tree=incarnation % context.settings.tree_count,
            side=0,
            tries=0,
            contents=run.contents,
            durable=DurableMark(run.floor, last, False, client.account, run.required),
        )
        self._forwarder.send_run(packet, branches)
        return True

    def stored(self, frame: Stored) -> None:
        """Handle the answer of a home: resolve runs of which it answers for single messages, and mark the others."""
        for entry in frame.entries:
            if any(entry.number in sent.numbers for sent in self._all.get(entry.incarnation, ())):
                self.resolve(entry.incarnation)
        for run in frame.runs:
            for sent in [*self._all.get(run.incarnation, ())]:
                if frame.home in sent.missing and run.number in sent.numbers:
                    self._mark(sent, frame.home, run)
                    if not sent.missing:
                        self._end(run.incarnation, sent)

    def _mark(self, sent: _Sent, home: str, run: StoredRun) -> None:
        for number in range(run.number, min(run.number + run.messages, sent.numbers.stop)):
            if number not in sent.answered[home]:
                sent.answered[home].add(number)
                sent.subscriptions[number - sent.run.first] += run.subscriptions
        if len(sent.answered[home]) == len(sent.numbers):
            sent.missing.discard(home)
            self._publications.waiting.settle(sent.size, home)

    def check(self) -> None:
        """Resolve runs that are not answered in time, or whose homes have other routers now."""
        if self._moves != self._home_routers.changes:
            self._moves = self._home_routers.changes
            self._resolve_all()
        now, elapsed, retry = self._context.now, self._context.clock.elapsed, self._context.settings.retry
        for incarnation, all in [*self._all.items()]:
            if any(now - sent.sent >= retry or elapsed >= sent.deadline for sent in all):
                self.resolve(incarnation)

    def remove_client(self, link: int) -> None:
        """Stop answering a client that has left; its messages are still retried until their timeouts."""
        for all in self._all.values():
            for sent in all:
                if sent.link == link:
                    sent.link = -1

    # --- resolution

    def resolve_repeated(self, incarnation: int, number: int) -> None:
        """Resolve the runs of a publisher if one of them has messages from a number on: they are sent again."""
        if any(sent.numbers[-1] >= number for sent in self._all.get(incarnation, ())):
            self.resolve(incarnation)

    def _resolve_all(self) -> None:
        for incarnation in [*self._all]:
            self.resolve(incarnation)

    def resolve(self, incarnation: int) -> None:
        """Let `publications` continue with each message of the runs of a publisher."""
        for sent in self._all.pop(incarnation, ()):
            self._release(sent)
            left = max(0.0, sent.deadline - self._context.clock.elapsed)
            for index, number in enumerate(sent.numbers):
                homes = [home for home, answered in sent.answered.items() if number not in answered]
                self._publications.resume(
                    sent.link,
                    sent.account,
                    sent.run.frame(index, left),
                    homes=homes,
                    subscriptions=sent.subscriptions[index],
                )

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
        if sent.link >= 0:
            for answer in published(self._links.get(sent.link), sent.run, sent.subscriptions):
                self._context.outbox.send(sent.link, answer)


def published(
    client: Link | None, run: Run, subscriptions: Sequence[int]
) -> Iterator[DurablePublished | DurablePublishedRun]:  # fmt: skip
    """Yield the answers for a run; subscriptions: the number that have each message."""
    number = run.first
    is_old = client is None or client.hello is None or client.hello.high <= OLDEST_CLIENT
    for count, group in groupby(subscriptions):
        answer = DurablePublishedRun(run.publisher, number, len([*group]), count)
        if is_old:
            yield from answer.each()
        else:
            yield answer
        number += answer.messages
