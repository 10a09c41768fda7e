"""Runs of messages whose publishers wait, stored at this router's own home without an object for each frame.

    bytes ──► run: what each message matches ──► all for the own home alone, and nothing unusual? ──► log
                                                       │ no                                            │ on disk
                                                       ▼                                               ▼
                                                publications, one by one                        one answer for all

`publications` and `home` are the specification: the same messages are stored, and their publishers get the same
answers. A run is left to them if another router, a client or another home needs one of its messages, if a subscription
has no room for all, or if its publisher has sent any of its messages before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import msgspec

from cbnet._kernels.durable_run import RunReader
from cbnet.network.durable.held_home import HeldHome
from cbnet.network.durable.home_log.journal import HISTORY_ID, Entry
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.home_records import HomeRecords
from cbnet.network.durable.publications import Publications, publisher_incarnation
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import Event
from cbnet.network.link.link import Link
from cbnet.network.protocol.frames import DurablePublish, DurablePublished, DurablePublishedRun
from cbnet.network.protocol.wire import OLDEST_CLIENT, Data

MAX_RUN: Final = 512  # messages: about 2 ms
_Content = tuple[dict[str, Any], list[str], bytes]
_decode = msgspec.msgpack.Decoder(_Content).decode


@dataclass
class _Waiting:
    """Messages of a run that are on their way to the disk."""

    link: int  # of the client; -1: it has left
    account: str
    run: Run
    entries: Sequence[Entry]
    subscriptions: Sequence[int]  # number of durable ones that have each message
    deadline: float  # in `Clock.elapsed`
    is_answered: bool = False


class DurableRuns:
    """The runs of one router."""

    def __init__(
        self, core: RouterCore, forwarder: Forwarder, records: HomeRecords, publications: Publications
    ) -> None:
        self._context = core.context
        self._links = core.links
        self._fib = core.fib
        self._versions = core.versions
        self._fast = forwarder.fast
        self._records = records
        self._publications = publications
        self._reader = RunReader(self._fast.path.links, core.fib.table.matcher, records.table.matcher)
        self._kinds: dict[int, tuple[int, ...]] = {}  # durable subscriptions of each plain kind
        self._seen = self._fast.changes
        self._waiting: deque[_Waiting] = deque()  # in the order in which they will be on disk

    # --- events

    def read(self, link: int, data: Data, start: int, end: int, most: int) -> Run | None:
        """Return the run that begins in the bytes of a client; None if its first frame is to be handled alone."""
        if not self._publications.is_open or not self._records.is_own_known:
            return None
        slots = self._records.table.slots
        if self._seen != self._fast.changes or slots.changed:
            self._seen = self._fast.changes
            slots.changed.clear()
            self._reader.forget_kinds()
            self._kinds.clear()
        found = self._reader.read(link, data, start, end, min(most, MAX_RUN))
        return None if found is None else Run(*found)

    def store(self, client: Link, own: HeldHome, run: Run) -> bool:
        """Store a run at the own home; return False, without any effect, if its messages are to be handled alone."""
        incarnation = publisher_incarnation(run.publisher)
        chosen = {kind: self._subscriptions(kind) for kind in {*run.kinds}}
        is_plain = all(chosen.values()) and self._is_local(incarnation) and not self._publications.has(incarnation)
        entries = own.home.take_run(run, chosen, incarnation) if is_plain else None
        if entries is None:
            self._reader.undo(len(run.kinds))
            return False
        count = len(entries)
        self._fast.path.duplicates.record_run("", incarnation, self._tree(incarnation), run.first, count)
        for event in (Event.PUBLISHED, Event.DURABLE_PUBLISHED, Event.MATCHED):
            self._context.counters[event] += count
        sizes = {kind: len(ids) - (HISTORY_ID in ids) for kind, ids in chosen.items()}
        subscriptions = [sizes[kind] for kind in run.kinds]
        deadline = self._context.clock.elapsed + run.timeout
        self._waiting.append(_Waiting(client.id, client.account, run, entries, subscriptions, deadline))
        own.queue.after(self._stored)
        return True

    def check(self) -> None:
        """Answer publishers whose timeout has expired before their messages were on disk."""
        for waiting in self._waiting:
            if not waiting.is_answered and self._context.clock.elapsed >= waiting.deadline:
                waiting.is_answered = True
                self._context.counters[Event.DURABLE_UNSTORED] += len(waiting.entries)
                for number in range(waiting.run.first, waiting.run.first + len(waiting.entries)):
                    answer = DurablePublished(waiting.run.publisher, number, 0, 0, [self._context.home], [])
                    self._send(waiting, answer)

    def remove_client(self, link: int) -> None:
        """Stop answering a client that has left."""
        for waiting in self._waiting:
            if waiting.link == link:
                waiting.link = -1

    def drop(self) -> None:
        """Publish the messages that are not known to be on disk one by one: this router has lost its home."""
        dropped, self._waiting = self._waiting, deque()
        for waiting in dropped:
            self._publish_each(waiting)

    # --- inside

    def _tree(self, incarnation: int) -> int:
        return incarnation % self._context.settings.tree_count

    def _is_local(self, incarnation: int) -> bool:
        """Return whether the filters behind all neighbours on the tree of a publisher are known."""
        tree = self._versions.newest.tree(self._tree(incarnation), self._context.name)
        return tree is None or all(branch.sources is not None for branch in self._fib.interfaces(tree))

    def _subscriptions(self, kind: int) -> tuple[int, ...]:
        """Return the durable subscriptions that messages of a kind are for; none if anybody else needs them."""
        known = self._kinds.get(kind)
        if known is None:
            slots, homes = self._reader.slots[kind]
            matches = self._fib.matches_of(slots)
            is_unusual = matches.clients or matches.domains or matches.is_initial or matches.sources
            is_own = [*map(self._records.table.slots.holder, homes)] == [self._context.home]
            known = self._kinds[kind] = tuple(matches.durable) if is_own and not is_unusual else ()
        return known

    def _publish_each(self, waiting: _Waiting) -> None:
        """Publish the messages of a run one by one, in the time that is left."""
        run, left = waiting.run, waiting.deadline - self._context.clock.elapsed
        for number, content in enumerate(run.contents, run.first):
            if not waiting.is_answered and left > 0:
                attributes, tags, payload = _decode(content)
                frame = DurablePublish(run.publisher, number, run.floor, left, attributes, tags, payload, run.required)
                self._publications.begin(waiting.link, waiting.account, frame)

    def _stored(self) -> None:
        """Answer the publisher of the oldest run: it is on disk."""
        waiting = self._waiting.popleft()
        if not self._records.is_own_known:
            self._publish_each(waiting)
        elif not waiting.is_answered:
            for answer in self._answers(waiting):
                self._send(waiting, answer)

    def _answers(self, waiting: _Waiting) -> Iterator[DurablePublished | DurablePublishedRun]:
        publisher, number = waiting.run.publisher, waiting.run.first
        link = self._links.get(waiting.link)
        is_old = link is None or link.hello is None or link.hello.high <= OLDEST_CLIENT
        for subscriptions, group in groupby(waiting.subscriptions):
            count = len([*group])
            if is_old:
                for each in range(number, number + count):
                    yield DurablePublished(publisher, each, subscriptions, 0, [], [])
            else:
                yield DurablePublishedRun(publisher, number, count, subscriptions)
            number += count

    def _send(self, waiting: _Waiting, answer: DurablePublished | DurablePublishedRun) -> None:
        if waiting.link >= 0:
            self._context.outbox.send(waiting.link, answer)
