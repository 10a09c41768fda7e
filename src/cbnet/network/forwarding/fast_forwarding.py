"""Fast forwarding of plain messages, as bytes: lookups for the kernel, and its counters.

    bytes ─► `fast_path` ─► plain messages: matched, delivered and forwarded, in the kernel
                       └──► anything else: the state machine, of which `forwarder` is the part for messages

The kernel caches its lookups. It repeats a lookup when a slot has been reassigned, or when versions, links or streams
have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias
from zlib import crc32

from cbnet._kernels.fast_path import FastPath
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.forwarding.unconfirmed_packets import UnconfirmedPackets
from cbnet.network.link.context import Action
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.link.link import Link
from cbnet.network.protocol.wire import MAX_CLIENT_FRAME_BYTES, MAX_ROUTER_FRAME_BYTES, Data

TIME_SLICE_NS = 2_000_000  # for the messages of one link, before other links are served
_COUNTERS = (
    Event.PUBLISHED, Event.MATCHED, Event.DELIVERED, Event.DELIVERED_INITIAL, Event.PACKETS_RECEIVED,
    Event.PACKETS_SENT, Event.PACKETS_UNPRUNED, DropReason.DUPLICATE.key,
)  # fmt: skip  # in the order of the kernel

Branches: TypeAlias = list[tuple[int | None, int, int | None]]  # see `route_table`


class Progress(NamedTuple):
    """The part of the bytes of a link that was handled, and the result."""

    end: int
    outcome: int  # DONE, PYTHON or LATE
    written: Sequence[int] = ()  # links to whose buffers frames were added
    actions: Sequence[Action] = ()


class FastForwarding:
    """The fast path of one router, kept consistent with its tables."""

    def __init__(self, core: RouterCore, unconfirmed: UnconfirmedPackets) -> None:
        self._core = core
        context = core
        fib = core.fib
        self._generation = fib.generation  # of the routes that the kernel knows
        self.changes = 0  # of the meaning of slots and routes
        self._unconfirmed = unconfirmed
        self.path = FastPath(
            context.name,
            context.incarnation,
            context.settings.tree_count,
            fib.table.matcher,
            fib.holder,
            self._branches,
        )
        core.links.on_closed.append(self._link_closed)

    def open(self, link: Link) -> None:
        """Add a link, whose peer is not known yet."""
        self.path.links.open(link.id, link.output)

    def admit(self, link: Link) -> None:
        """Start handling the messages of a link whose peer is known."""
        assert link.hello is not None
        if link.is_router:
            self.path.links.admit_router(
                link.id, MAX_ROUTER_FRAME_BYTES, self._unconfirmed.batch(link.session, link.id)
            )
        else:
            is_by_client = self._core.settings.commit == "publisher"
            tree = crc32(link.hello.name.encode()) % self._core.settings.tree_count if is_by_client else -1
            self.path.links.admit_client(link.id, MAX_CLIENT_FRAME_BYTES, tree, link.rights.publish_matcher())

    def run(self, link: int, data: Data, start: int, end: int, most: int) -> Progress:
        """Handle the plain messages in bytes of a link, `most` messages at most."""
        self.refresh()
        stopped, outcome = self.path.run(link, data, start, end, TIME_SLICE_NS, most)
        if self.path.has_full_batch:
            self.path.has_full_batch = False
            self._unconfirmed.ping_full()
        return Progress(stopped, outcome, self.path.links.take_touched(), self._core.outbox.take())

    def _link_closed(self, link: Link) -> None:
        self.refresh()
        self.path.close(link.id)

    def refresh(self) -> None:
        """Discard the lookups that have changed since the last call."""
        for slot in self._core.fib.take_changed_slots():
            self.path.slots.forget(slot)
            self.changes += 1
        if self._generation != self._core.fib.generation:
            self._generation = self._core.fib.generation
            self.path.routes.clear()
            self.changes += 1

    def count(self) -> None:
        """Add the kernel's counts since the last call to the router's counters."""
        for key, count in zip(_COUNTERS, self.path.take_counts(), strict=True):
            if count:
                self._core.counters[key] += count

    def _branches(self, link: int, side: int, number: int) -> Branches | None:
        """Return the branches of a packet's tree; None if no version has such a tree. link: -1 for own messages."""
        neighbour = self._core.links.name(link) if link >= 0 else ""
        if neighbour:
            tree = self._core.versions.tree_for(neighbour, side, number)
        else:
            tree = self._core.versions.newest.tree(number, self._core.name)
        if tree is None:
            return None if neighbour else []  # no other router is reachable
        return [
            (branch.link, branch.to.side, branch.sources)
            for branch in self._core.fib.interfaces(tree)
            if branch.to.neighbour != neighbour
        ]
