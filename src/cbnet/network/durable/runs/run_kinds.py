"""Kinds of messages in runs: what a message matches, looked up once for all messages that match the same.

The kernel returns the number of a kind for each message (`_kernels/durable_run`). A kind holds until the forwarding
table or the homes change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from cbnet._kernels.durable_run import RunReader
from cbnet.network.durable.held_home import HeldHome
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.records.home_table import HomeTable
from cbnet.network.forwarding.fast_forwarding import FastForwarding
from cbnet.network.forwarding.forwarding_table import TreeInterface
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.network.protocol.frames import StoredRun
from cbnet.network.protocol.wire import Data


class Kind(NamedTuple):
    """What messages of a kind match."""

    is_usual: bool  # whether nobody needs them here but durable subscriptions
    durable: Sequence[int]  # durable subscriptions of this router
    sources: int  # bits of the streams with a filter that matches
    homes: Sequence[str]  # that must store them; not known of messages of neighbours


class RunKinds:
    """The kinds of messages that one router has read."""

    def __init__(self, core: RouterCore, fast: FastForwarding, homes: HomeTable) -> None:
        self._core = core
        self._fast = fast
        self._homes = homes
        self.reader = RunReader(fast.path.links, core.fib.table.matcher, homes.matcher)
        self._known: dict[int, Kind] = {}
        self._seen = fast.changes

    def read(self, link: int, data: Data, start: int, end: int, most: int) -> Run | None:
        """Return the run that begins in the bytes of a client; None if its first frame is to be handled alone."""
        self._refresh()
        found = self.reader.read(link, data, start, end, most)
        return None if found is None else Run(*found)

    def match(self, contents: list[bytes]) -> list[int] | None:
        """Return the kinds of the messages of a neighbour, without homes; None if they are to be handled alone."""
        self._fast.refresh()
        self._refresh()
        return self.reader.match(contents)

    def _refresh(self) -> None:
        if self._seen != self._fast.changes or self._homes.slots.changed:
            self._seen = self._fast.changes
            self._homes.slots.changed.clear()
            self.reader.forget_kinds()
        if not self.reader.slots:
            self._known.clear()

    def of(self, number: int) -> Kind:
        """Return a kind."""
        kind = self._known.get(number)
        if kind is None:
            slots, homes = self.reader.slots[number]
            matches = self._core.fib.matches_of(slots)
            is_usual = not (matches.clients or matches.domains or matches.is_initial)
            names = sorted(map(self._homes.slots.holder, homes or ()))
            kind = self._known[number] = Kind(is_usual, tuple(matches.durable), matches.sources, names)
        return kind

    def branches(
        self, tree: TreeView | None, kinds: Collection[Kind], homes: Collection[str], came_from: str = ""
    ) -> list[TreeInterface] | None:  # fmt: skip
        """Return the neighbours on a tree that need messages of all these kinds; None if they are different ones."""
        wanted: list[TreeInterface] = []
        routers = self._core.home_routers.of(homes)
        for branch in () if tree is None else self._core.fib.interfaces(tree):
            if branch.to.neighbour == came_from:
                continue
            if branch.sources is None or branch.link is None:
                return None
            is_for_home = not branch.to.behind.isdisjoint(routers)
            is_wanted = {is_for_home or bool(branch.sources & kind.sources) for kind in kinds}
            if len(is_wanted) > 1:
                return None
            if True in is_wanted:
                wanted.append(branch)
        return wanted

    @staticmethod
    def store(
        own: HeldHome, run: Run, kinds: Mapping[int, Kind], publisher: int, source: str
    ) -> list[StoredRun] | None:  # fmt: skip
        """Store a run at a home; return the answers once it is on disk, or None, without any effect, if it cannot.

        publisher: its incarnation; source: the router where it publishes.
        """
        chosen = {number: kind.durable for number, kind in kinds.items()}
        if not all(chosen.values()) or not own.records.is_own_known:
            return None
        if not own.home.take_run(run, chosen, publisher, source):
            return None
        answers: list[StoredRun] = []
        number = run.first
        for subscriptions, group in groupby(run.counts(chosen)):
            answers.append(StoredRun(publisher, number, len([*group]), subscriptions))
            number += answers[-1].messages
        return answers
