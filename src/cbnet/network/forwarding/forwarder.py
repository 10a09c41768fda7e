"""Forwarding of messages through one router: local delivery, and onward along one tree.

A packet carries the number of its tree, and a hash of its destination nodes, on the receiver's side of the link. The
receiver finds the tree of one of its versions of the topology in which its side has these nodes, and forwards the
packet to each neighbour on that tree whose stream has a matching filter. Routers thus need not agree on a version: each
hop hands over a set of nodes, and the parts of a tree are disjoint.

If a link of the tree is gone, or no version has such a tree, this router commits the packet again, to the newest
version. The packet may then reach a router twice, which delivers it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.forwarding.fast_forwarding import FastForwarding
from cbnet.network.forwarding.forwarding_table import Matches, TreeInterface
from cbnet.network.forwarding.group_records import GroupRecords
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.forwarding.search_credit import UNDECIDED
from cbnet.network.forwarding.traces import (
    Traces,
    TraceStep,
    hypothetical_predicate,
    wants_hypothetically,
)
from cbnet.network.forwarding.unconfirmed_packets import UnconfirmedPackets
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.network.protocol import frames
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_ENTRIES, MAX_HOPS, MAX_TRIES
from cbnet.network.protocol.wire import WireError

_MAX_RETRIED = 10_000  # packets committed again by this router, which it does not commit once more


class SendResult(NamedTuple):
    """The branches that a packet was sent to, and the reason if it was dropped for others."""

    sent: Sequence[TreeInterface]
    dropped: DropReason | None


class Forwarder:
    """Delivers and forwards the messages of one router."""

    def __init__(
        self,
        core: RouterCore,
        *,
        store: Callable[[frames.Packet, Sequence[int]], None],
        lose: Callable[[Sequence[int]], None],
    ) -> None:
        """Initialise; store: stores a packet for durable subscriptions; lose: counts a message as lost for them."""
        self._core = core
        self.groups = GroupRecords(core)
        self.traces = Traces(core)
        self.unconfirmed = UnconfirmedPackets(core.links)
        self.fast = FastForwarding(core, self.unconfirmed)
        self._path = self.fast.path
        self._store, self._lose = store, lose
        self._retried: dict[tuple[str, int, int], None] = {}
        # Passes a packet to other domains.
        self.on_leave: Callable[[frames.Packet, Sequence[int]], dict[int, str]] = lambda *_: {}
        core.versions.on_adopted.append(self._adopted)

    def publish(self, client: str, frame: frames.Publish | frames.Trace, mark: frames.TraceMark | None = None) -> None:
        """Forward a message of a client; raise an `InputError` if it is invalid."""
        content = Content(frame)
        self._path.number += 1
        self._core.counters[Event.PUBLISHED] += 1
        flow = crc32(client.encode()) if self._core.settings.commit == "publisher" else self._path.number
        self._begin(self._packet_of(frame, self._core.incarnation, self._path.number, flow, mark), content)

    def durable_packet(self, frame: frames.DurablePublish, incarnation: int) -> frames.Packet:
        """Return the packet of a message whose publisher waits until it is stored; incarnation: the publisher's."""
        return self._packet_of(frame, incarnation, frame.sequence, flow=incarnation)

    def _packet_of(
        self,
        frame: frames.Publish | frames.Trace | frames.DurablePublish,
        incarnation: int,
        number: int,
        flow: int,
        mark: frames.TraceMark | None = None,
    ) -> frames.Packet:
        return frames.Packet(
            source=self._core.name,
            incarnation=incarnation,
            number=number,
            hops=0,
            tree=flow % self._core.settings.tree_count,
            side=0,
            tries=0,
            attributes=frame.attributes,
            tags=frame.tags,
            payload=frame.payload,
            mark=mark,
        )

    def begin_durable(self, packet: frames.Packet, mark: frames.DurableMark) -> None:
        """Forward a packet to its homes, or resend it to some of them."""
        self._core.counters[Event.PUBLISHED] += not mark.is_repeated
        self._begin(replace(packet, durable=mark), Content(packet))

    def send_run(self, run: frames.PacketRun, branches: Iterable[TreeInterface]) -> None:
        """Send the packets of a run to neighbours whose links are open."""
        for branch in branches:
            assert branch.link is not None
            onward = replace(run, hops=run.hops + 1, side=branch.to.side)
            self._core.outbox.send(branch.link, onward)
            self.unconfirmed.add(branch.to.session, branch.link, onward)
            self._core.counters[Event.PACKETS_SENT] += len(run.contents)

    def enter(self, packet: frames.Packet, relay: Callable[[frames.Hop], None]) -> None:
        """Forward a packet from another domain, under its original identity; relay: called with its trace."""
        self._core.counters[Event.DOMAIN_ENTERED] += 1
        origin, mark = packet.origin or packet.source, packet.mark
        entered = replace(
            packet,
            source=self._core.name,
            hops=0,
            tree=crc32(origin.encode()) % self._core.settings.tree_count,
            side=0,
            tries=0,
            mark=None if mark is None else frames.TraceMark(self.traces.relay(relay), mark.is_dry),
            origin=origin,
            durable=None,  # homes answer in their own domain only
        )
        self._begin(entered, Content(entered))

    def packet(self, neighbour: str, packet: frames.Packet) -> None:
        """Handle a packet from a neighbour."""
        try:
            content = Content(packet)
        except InputError as error:
            raise WireError(f"invalid packet: {error.summary}") from None
        if packet.mark is not None:
            hypothetical_predicate(packet.mark)  # checked at once: errors are not forwarded
        self._core.counters[Event.PACKETS_RECEIVED] += 1
        tree = self._core.versions.tree_for(neighbour, packet.side, packet.tree)
        if tree is None and self._core.versions.is_outdated:
            self._core.versions.adopt()
            tree = self._core.versions.tree_for(neighbour, packet.side, packet.tree)
        self._handle(packet, content, tree, neighbour)

    def _adopted(self) -> None:
        """Commit again the unconfirmed packets that were sent over links that the newest version lacks."""
        lost = self.unconfirmed.take_lost(self._core.versions.newest.own_sessions)
        behind = self._core.versions.sides() if lost else {}
        for packet in lost:
            lacking = behind.get(packet.side)
            if lacking is not None and lacking.isdisjoint(self._core.versions.newest.names):
                self._core.drop(DropReason.LINK_CLOSED)
            else:
                content = Content(packet)
                self._commit_again(packet, content, self._core.fib.match(content), lacking)

    def _begin(self, packet: frames.Packet, content: Content) -> None:
        """Commit a new packet to a tree of the newest version."""
        self._handle(packet, content, self._core.versions.newest.tree(packet.tree, self._core.name), "")

    def _handle(self, packet: frames.Packet, content: Content, tree: TreeView | None, came_from: str) -> None:
        """Deliver a packet, if it is new, and forward it."""
        matches = self._core.fib.match(content)
        is_new = self._is_new(packet)
        if is_new:
            matches = self.groups.choose(packet, matches)
        if not is_new:
            self._core.drop(DropReason.DUPLICATE)
        elif packet.mark is None or not packet.mark.is_dry:
            self._deliver(packet, matches)
        if packet.durable is not None and (matches.durable or self._core.home in packet.durable.homes):
            self._store(packet, matches.durable)  # also for a duplicate: its source may lack the answer
        has_entered = bool(packet.origin) and not came_from
        domains = self._leave(packet, matches) if is_new and not has_entered else {}
        if has_entered and not is_new:
            result = SendResult((), None)  # another gateway has brought it into this domain
        elif tree is not None:
            result = self._send(packet, content, tree, matches, came_from)
        elif came_from:
            result = self._retry(packet, content, matches)
        else:
            result = SendResult((), None)  # no other router is reachable
        if packet.mark is not None:
            dropped = result.dropped or (None if is_new else DropReason.DUPLICATE)
            step = TraceStep(tree, packet, packet.mark, content, came_from, result.sent, dropped, matches, domains)
            self.report(frames.TraceReport(packet.source, 0, packet.mark.number, self.traces.hop(step)))

    def _is_new(self, packet: frames.Packet) -> bool:
        # A durable publisher may resend a message through another router.
        source = "" if packet.durable is not None else packet.origin or packet.source
        return self._path.duplicates.is_new(source, packet.incarnation, packet.tree, packet.number)

    def _deliver(self, packet: frames.Packet, matches: Matches) -> None:
        """Send a message to the clients whose subscriptions match."""
        counters, outbox = self._core.counters, self._core.outbox
        if matches.clients or matches.domains or matches.is_initial or matches.durable:
            counters[Event.MATCHED] += 1
        if matches.durable and packet.durable is None:
            self._store(packet, matches.durable)
        if matches.is_initial:
            counters[Event.DELIVERED_INITIAL] += 1
        for link, ids in matches.clients.items():
            counters[Event.DELIVERED] += len(ids)
            for first in range(0, len(ids), MAX_ENTRIES):
                outbox.send(link, _delivery(packet, ids[first : first + MAX_ENTRIES]))
        if matches.undecided is not None:
            self._core.drop(DropReason.UNDECIDED)
            self._lose(matches.undecided.durable)
            outbox.send_all(matches.undecided.clients, frames.Lost(1, UNDECIDED))

    def _leave(self, packet: frames.Packet, matches: Matches) -> dict[int, str]:
        """Pass a packet to other domains that want it; return their networks, by the side of the gateway."""
        if not matches.domains:
            return {}
        self._core.counters[Event.DOMAIN_LEFT] += len(matches.domains)
        return self.on_leave(packet, matches.domains)

    def _send(
        self,
        packet: frames.Packet,
        content: Content,
        tree: TreeView,
        matches: Matches,
        came_from: str,
        lacking: frozenset[str] | None = None,
    ) -> SendResult:
        """Send a packet to the neighbours on a tree whose side wants it; lacking: only toward these nodes."""
        wanted = [
            branch
            for branch in self._core.fib.interfaces(tree)
            if branch.to.neighbour != came_from
            and (lacking is None or not lacking.isdisjoint(branch.to.behind))
            and self._is_wanted(branch, packet, content, matches)
        ]
        if wanted and packet.hops >= MAX_HOPS:
            return self._dropped(DropReason.TOO_MANY_HOPS)
        sent: list[TreeInterface] = []
        for branch in wanted:
            if branch.link is not None:
                onward = _packet_to(branch, packet)
                self._core.outbox.send(branch.link, onward)
                self.unconfirmed.add(branch.to.session, branch.link, onward)
                sent.append(branch)
        self._core.counters[Event.PACKETS_SENT] += len(sent)
        if len(sent) == len(wanted):
            return SendResult(sent, None)
        retried = self._retry(packet, content, matches)
        return SendResult([*sent, *retried.sent], retried.dropped)

    def _is_wanted(self, branch: TreeInterface, packet: frames.Packet, content: Content, matches: Matches) -> bool:
        if packet.durable is not None:
            if not branch.to.behind.isdisjoint(self._core.home_routers.of(packet.durable.homes)):
                return True
            if packet.durable.is_repeated:
                return False
        if branch.sources is None:
            self._core.counters[Event.PACKETS_UNPRUNED] += 1
            return True
        if branch.sources & matches.sources:
            return True
        return packet.mark is not None and wants_hypothetically(packet.mark, branch.to.behind, content)

    def _retry(self, packet: frames.Packet, content: Content, matches: Matches) -> SendResult:
        """Commit again a packet that cannot be forwarded; once at each router."""
        identity = packet.origin or packet.source, packet.incarnation, packet.number
        if identity in self._retried:
            return self._dropped(DropReason.LINK_CLOSED)
        if len(self._retried) >= _MAX_RETRIED:
            del self._retried[next(iter(self._retried))]
        self._retried[identity] = None
        if self._core.versions.is_outdated:
            self._core.versions.adopt()
        return self._commit_again(packet, content, matches)

    def _commit_again(
        self, packet: frames.Packet, content: Content, matches: Matches, lacking: frozenset[str] | None = None
    ) -> SendResult:
        """Commit a packet at this router to the newest version."""
        tree = self._core.versions.newest.tree(packet.tree, self._core.name)
        if tree is None or packet.tries >= MAX_TRIES:
            return self._dropped(DropReason.LINK_CLOSED)
        self._core.counters[Event.PACKETS_RETRIED] += 1
        again = replace(packet, tries=packet.tries + 1)
        return self._send(again, content, tree, matches, "", lacking)

    def _dropped(self, reason: DropReason) -> SendResult:
        self._core.drop(reason)
        return SendResult((), reason)

    def report(self, report: frames.TraceReport) -> None:
        """Send a report on a traced packet to the packet's source."""
        if report.to == self._core.name:
            self.traces.report(report)
        else:
            self._core.unicast.send(report)


def _packet_to(branch: TreeInterface, packet: frames.Packet) -> frames.Packet:
    return frames.Packet(  # `replace` takes longer
        source=packet.source,
        incarnation=packet.incarnation,
        number=packet.number,
        hops=packet.hops + 1,
        tree=packet.tree,
        side=branch.to.side,
        tries=packet.tries,
        attributes=packet.attributes,
        tags=packet.tags,
        payload=packet.payload,
        mark=packet.mark,
        origin=packet.origin,
        durable=packet.durable,
    )


def _delivery(packet: frames.Packet, subscriptions: list[int]) -> frames.Deliver:
    return frames.Deliver(
        subscriptions=subscriptions,
        source=packet.origin or packet.source,
        incarnation=packet.incarnation,
        number=packet.number,
        attributes=packet.attributes,
        tags=packet.tags,
        payload=packet.payload,
    )
