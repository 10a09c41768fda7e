"""Router: what does a router do when something happens to it? A state machine without input, output or clock.

    opened(link, now, names)     a connection is there, dialled or accepted; the names are those in the certificate of
                                 the other side, if it was asked for one
    received(link, frame, now)   a frame came over it; `received_all`: several, which is faster
    held(link, now)              nothing is read from it for a while: that it is silent says nothing
    failed(link, reason, now)    what came over it is no frame
    closed(link, now)            the connection is gone
    leave(now)                   it shall end soon: others are told to take other ways
    tick(now)                    some time has passed: call it a few times in a second

Each returns what is to be done now, in this order: frames to send, links to close. A link is any number that was
not used before. An error of the other side closes its link, with the reason; it never raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from cbnet.language.predicate import Predicate
from cbnet.network.announce.announcement import Announcement
from cbnet.network.announce.initial_predicates import InitialPredicates
from cbnet.network.announce.node_predicates import read_filters
from cbnet.network.announce.subscriptions import LOADED, Subscriptions
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
        self, settings: Settings, life: int, access: Access = OPEN_ACCESS, beginning: InitialState = EMPTY_STATE
    ) -> None:  # fmt: skip
        """Take a number, below 2**63, that no earlier life of this router had: a random one; and who may link.

        beginning: what a network that was made from data begins with.
        """
        self._context = context = RouterContext(settings, life)
        self.links = LinkTable(context, self._forget, access)
        self.database = Database(settings.lifetime, beginning.loaded_by(settings.name, life))
        self._views = ViewHistory(settings, self.database, beginning.first, context.counters)
        self._unicast = UnicastForwarder(context, self._views, self.links)
        self._flooding = Flooding(context, self.database, self.links)
        self.announcement = Announcement(is_limited=settings.is_limited)
        self.subscriptions = Subscriptions(self.announcement)
        self.offers = Subscriptions(Announcement(is_limited=settings.is_limited))
        announced = {RecordKind.PREDICATE: self.announcement, RecordKind.OFFERS: self.offers.announcement}
        self._origin = OwnRecords(context, self.database, self.links, announced, self._flooding)
        self._confirmations = Confirmations(context, self.database, self._views, self._unicast)
        self._leaving = Departure(self.links, self._origin, self._confirmations)
        self._traces = Traces(context)
        hops = TraceReporter(settings.name, self.database.predicates, self.subscriptions, self.links)
        self._forwarder = Forwarder(
            context, self._views, self.links, self.subscriptions, self._unicast, hops, self._traces
        )
        self.cache = ReplyCache(context)
        self._requesters = Requesters(context)
        self._holders = Holders(context, self.links, self.offers)
        self._pulls = PullRouter(
            context, self.database, self._views, self._unicast, self._holders, self._requesters, self.cache
        )  # fmt: skip
        self._clients = ClientHandler(
            context, self.links, self.subscriptions, self.offers, self._origin, self._confirmations, self._forwarder,
            self._traces, self._requesters, self._pulls,
        )  # fmt: skip
        if beginning.loaded is not None:
            self._load(beginning.loaded)
        self.gateway_port = GatewayPort(context, self._views, self.database, self.subscriptions)
        self._flooding.on_own = self._origin.met
        self._flooding.on_change = self._confirmations.installed
        self._handlers: dict[str, dict[type[Any], Handler]] = {  # by the role of the other side
            "": {},
            "router": {
                frames.LinkRecord: self._flooding.links,
                frames.FilterRecord: self._flooding.whole,
                frames.FilterChange: self._flooding.change,
                frames.RecordSummary: self._flooding.summary,
                frames.RecordRequest: self._flooding.want,
                frames.Packet: self._packet,
                frames.RecordAck: self._addressed,
                frames.AckRequest: self._addressed,
                frames.TraceReport: self._addressed,
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
                frames.SlowPolicy: self._if_slow,
                frames.StatusRequest: self._status,
            },
        }

    def _load(self, loaded: InitialPredicates) -> None:
        """Begin with the predicate of this node, which the others have already."""
        own = read_filters(loaded.written[self._context.name])
        if own:
            self.subscriptions.set(LOADED, 0, Predicate(own.values()))
        self.announcement.others_have(own.values())
        self._origin.loaded()

    @property
    def settings(self) -> Settings:
        """What this router was told."""
        return self._context.settings

    @property
    def counters(self) -> Counter[str]:
        """What has happened, and how often."""
        return self._context.counters

    @property
    def view(self) -> View:
        """The network as this router sees it now."""
        return self._views.current()

    @property
    def is_overlapping(self) -> bool:
        """Whether the topology has just changed, so that messages also take the ways of before."""
        self._views.current()
        return bool(self._views.earlier(self._context.now))

    @property
    def view_changes(self) -> int:
        """How many views of the network this router has had."""
        return self._views.changes

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has once had all that its neighbours, at least one, had told it of."""
        return self._flooding.is_synchronised

    @property
    def is_departure_known(self) -> bool:
        """Whether all routers that can be reached know that this one leaves."""
        return self._leaving.is_known

    # --- what happens

    def opened(self, link: int, now: float, names: frozenset[str] | None = None) -> list[Action]:
        """Begin to speak over a new connection; names: those in the certificate of the other side, None without TLS."""
        self._context.clock.advance(now)
        self.links.open(link, names)
        return self._done()

    def received(self, link: int, frame: frames.Frame, now: float) -> list[Action]:
        """Do what a frame asks for."""
        return self.received_all(link, (frame,), now)

    def received_all(self, link: int, all: Iterable[frames.Frame], now: float) -> list[Action]:
        """Do what some frames ask for, one after the other."""
        self._context.clock.advance(now)
        known = self.links.get(link)
        if known is not None:  # else it was closed, and this was still on its way
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
        """Take note that nothing is read from a link at the moment."""
        self._context.clock.advance(now)
        known = self.links.get(link)
        if known is not None:
            known.last_received = self._context.now

    def failed(self, link: int, reason: str, now: float) -> list[Action]:
        """Close a link whose bytes are no frames."""
        self._context.clock.advance(now)
        self._shut(link, reason)
        return self._done()

    def closed(self, link: int, now: float) -> list[Action]:
        """Forget a connection that is gone."""
        self._context.clock.advance(now)
        self.links.remove(link)
        return self._done()

    def leave(self, now: float) -> list[Action]:
        """Tell the others that messages should take other ways; all goes on as before."""
        self._context.clock.advance(now)
        self._leaving.leave()
        return self._done()

    def tick(self, now: float) -> list[Action]:
        """Do what is due."""
        self._context.clock.advance(now)
        self.links.check_liveness()
        self._context.counters[Event.RECORDS_EXPIRED] += len(self.database.expire(self._context.now))
        self._traces.check()
        self._holders.check()
        self._requesters.check()
        self._confirmations.is_due = True
        self._leaving.remind()
        return self._done()

    def enter(self, frame: frames.Deliver, now: float) -> list[Action]:
        """Take a message of another domain, which the gateway that this router belongs to has got there."""
        self._context.clock.advance(now)
        self._forwarder.enter(frame)
        return self.gateway_port.kept(self._finish())

    # --- inside

    def _handle(self, link: Link, frame: frames.Frame) -> None:
        """Do what a frame asks for that either side may send."""
        if isinstance(frame, frames.Hello):
            self.links.accept_hello(link, frame)
            if link.is_router:
                self._flooding.greet(link.id)
        elif link.hello is None:
            raise WireError(f"a {type(frame).__name__} before the Hello")
        elif isinstance(frame, frames.Ping):
            self._context.outbox.send(link.id, frames.Pong(frame.number))
        elif isinstance(frame, frames.Close):
            self.links.shut(link.id, f"you have closed it: {frame.reason}"[:MAX_REASON_LENGTH])
        elif not isinstance(frame, frames.Pong):
            raise WireError(f"a {link.hello.role} may not send a {type(frame).__name__}")

    def _packet(self, link: int, frame: frames.Packet) -> None:
        self._forwarder.packet(self.links.name(link), frame)

    def _addressed(self, _: int, frame: frames.RecordAck | frames.AckRequest | frames.TraceReport) -> None:
        if frame.to != self._context.name:
            self._unicast.pass_on(frame)
        elif isinstance(frame, frames.RecordAck):
            self._confirmations.seen(frame)
        elif isinstance(frame, frames.AckRequest):
            self._confirmations.asked(frame)
        else:
            self._traces.report(frame)

    def _if_slow(self, link: int, frame: frames.SlowPolicy) -> None:
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

    def _forget(self, link: int) -> None:
        self._flooding.closed(link)
        self._clients.closed(link)
        self._holders.closed(link)

    def _done(self) -> list[Action]:
        """Return all that is to be done, but what goes to other domains."""
        return self.gateway_port.passed_on(self._finish())

    def _finish(self) -> list[Action]:
        """Make the records that are due, and return all that is to be done."""
        self._origin.make()
        self._leaving.check()
        self._flooding.ask()
        self._confirmations.check()
        return self._context.outbox.take()
