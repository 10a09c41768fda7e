"""Runs of messages that clients of a router publish, without an object for each frame.

    bytes ──► run: what each message matches ──► all for the own home alone? ──yes──► log ──► on disk ─┐
                                                       │ no                                            ├──► one answer
                                                 all for the same other homes? ──yes──► `remote_runs` ─┘
                                                       │ no, or anything is unusual
                                                 publications, one by one

`publications` and `home` are the specification: the same messages are stored, and their publishers get the same
answers. A run is left to them if a client needs one of its messages, if they are not all for the same homes, if a
subscription has no room for all, or if its publisher has sent any of its messages before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cbnet.network.durable.held_home import HeldHome
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.publications import Publications, publisher_incarnation
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.durable.runs.remote_runs import RemoteRuns, published
from cbnet.network.durable.runs.run_kinds import Kind, RunKinds
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import Event
from cbnet.network.link.link import Link
from cbnet.network.protocol.frames import DurablePublished, DurablePublishedRun, Stored
from cbnet.network.protocol.wire import Data

MAX_RUN: Final = 512  # messages: about 2 ms


@dataclass
class _Waiting:
    """Messages of a run that are on their way to the own disk."""

    link: int  # of the client; -1: it has left
    account: str
    run: Run
    subscriptions: Sequence[int]  # number of durable ones that have each message
    deadline: float  # in `Clock.elapsed`
    is_answered: bool = False


class DurableRuns:
    """The runs that clients of one router publish."""

    def __init__(
        self, core: RouterCore, forwarder: Forwarder, records: HomeRecords, publications: Publications, kinds: RunKinds
    ) -> None:  # fmt: skip
        self._context = core.context
        self._links = core.links
        self._versions = core.versions
        self._duplicates = forwarder.fast.path.duplicates
        self._records = records
        self._publications = publications
        self._kinds = kinds
        self._remote = RemoteRuns(core, forwarder, publications)
        self._waiting: deque[_Waiting] = deque()  # in the order in which they will be on disk

    # --- events

    def read(self, link: int, data: Data, start: int, end: int, most: int) -> Run | None:
        """Return the run that begins in the bytes of a client; None if its first frame is to be handled alone."""
        if not self._publications.is_open:
            return None
        return self._kinds.read(link, data, start, end, min(most, MAX_RUN))

    def publish(self, client: Link, own: HeldHome | None, run: Run) -> bool:
        """Publish a run; return False if its messages are to be published one by one.

        own: the home of this router, if it holds one.
        """
        incarnation, count = publisher_incarnation(run.publisher), len(run.contents)
        if not self._is_done(client, own, run, incarnation):
            self._kinds.reader.undo(count)
            return False
        self._duplicates.record_run("", incarnation, self._tree(incarnation), run.first, count)
        for event in (Event.PUBLISHED, Event.DURABLE_PUBLISHED):
            self._context.counters[event] += count
        return True

    def begin(self, publisher: int) -> None:
        """Resolve the runs of a publisher that are on their way to other homes: it publishes a message alone."""
        self._remote.resolve(publisher_incarnation(publisher))

    def stored(self, frame: Stored) -> None:
        """Handle the answer of a home, for runs and for single messages."""
        if self._publications.is_valid(frame):
            self._remote.stored(frame)
            self._publications.stored(frame)

    def check(self) -> None:
        """Answer publishers whose timeout has expired before their messages were on disk."""
        self._remote.check()
        for waiting in self._waiting:
            if not waiting.is_answered and self._context.clock.elapsed >= waiting.deadline:
                waiting.is_answered = True
                self._context.counters[Event.DURABLE_UNSTORED] += len(waiting.run.contents)
                for number in range(waiting.run.first, waiting.run.first + len(waiting.run.contents)):
                    answer = DurablePublished(waiting.run.publisher, number, 0, 0, [self._context.home], [])
                    self._send(waiting, answer)

    def remove_client(self, link: int) -> None:
        """Stop answering a client that has left."""
        self._remote.remove_client(link)
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

    def _is_done(self, client: Link, own: HeldHome | None, run: Run, incarnation: int) -> bool:
        """Store a run at the own home, or send it to other ones; return whether that was possible."""
        kinds = {number: self._kinds.of(number) for number in {*run.kinds}}
        homes = next(iter(kinds.values())).homes
        if not homes or not all(kind.is_usual and kind.homes == homes for kind in kinds.values()):
            return False
        self._remote.resolve_repeated(incarnation, run.first)
        if self._publications.has(incarnation):
            return False
        tree = self._versions.newest.tree(self._tree(incarnation), self._context.name)
        branches = self._kinds.branches(tree, kinds.values(), homes)
        if branches is None:
            return False
        if homes == [self._context.home]:
            return own is not None and not branches and self._store(client, own, run, kinds, incarnation)
        is_here = self._context.home in homes or any(kind.durable for kind in kinds.values())
        return bool(branches) and not is_here and self._remote.send(client, run, incarnation, homes, branches)

    def _store(self, client: Link, own: HeldHome, run: Run, kinds: Mapping[int, Kind], incarnation: int) -> bool:
        """Store a run at the own home."""
        chosen = {number: kind.durable for number, kind in kinds.items()}
        if not all(chosen.values()) or not self._records.is_own_known:
            return False
        if not own.home.take_run(run, chosen, incarnation, self._context.name):
            return False
        self._context.counters[Event.MATCHED] += len(run.contents)
        deadline = self._context.clock.elapsed + run.timeout
        self._waiting.append(_Waiting(client.id, client.account, run, run.counts(chosen), deadline))
        own.queue.after(self._stored)
        return True

    def _publish_each(self, waiting: _Waiting) -> None:
        """Publish the messages of a run one by one, in the time that is left."""
        left = waiting.deadline - self._context.clock.elapsed
        for index in range(len(waiting.run.contents)):
            if not waiting.is_answered and left > 0:
                self._publications.begin(waiting.link, waiting.account, waiting.run.frame(index, left))

    def _stored(self) -> None:
        """Answer the publisher of the oldest run: it is on disk."""
        waiting = self._waiting.popleft()
        if not self._records.is_own_known:
            self._publish_each(waiting)
        elif not waiting.is_answered:
            for answer in published(self._links.get(waiting.link), waiting.run, waiting.subscriptions):
                self._send(waiting, answer)

    def _send(self, waiting: _Waiting, answer: DurablePublished | DurablePublishedRun) -> None:
        if waiting.link >= 0:
            self._context.outbox.send(waiting.link, answer)
