"""Router of a live network: a state machine without I/O.

    opened(link, now, names)     a connection was dialled or accepted; the names are those in the peer's certificate
    received(link, frame, now)   a frame was received; `received_all`: several, which is faster
    held(link, now)              reading from a link is paused: its silence means nothing
    failed(link, reason, now)    bytes were received that are no frame
    closed(link, now)            a connection was closed
    leave(now)                   the router will stop soon: messages take other paths
    tick(now)                    time has passed; call it several times per second

Each returns the actions to perform, in this order: frames to send, links to close. A link is any number that was not
used before. An error of a peer closes its link, with the reason; it never raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from cbnet.language.predicate import Predicate
from cbnet.network.announce.announcement import Announcement
from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.node_predicates import read_filters
from cbnet.network.announce.subscriptions import InternalSubscriber, Subscriptions
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.trace_steps import TraceReporter
from cbnet.network.forwarding.traces import Traces
from cbnet.network.link.actions import Action
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.links import Link, LinkTable
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.confirmations import Confirmations
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.departure import Departure
from cbnet.network.linkstate.flooding import Flooding
from cbnet.network.linkstate.own_records import OwnRecords
from cbnet.network.linkstate.records import RecordKind
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.linkstate.view import View, ViewHistory
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.wire import WireError
from cbnet.network.pull.holders import Holders
from cbnet.network.pull.pull_router import PullRouter
from cbnet.network.pull.reply_cache import ReplyCache
from cbnet.network.pull.requesters import Requesters
from cbnet.network.router.clients import ClientHandler
from cbnet.network.router.gateway_port import GatewayPort
from cbnet.network.router.initial_state import EMPTY_STATE, InitialState
from cbnet.network.router.status import router_status
from cbnet.network.security.access import OPEN_ACCESS, Access

Handler: TypeAlias = Callable[[int, Any], None]


class Router:
    """One router of a network."""

    def __init__(
        self, settings: Settings, life: int, access: Access = OPEN_ACCESS, initial: InitialState = EMPTY_STATE
    ) -> None:  # fmt: skip
        """Create a router; `life` is a random number below 2**63, another one at each start."""
        self._context = context = RouterContext(settings, life)
        self.links = LinkTable(context, self._removed, access)
        self.database = Database(settings.lifetime, initial.predicates_for(settings.name, life))
        self._views = ViewHistory(settings, self.database, initial.table, context.counters)
        self._unicast = UnicastForwarder(context, self._views, self.links)
        self._flooding = Flooding(context, self.database, self.links)
        self.announcement = Announcement(is_limited=settings.is_limited)
        self.subscriptions = Subscriptions(self.announcement)
        self.offers = Subscriptions(Announcement(is_limited=settings.is_limited))
        announcements = {RecordKind.PREDICATE: self.announcement, RecordKind.OFFERS: self.offers.announcement}
        self._own_records = OwnRecords(context, self.database, self.links, announcements, self._flooding)
        self._confirmations = Confirmations(context, self.database, self._views, self._unicast)
        self._departure = Departure(self.links, self._own_records, self._confirmations)
        self._traces = Traces(context)
        reporter = TraceReporter(settings.name, self.database.predicates, self.subscriptions, self.links)
        self._forwarder = Forwarder(
            context, self._views, self.links, self.subscriptions, self._unicast, reporter, self._traces
        )
        self.cache = ReplyCache(context)
        self._requesters = Requesters(context)
        self._holders = Holders(context, self.links, self.offers)
        self._pulls = PullRouter(
            context, self.database, self._views, self._unicast, self._holders, self._requesters, self.cache
        )  # fmt: skip
        self._clients = ClientHandler(
            context=context,
            links=self.links,
            subscriptions=self.subscriptions,
            offers=self.offers,
            own_records=self._own_records,
            confirmations=self._confirmations,
            forwarder=self._forwarder,
            traces=self._traces,
            requesters=self._requesters,
            pulls=self._pulls,
        )
        if initial.predicates is not None:
            self._load(initial.predicates)
        self.gateway_port = GatewayPort(context, self._views, self.database, self.subscriptions)
        self._flooding.on_own = self._own_records.supersede
        self._flooding.on_change = self._confirmations.acknowledge
        self._handlers: dict[str, dict[type[Any], Handler]] = {  # by the role of the peer
            "": {},
            "router": {
                frames.LinkRecord: self._flooding.link_record,
                frames.FilterRecord: self._flooding.filter_record,
                frames.FilterChange: self._flooding.filter_change,
                frames.RecordSummary: self._flooding.summary,
                frames.RecordRequest: self._flooding.request,
                frames.Packet: self._packet,
                frames.RecordAck: self._unicast_frame,
                frames.AckRequest: self._unicast_frame,
                frames.TraceReport: self._unicast_frame,
                frames.Request: self._pulls.request,
                frames.ReplyFrame: self._pulls.reply,
                frames.NoItem: self._pulls.no_item,
            },
            "client": {
                frames.OfferFrame: self._clients.offer,
                frames.Withdraw: self._clients.withdraw,
                frames.PullFrame: self._clients.pull,
                frames.Answer: self._holders.answer,
                frames.Subscribe: self._clients.subscribe,
                frames.Unsubscribe: self._clients.unsubscribe,
                frames.Publish: self._clients.publish,
                frames.Trace: self._clients.trace,
                frames.SlowPolicy: self._slow_policy,
                frames.StatusRequest: self._status,
            },
        }

    def _load(self, predicates: InitialPredicates) -> None:
        """Start with the initial predicate of this node, which the other routers have already."""
        own = read_filters(predicates.filters[self._context.name])
        if own:
            self.subscriptions.set(InternalSubscriber.LOADED, 0, Predicate(own.values()))
        self.announcement.reset(own.values())
        self._own_records.skip_first_predicate()

    @property
    def settings(self) -> Settings:
        """The settings of this router."""
        return self._context.settings

    @property
    def counters(self) -> Counter[str]:
        """The counters of this router; see `link.counters`."""
        return self._context.counters

    @property
    def view(self) -> View:
        """The present view of the network."""
        return self._views.current()

    @property
    def is_overlapping(self) -> bool:
        """Whether the topology has just changed, so that messages also follow the earlier one."""
        self._views.current()
        return bool(self._views.earlier(self._context.now))

    @property
    def view_changes(self) -> int:
        """The number of views of the network so far."""
        return self._views.changes

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has received all records that its neighbours announced."""
        return self._flooding.is_synchronised

    @property
    def is_departure_known(self) -> bool:
        """Whether all reachable routers know that this one is leaving."""
        return self._departure.is_known

    # --- events

    def opened(self, link: int, now: float, names: frozenset[str] | None = None) -> list[Action]:
        """Handle a new connection; `names` are those in the peer's certificate, None without TLS."""
        self._context.clock.advance(now)
        self.links.open(link, names)
        return self._done()

    def received(self, link: int, frame: frames.Frame, now: float) -> list[Action]:
        """Handle a frame."""
        return self.received_all(link, (frame,), now)

    def received_all(self, link: int, all: Iterable[frames.Frame], now: float) -> list[Action]:
        """Handle several frames."""
        self._context.clock.advance(now)
        known = self.links.get(link)
        if known is not None:  # else the link was closed meanwhile
            known.last_received = self._context.now
            handlers = self._handlers["" if known.hello is None else known.hello.role]
            try:
                for frame in all:
                    handler = handlers.get(type(frame))
                    if handler is not None:
                        handler(link, frame)
                    else:
                        self._handle(known, frame)
                        handlers = self._handlers["" if known.hello is None else known.hello.role]
            except WireError as error:
                self._shut(link, error.reason)
        return self._done()

    def held(self, link: int, now: float) -> None:
        """Record that reading from a link is paused."""
        self._context.clock.advance(now)
        known = self.links.get(link)
        if known is not None:
            known.last_received = self._context.now

    def failed(self, link: int, reason: str, now: float) -> list[Action]:
        """Close a link after invalid bytes."""
        self._context.clock.advance(now)
        self._shut(link, reason)
        return self._done()

    def closed(self, link: int, now: float) -> list[Action]:
        """Remove a closed connection."""
        self._context.clock.advance(now)
        self.links.remove(link)
        return self._done()

    def leave(self, now: float) -> list[Action]:
        """Ask other routers to use other paths; this one still forwards."""
        self._context.clock.advance(now)
        self._departure.leave()
        return self._done()

    def tick(self, now: float) -> list[Action]:
        """Do periodic work."""
        self._context.clock.advance(now)
        self.links.check_liveness()
        self._context.counters[Event.RECORDS_EXPIRED] += len(self.database.expire(self._context.now))
        self._traces.check()
        self._holders.check()
        self._requesters.check()
        self._confirmations.is_due = True
        self._departure.request_acks()
        return self._done()

    def enter(self, frame: frames.Deliver, now: float) -> list[Action]:
        """Forward a message that the gateway of this router received in another domain."""
        self._context.clock.advance(now)
        self._forwarder.enter(frame)
        actions = self._finish()
        self.gateway_port.discard()
        return actions

    # --- inside

    def _handle(self, link: Link, frame: frames.Frame) -> None:
        """Handle a frame that either side may send."""
        if isinstance(frame, frames.Hello):
            self.links.accept_hello(link, frame)
            if link.is_router:
                self._flooding.greet(link.id)
        elif link.hello is None:
            raise WireError(f"{type(frame).__name__} before Hello")
        elif isinstance(frame, frames.Ping):
            self._context.outbox.send(link.id, frames.Pong(frame.number))
        elif isinstance(frame, frames.Close):
            self.links.shut(link.id, f"closed by the peer: {frame.reason}"[:MAX_REASON_LENGTH])
        elif not isinstance(frame, frames.Pong):
            raise WireError(f"a {link.hello.role} must not send {type(frame).__name__}")

    def _packet(self, link: int, frame: frames.Packet) -> None:
        self._forwarder.packet(self.links.name(link), frame)

    def _unicast_frame(self, _: int, frame: frames.RecordAck | frames.AckRequest | frames.TraceReport) -> None:
        if frame.to != self._context.name:
            self._unicast.forward(frame)
        elif isinstance(frame, frames.RecordAck):
            self._confirmations.record(frame)
        elif isinstance(frame, frames.AckRequest):
            self._confirmations.answer(frame)
        else:
            self._traces.report(frame)

    def _slow_policy(self, link: int, frame: frames.SlowPolicy) -> None:
        known = self.links.get(link)
        if known is not None:
            known.drops_when_slow = frame.policy == "drop"

    def _status(self, link: int, frame: frames.StatusRequest) -> None:
        known = self.links.get(link)
        if known is not None:
            self._context.outbox.send(
                link, router_status(self, self._context, frame.number, is_whole=known.rights.watch)
            )

    def _shut(self, link: int, reason: str) -> None:
        self._context.counters[Event.LINKS_FAILED] += 1
        self.links.shut(link, reason)

    def _removed(self, link: int) -> None:
        self._flooding.remove_link(link)
        self._clients.remove(link)
        self._holders.remove_client(link)

    def _done(self) -> list[Action]:
        """Return the collected actions; hand over messages for other domains."""
        actions = self._finish()
        self.gateway_port.hand_over()
        return actions

    def _finish(self) -> list[Action]:
        """Originate due records, and return the collected actions."""
        self._own_records.originate()
        self._departure.check()
        self._flooding.request_missing()
        self._confirmations.check()
        return self._context.outbox.take()
