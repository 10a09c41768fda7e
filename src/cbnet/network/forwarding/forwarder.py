"""Forwarding: what does a router do with a message? Deliver it here, and send it on as the scheme says.

A packet is known by its source, the source's life and a number, and passes a router once. While routers see the network
differently a packet may miss somebody, or come to a router twice; then the second is dropped. What is dropped is
counted by reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.announce.subscriptions import BEYOND, LOADED, Subscriptions
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
    """Which neighbours a packet went to, and why not to others."""

    neighbours: Sequence[int]
    dropped: DropReason | None


class Forwarder:
    """The way of messages through one router."""

    def __init__(
        self,
        context: RouterContext,
        views: ViewHistory,
        links: LinkTable,
        subscriptions: Subscriptions,
        unicast: UnicastForwarder,
        hops: TraceReporter,
        traces: Traces,
    ) -> None:
        self._context = context
        self._views = views
        self._links = links
        self._subscriptions = subscriptions
        self._unicast = unicast
        self._hops = hops
        self._traces = traces
        self._duplicates = Duplicates()
        self._numbers = 0

    def publish(self, frame: Publish | Trace, mark: TraceMark | None = None) -> None:
        """Send a message of a client on its way; an `InputError` if it is none."""
        content = Content(frame)
        view = self._views.current()
        me, life = self._context.name, self._context.life
        self._numbers += 1
        self._duplicates.refusal(me, life, self._numbers)  # it may come back
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
            self._send_on(view, packet, view.router.init(content), content, came_from="")
        else:
            with hypothetical_subscriber(view, mark, content):
                self._traced(view, packet, mark, view.router.init(content), content, came_from="", dropped=None)

    def enter(self, frame: Deliver) -> None:
        """Send a message of another domain on its way in this one, as what it was there."""
        if self._is_refused(frame.source, frame.life, frame.number):
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
        self._send_on(view, packet, view.router.init(content), content, came_from="")

    def _is_refused(self, source: str, life: int, number: int) -> bool:
        refusal = self._duplicates.refusal(source, life, number)
        if refusal is not None:
            self._context.drop(refusal)
        return refusal is not None

    def packet(self, neighbour: str, packet: Packet) -> None:
        """Take a packet from a neighbour."""
        try:
            content = Content(packet)
        except InputError as error:
            raise WireError(f"a packet: {error.summary}") from None
        view = self._views.current()
        header = view.header_codec.read(packet.header)
        self._context.counters[Event.PACKETS_RECEIVED] += 1
        refusal = self._duplicates.refusal(packet.origin or packet.source, packet.life, packet.number)
        if packet.mark is not None:
            with hypothetical_subscriber(view, packet.mark, content):
                self._traced(view, packet, packet.mark, header, content, neighbour, refusal)
        elif refusal is None:
            self._deliver(packet, self._subscriptions.matched(content))
            self._send_on(view, packet, header, content, neighbour)
        if refusal is not None:
            self._context.drop(refusal)

    def _deliver(self, packet: Packet, matched: dict[int, list[int]]) -> None:
        """Send a message to the clients with these subscriptions."""
        if matched:
            self._context.counters[Event.MATCHED] += 1
        for link, ids in matched.items():
            if link == LOADED:
                self._context.counters[Event.DELIVERED_LOADED] += 1
                continue
            self._context.counters[Event.DOMAIN_LEFT if link == BEYOND else Event.DELIVERED] += len(ids)
            for first in range(0, len(ids), MAX_ENTRIES):
                frame = Deliver(
                    subscriptions=ids[first : first + MAX_ENTRIES],
                    source=packet.origin or packet.source,
                    life=packet.life,
                    number=packet.number,
                    attributes=packet.attributes,
                    tags=packet.tags,
                    payload=packet.payload,
                )
                self._context.outbox.send(link, frame)

    def _send_on(
        self, view: View, packet: Packet, header: Header | None, content: Content, came_from: str
    ) -> SendResult:
        """Send a packet to the neighbours that the scheme says."""
        earlier = self._views.earlier(self._context.now)
        if earlier and packet.mark is None:
            return self._send_all_ways([view, *earlier], packet, header, content, came_from)
        if len(view) == 1:  # a router alone
            return SendResult((), None)
        if header is None:
            return self._dropped(DropReason.HEADER_UNREACHABLE)
        router, headers = view.router, view.header_codec
        to = router.fwd(header, content)
        if to and packet.hops >= MAX_HOPS:
            return self._dropped(DropReason.TOO_MANY_HOPS)
        sent: list[int] = []
        for w in to:
            link = self._links.to(view.names[w])
            if link is None:
                continue
            frame = Packet(
                source=packet.source,
                life=packet.life,
                number=packet.number,
                hops=packet.hops + 1,
                header=headers.write(router.hdr(header, w)),
                attributes=packet.attributes,
                tags=packet.tags,
                payload=packet.payload,
                mark=packet.mark,
                origin=packet.origin,
            )
            self._context.outbox.send(link, frame)
            sent.append(w)
        self._context.counters[Event.PACKETS_SENT] += len(sent)
        return SendResult(sent, None) if len(sent) == len(to) else self._dropped(DropReason.LINK_CLOSED, sent)

    def _send_all_ways(
        self, views: list[View], packet: Packet, header: Header | None, content: Content, came_from: str
    ) -> SendResult:
        """Send a packet to the neighbours that the scheme says by any of some views of the network.

        Routers learn of a change one after the other. In the time that this takes at most, all of them have the view of
        before in common, or the present one: so the packet has a whole way to everybody. It passes a router once.
        """
        view, me = views[0], self._context.name
        if came_from or header is None:
            written = view.header_codec.lasting(packet.header, packet.source, came_from)
        else:
            written = view.header_codec.common(view.header_codec.write(header), [each.header_codec for each in views])
        frame = replace(packet, hops=packet.hops + 1, header=view.header_codec.lasting(written, packet.source, me))
        known = [(each, read) for each in views if (read := each.header_codec.read(written)) is not None]
        if not known:
            return self._dropped(DropReason.HEADER_UNREACHABLE)
        ways = {each.names[w]: None for each, read in known for w in each.router.fwd(read, content)}
        ways.pop(came_from, None)
        if ways and packet.hops >= MAX_HOPS:
            return self._dropped(DropReason.TOO_MANY_HOPS)
        links = [link for name in ways if (link := self._links.to(name)) is not None]
        self._context.outbox.send_all(links, frame)
        self._context.counters[Event.PACKETS_SENT] += len(links)
        return SendResult((), None)

    def _dropped(self, reason: DropReason, sent: Sequence[int] = ()) -> SendResult:
        self._context.drop(reason)
        return SendResult(sent, reason)

    def _traced(
        self,
        view: View,
        packet: Packet,
        mark: TraceMark,
        header: Header | None,
        content: Content,
        came_from: str,
        dropped: DropReason | None,
    ) -> None:
        """Deliver a packet and send it on, unless it is dropped; report what was done."""
        matched = self._subscriptions.matched(content)
        sent = SendResult((), dropped)
        if dropped is None:
            if not mark.is_dry:
                self._deliver(packet, matched)
            sent = self._send_on(view, packet, header, content, came_from)
        way = header if dropped is None else None
        hop = self._hops.hop(
            TraceStep(view, packet, mark, way, content, came_from, sent.neighbours, sent.dropped, matched)
        )
        report = TraceReport(packet.source, 0, mark.number, hop)
        if packet.source == self._context.name:
            self._traces.report(report)
        else:
            self._unicast.send(report)
