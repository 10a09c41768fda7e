"""Forwarding of messages through one router: local delivery, and next hops as the scheme decides.

A packet is identified by source, the source's life and a number, and passes a router once. While routers have different
views of the network a packet may miss a receiver, or reach a router twice; then the second is dropped. Drops are
counted by reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.announce.subscriptions import Matches, Subscriptions
from cbnet.network.forwarding.duplicates import Duplicates
from cbnet.network.forwarding.trace_steps import TraceReporter, TraceStep, hypothetical_subscriber
from cbnet.network.forwarding.traces import Traces
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.linkstate.view import View, ViewHistory
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_ENTRIES, MAX_HOPS
from cbnet.network.protocol.frames import Deliver, Packet, Publish, Trace, TraceMark, TraceReport
from cbnet.network.protocol.wire import WireError
from cbnet.routing.header import Header


class SendResult(NamedTuple):
    """The neighbours that a packet was sent to, and the reason if it was dropped for others."""

    neighbours: Sequence[int]
    dropped: DropReason | None


class Forwarder:
    """Delivers and forwards the messages of one router."""

    def __init__(
        self,
        context: RouterContext,
        views: ViewHistory,
        links: LinkTable,
        subscriptions: Subscriptions,
        unicast: UnicastForwarder,
        reporter: TraceReporter,
        traces: Traces,
    ) -> None:
        self._context = context
        self._views = views
        self._links = links
        self._subscriptions = subscriptions
        self._unicast = unicast
        self._reporter = reporter
        self._traces = traces
        self._duplicates = Duplicates()
        self._numbers = 0

    def publish(self, frame: Publish | Trace, mark: TraceMark | None = None) -> None:
        """Forward a message of a client; raise an `InputError` if it is invalid."""
        content = Content(frame)
        view = self._views.current()
        me, life = self._context.name, self._context.life
        self._numbers += 1
        self._duplicates.check(me, life, self._numbers)  # it may come back
        self._context.counters[Event.PUBLISHED] += 1
        packet = Packet(
            source=me,
            life=life,
            number=self._numbers,
            hops=0,
            header=me,
            attributes=frame.attributes,
            tags=frame.tags,
            payload=frame.payload,
            mark=mark,
        )
        if mark is None:
            self._deliver(packet, self._subscriptions.matched(content))
            self._forward(view, packet, view.router.init(content), content, came_from="")
        else:
            with hypothetical_subscriber(view, mark, content):
                self._trace(view, packet, mark, view.router.init(content), content, came_from="", dropped=None)

    def enter(self, frame: Deliver) -> None:
        """Forward a message of another domain in this one, under its original identity."""
        refusal = self._duplicates.check(frame.source, frame.life, frame.number)
        if refusal is not None:
            self._context.drop(refusal)
            return
        content = Content(frame)
        view = self._views.current()
        self._context.counters[Event.DOMAIN_ENTERED] += 1
        packet = Packet(
            source=self._context.name,
            life=frame.life,
            number=frame.number,
            hops=0,
            header=self._context.name,
            attributes=frame.attributes,
            tags=frame.tags,
            payload=frame.payload,
            origin=frame.source,
        )
        self._deliver(packet, self._subscriptions.matched(content))
        self._forward(view, packet, view.router.init(content), content, came_from="")

    def packet(self, neighbour: str, packet: Packet) -> None:
        """Handle a packet of a neighbour."""
        try:
            content = Content(packet)
        except InputError as error:
            raise WireError(f"invalid packet: {error.summary}") from None
        view = self._views.current()
        header = view.header_codec.read(packet.header)
        self._context.counters[Event.PACKETS_RECEIVED] += 1
        refusal = self._duplicates.check(packet.origin or packet.source, packet.life, packet.number)
        if packet.mark is not None:
            with hypothetical_subscriber(view, packet.mark, content):
                self._trace(view, packet, packet.mark, header, content, neighbour, refusal)
        elif refusal is None:
            self._deliver(packet, self._subscriptions.matched(content))
            self._forward(view, packet, header, content, neighbour)
        if refusal is not None:
            self._context.drop(refusal)

    def _deliver(self, packet: Packet, matches: Matches) -> None:
        """Send a message to the clients and other domains whose subscriptions match."""
        counters, outbox = self._context.counters, self._context.outbox
        if matches.clients or matches.domains or matches.is_loaded:
            counters[Event.MATCHED] += 1
        if matches.is_loaded:
            counters[Event.DELIVERED_LOADED] += 1
        for link, ids in matches.clients.items():
            counters[Event.DELIVERED] += len(ids)
            for first in range(0, len(ids), MAX_ENTRIES):
                outbox.send(link, _delivery(packet, ids[first : first + MAX_ENTRIES]))
        if matches.domains:
            counters[Event.DOMAIN_LEFT] += len(matches.domains)
            outbox.export(_delivery(packet, matches.domains))

    def _forward(
        self, view: View, packet: Packet, header: Header | None, content: Content, came_from: str
    ) -> SendResult:
        """Send a packet to the next hops of the scheme."""
        earlier = self._views.earlier(self._context.now)
        if earlier and packet.mark is None:
            return self._forward_by_all([view, *earlier], packet, header, content, came_from)
        if len(view) == 1:  # no other router is reachable
            return SendResult((), None)
        if header is None:
            return self._dropped(DropReason.HEADER_UNREACHABLE)
        router, codec = view.router, view.header_codec
        next_hops = router.fwd(header, content)
        if next_hops and packet.hops >= MAX_HOPS:
            return self._dropped(DropReason.TOO_MANY_HOPS)
        sent: list[int] = []
        for w in next_hops:
            link = self._links.to(view.names[w])
            if link is None:
                continue
            frame = Packet(  # `replace` takes longer
                source=packet.source,
                life=packet.life,
                number=packet.number,
                hops=packet.hops + 1,
                header=codec.write(router.hdr(header, w)),
                attributes=packet.attributes,
                tags=packet.tags,
                payload=packet.payload,
                mark=packet.mark,
                origin=packet.origin,
            )
            self._context.outbox.send(link, frame)
            sent.append(w)
        self._context.counters[Event.PACKETS_SENT] += len(sent)
        return SendResult(sent, None) if len(sent) == len(next_hops) else self._dropped(DropReason.LINK_CLOSED, sent)

    def _forward_by_all(
        self, views: list[View], packet: Packet, header: Header | None, content: Content, came_from: str
    ) -> SendResult:
        """Send a packet to the next hops of the scheme in any of several views of the network.

        Routers learn of a change one after the other. While they do, all of them share either the earlier view or the
        present one: so the packet has a complete path to every receiver. It passes a router once.
        """
        view, me = views[0], self._context.name
        if came_from or header is None:
            wire_header = view.header_codec.portable(packet.header, packet.source, came_from)
        else:
            wire_header = view.header_codec.common(
                view.header_codec.write(header), [each.header_codec for each in views]
            )
        frame = replace(packet, hops=packet.hops + 1, header=view.header_codec.portable(wire_header, packet.source, me))
        readable = [(each, read) for each in views if (read := each.header_codec.read(wire_header)) is not None]
        if not readable:
            return self._dropped(DropReason.HEADER_UNREACHABLE)
        next_hops = {each.names[w]: None for each, read in readable for w in each.router.fwd(read, content)}
        next_hops.pop(came_from, None)
        if next_hops and packet.hops >= MAX_HOPS:
            return self._dropped(DropReason.TOO_MANY_HOPS)
        links = [link for name in next_hops if (link := self._links.to(name)) is not None]
        self._context.outbox.send_all(links, frame)
        self._context.counters[Event.PACKETS_SENT] += len(links)
        return SendResult((), None)

    def _dropped(self, reason: DropReason, sent: Sequence[int] = ()) -> SendResult:
        self._context.drop(reason)
        return SendResult(sent, reason)

    def _trace(
        self,
        view: View,
        packet: Packet,
        mark: TraceMark,
        header: Header | None,
        content: Content,
        came_from: str,
        dropped: DropReason | None,
    ) -> None:
        """Deliver and forward a traced packet, unless it is dropped, and report it."""
        matches = self._subscriptions.matched(content)
        result = SendResult((), dropped)
        if dropped is None:
            if not mark.is_dry:
                self._deliver(packet, matches)
            result = self._forward(view, packet, header, content, came_from)
        hop = self._reporter.hop(
            TraceStep(
                view=view,
                packet=packet,
                mark=mark,
                header=header if dropped is None else None,
                content=content,
                came_from=came_from,
                sent=result.neighbours,
                dropped=result.dropped,
                matches=matches,
            )
        )
        report = TraceReport(packet.source, 0, mark.number, hop)
        if packet.source == self._context.name:
            self._traces.report(report)
        else:
            self._unicast.send(report)


def _delivery(packet: Packet, subscriptions: list[int]) -> Deliver:
    return Deliver(
        subscriptions=subscriptions,
        source=packet.origin or packet.source,
        life=packet.life,
        number=packet.number,
        attributes=packet.attributes,
        tags=packet.tags,
        payload=packet.payload,
    )
