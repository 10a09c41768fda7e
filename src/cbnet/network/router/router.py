"""Router of a live network: a state machine without I/O. `cbnet.network` lists the calls of its transport."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cbnet._kernels.fast_path import LATE, PYTHON
from cbnet._kernels.link_output import LinkOutput
from cbnet.network.announce.announcements import NO_DATA, Announcements, NodeData
from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.durable.home_log.journal import JournalEvent, OpenJournal, Standby
from cbnet.network.forwarding.fast_forwarding import Progress
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.context import Action
from cbnet.network.link.counters import Event
from cbnet.network.link.link import Link
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.link_records import LinkRecords, OwnLinks
from cbnet.network.linkstate.versions import Version
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import LENGTH_BYTES, Data, WireError
from cbnet.network.pull.pull_router import PullRouter
from cbnet.network.router.clients import ClientHandler, Handler
from cbnet.network.router.durable_clients import DurableClientHandler
from cbnet.network.router.filter_quotas import FilterQuotas
from cbnet.network.router.inquiries import Inquiries
from cbnet.network.router.loss_notices import LossNotices
from cbnet.network.router.rights_review import RightsReview
from cbnet.network.router.status import filter_page, router_status, table_summary
from cbnet.network.security.access import OPEN_ACCESS, Access

ANY_NUMBER = (1 << 62) - 1  # of messages
_MAX_RUNS = 4  # of durable messages, before other links are served
_DURABLE_PUBLISH = bytes((frames.frame_number(frames.DurablePublish),))
# After these frames, nothing is due but forwarding them and writing the journal.
_MESSAGES = frozenset(
    (frames.Packet, frames.Publish, frames.DurablePublish, frames.Acknowledge, frames.Stored, frames.PacketRun)
)


class Router:
    """One router of a network."""

    def __init__(
        self,
        settings: Settings,
        incarnation: int,
        access: Access = OPEN_ACCESS,
        data: NodeData = NO_DATA,
        journal: OpenJournal | Standby | None = None,
    ) -> None:
        """Create a router; `incarnation` is a random number below 2**63, drawn anew at each start."""
        self._core = core = RouterCore(settings, incarnation, access)
        self.links, self.database, self.versions = core.links, core.database, core.versions
        self.fib, self.offer_fib = core.fib, core.offer_fib
        self._own_links = OwnLinks(core, self.links)
        self._link_records = LinkRecords(core, self.links, self.database, self._own_links)
        self.announcements = announcements = Announcements(core, data)
        self.subscriptions, self.offers = announcements.subscriptions, announcements.offers
        self.streams = announcements.streams
        self.forwarder = Forwarder(
            core,
            store=lambda packet, ids: self.durable.take(packet, ids),
            lose=lambda ids: self.durable.lose(ids),
        )
        self._fast = self.forwarder.fast
        self.pulls = PullRouter(core)
        self.durable = DurableRouter(core, announcements, self.forwarder, journal)
        self._groups = self.forwarder.groups
        self._floodings = {each.kind: each for each in (self._link_records, self.durable.records, self._groups)}
        quotas = FilterQuotas(self.links, announcements, self.durable)
        self._clients = ClientHandler(core, announcements, self.forwarder, self.pulls, self.durable, quotas)
        self._inquiries = Inquiries(core, lambda: router_status(self, core, 0))
        self._durable_clients = DurableClientHandler(core, self.durable, announcements.confirmations, quotas)
        self._review = RightsReview(core, announcements, self.durable, quotas)
        self._losses = LossNotices(core, self.subscriptions, self.durable.note_loss)
        self.versions.on_adopted.append(self._adopted)
        self.on_reload: Callable[[int, int], None] | None = None  # called with the link and number of a request
        self._is_due = False  # whether anything but messages was handled in this turn
        self._handlers = {"": {}, "router": self._router_handlers(), "client": self._client_handlers()}  # by role

    def _router_handlers(self) -> dict[type[Any], Handler]:
        return {
            frames.LinkRecord: lambda link, frame: self._link_records.record(link.id, frame),
            frames.HomeRecord: lambda link, frame: self.durable.records.record(link.id, frame),
            frames.GroupRecord: lambda link, frame: self._groups.record(link.id, frame),
            frames.RecordSummary: lambda link, frame: self._floodings[frame.kind].summary(link.id, frame),
            frames.RecordRequest: lambda link, frame: self._floodings[frame.kind].request(link.id, frame),
            frames.Packet: lambda link, frame: self.forwarder.packet(link.name, frame),
            frames.Announce: self.announcements.announcer.receive,
            frames.AnnounceAck: self.announcements.acknowledgements.receive,
            frames.Held: self.announcements.announcer.held,
            frames.TraceReport: self._unicast(self.forwarder.traces.report),
            frames.Inquiry: self._unicast(self._inquiries.answer),
            frames.InquiryReport: self._unicast(self._inquiries.pass_on),
            frames.Request: self.pulls.request,
            frames.ReplyFrame: self.pulls.reply,
            frames.NoItem: self._unicast(self.pulls.requesters.no_item),
            frames.HomeAck: self._unicast(self.durable.records.acknowledged),
            frames.Stored: self._unicast(self.durable.runs.stored),
            frames.PacketRun: lambda link, frame: self.durable.received_runs.receive(link, frame, self.durable.held),
        }

    def _unicast(self, handle: Callable[[Any], None]) -> Handler:
        """Return the handler of frames for one router, which forwards those for others."""
        return lambda _, frame: self._core.unicast.receive(frame, handle)

    def _client_handlers(self) -> dict[type[Any], Handler]:
        handlers: dict[type[Any], Handler] = {
            frames.OfferFrame: self._clients.offer,
            frames.Withdraw: self._clients.withdraw,
            frames.PullFrame: self._clients.pull,
            frames.Answer: self.pulls.holders.answer,
            frames.Subscribe: self._clients.subscribe,
            frames.Unsubscribe: self._clients.unsubscribe,
            frames.Publish: self._clients.publish,
            frames.Trace: self._clients.trace,
            frames.SlowPolicy: self._slow_policy,
            frames.StatusRequest: self._status,
            frames.SubscriptionRequest: self._inquire,
            frames.TableRequest: self._table,
            frames.FilterRequest: self._table,
            frames.DurableSubscribe: self._durable_clients.subscribe,
            frames.Replay: self._durable_clients.replay,
            frames.Acknowledge: self.durable.acknowledge,
            frames.DurablePublish: self._durable_clients.publish,
            frames.DurableQuery: self._durable_clients.query,
            frames.DurableRemove: self._durable_clients.remove,
            frames.DurableLimit: self._durable_clients.limit,
            frames.DurablePeek: self._durable_clients.peek,
            frames.DurableMove: self._durable_clients.move,
            frames.DurablePurge: self._durable_clients.purge,
            frames.ForgetHome: self._durable_clients.forget,
            frames.JournalBackup: self._durable_clients.back_up,
            frames.Reload: lambda link, frame: self._clients.reload(link, frame, self.on_reload),
        }
        return {kind: self._clients.refusing(handler) for kind, handler in handlers.items()}

    @property
    def settings(self) -> Settings:
        """The settings of this router."""
        return self._core.settings

    @property
    def counters(self) -> Counter[str]:
        """The counters of this router; see `link.counters`."""
        self._fast.count()
        return self._core.counters

    @property
    def version(self) -> Version:
        """The newest version of the topology."""
        return self.versions.newest

    @property
    def is_complete(self) -> bool:
        """Whether all streams of the newest topology have arrived."""
        return not self.versions.is_outdated and self.version.complete is not None

    @property
    def is_settled(self) -> bool:
        """Whether the newest version of the topology is complete, and the only one."""
        return self.is_complete and len(self.versions.kept) == 1

    @property
    def silent_neighbours(self) -> dict[str, float]:
        """The neighbours whose announcements have not arrived, each with the seconds since the last one."""
        return self.announcements.announcer.silent.seconds()

    @property
    def is_synchronised(self) -> bool:
        """Whether this router has received all records that its neighbours announced."""
        return self._link_records.is_synchronised

    @property
    def is_departure_known(self) -> bool:
        """Whether all reachable routers know that this one is leaving."""
        is_current = self.links.is_leaving and self._own_links.is_current
        return is_current and not self.announcements.confirmations.missing({})

    # --- events

    def opened(
        self,
        link: int,
        now: float,
        names: frozenset[str] | None = None,
        address: str = "",
        output: LinkOutput | None = None,
    ) -> list[Action]:
        """Handle a new connection.

        names: in the peer's certificate, None without TLS; output: where `forward` writes, None for an unlimited one.
        """
        self._begin(now)
        self._fast.open(self.links.open(link, names, address, output))
        return self._done()

    def received(self, link: int, frame: frames.Frame, now: float) -> list[Action]:
        """Handle a frame."""
        return self.received_all(link, (frame,), now)

    def received_all(
        self, link: int, all: Iterable[frames.Frame], now: float, *, in_steps: bool = False
    ) -> list[Action]:  # fmt: skip
        """Handle several frames.

        in_steps: make one step of a frame that takes long, and return with `steps` of the link set. The next calls,
        with no frames, make the other steps; until the last one, pass no frames of this link.
        """
        self._begin(now)
        known = self.links.get(link)
        if known is not None:  # else the link was closed meanwhile
            known.last_received = self._core.now
            if known.steps is not None:
                self._is_due = True
                known.proceed()
            handlers = self._handlers["" if known.hello is None else known.hello.role]
            try:
                for frame in all:
                    kind = type(frame)
                    handler = handlers.get(kind)
                    if handler is not None:
                        handler(known, frame)
                        if kind not in _MESSAGES:
                            self._is_due = True
                    else:
                        self._handle(known, frame)
                        self._is_due = True
                        handlers = self._handlers["" if known.hello is None else known.hello.role]
                    if known.steps is not None and not in_steps:
                        _finish(known)
                    if not known.is_open:
                        break
            except WireError as error:
                self._shut(link, error.reason, error.code)
                self._is_due = True
        if self._is_due or self._link_records.unconfirmed:
            return self._done()
        self.durable.flush()
        return self._core.outbox.take()

    def forward(
        self, link: int, data: Data, start: int, end: int, now: float, most: int = ANY_NUMBER
    ) -> Progress:  # fmt: skip
        """Handle plain messages in bytes received from a link, at most `most`, up to a frame that must be decoded."""
        self._begin(now)
        known = self.links.get(link)
        if known is not None and known.hello is not None:  # a Hello must be complete in time
            known.last_received = self._core.now
        if self._is_due or self._link_records.unconfirmed:  # work is due after the next frame
            return Progress(start, PYTHON)
        progress = self._fast.run(link, data, start, end, most)
        if known is None or not _is_durable(data, progress):
            return progress
        return self._forward_runs(known, data, progress, end, most)

    def _forward_runs(self, link: Link, data: Data, progress: Progress, end: int, most: int) -> Progress:
        """Store the durable messages in the bytes of a client in runs, and handle the plain ones between them."""
        written, actions, most = [*progress.written], [*progress.actions], most + link.traffic.messages_received
        for _ in range(_MAX_RUNS):
            left = most - link.traffic.messages_received
            stop = self._durable_clients.publish_run(link, data, progress.end, end, left)
            if stop == progress.end:
                return Progress(stop, PYTHON, written, actions)
            self.durable.flush()
            actions += self._core.outbox.take()
            progress = self._fast.run(link.id, data, stop, end, most - link.traffic.messages_received)
            written += progress.written
            actions += progress.actions
            if not _is_durable(data, progress):
                return Progress(progress.end, progress.outcome, written, actions)
        return Progress(progress.end, LATE, written, actions)

    def held(self, link: int, now: float) -> None:
        """Record that reading from a link is paused."""
        self._begin(now)
        known = self.links.get(link)
        if known is not None:
            known.last_received = self._core.now

    def failed(self, link: int, reason: str, code: ReasonCode, now: float) -> list[Action]:
        """Close a link, such as one that carried invalid bytes."""
        self._begin(now)
        self._shut(link, reason, code)
        return self._done()

    def closed(self, link: int, now: float) -> list[Action]:
        """Remove a closed connection."""
        self._begin(now)
        self.links.remove(link)
        return self._done()

    def leave(self, now: float) -> list[Action]:
        """Ask other routers to use other paths: all links get the maximum length. This one still forwards."""
        self._begin(now)
        self.links.leave()
        return self._done()

    def journalled(self, event: JournalEvent, now: float) -> list[Action]:
        """Handle an event of the journal."""
        self._begin(now)
        self.durable.journalled(event)
        return self._done()

    @property
    def replaying(self) -> Mapping[str, int]:
        """The payers for whose replays messages were read from the journal, with their weights."""
        return self.durable.replaying

    def replay(self, payer: str, now: float) -> list[Action]:
        """Pass some of these messages."""
        self._begin(now)
        self.durable.replay(payer)
        return self._done()

    def reload(self, settings: Settings, access: Access, now: float) -> list[Action]:
        """Apply new limits, link lengths and access rights; `RELOADED` names the settings that may differ."""
        self._begin(now)
        for link in self.links.all():
            _finish(link)  # a predicate that is being added has been compared with the former rights
        if settings.weights != self.settings.weights:
            self.links.change_lengths()
        has_other_keys = access.signatures != self.links.access.signatures
        self._core.settings = settings
        self.pulls.cache.evict()
        for link, before in self.links.change_access(access):
            self._durable_clients.review(link)
            self._review.check(link, before)
            self._fast.admit(link)
        self.durable.change_quotas()
        if has_other_keys:
            self._own_links.renew()
            for records in self._floodings.values():
                records.review()
        return self._done()

    def tick(self, now: float) -> list[Action]:
        """Do periodic work."""
        self._begin(now)
        self.links.check_liveness()
        self.forwarder.unconfirmed.ping()
        for records in self._floodings.values():
            records.check()
        self.forwarder.traces.check()
        self._inquiries.check()
        self.pulls.check()
        self._losses.check(self.version)
        self.durable.check()
        for number, frame in self.durable.unparked():
            link = self.links.get(number)
            if link is not None:
                self._handlers["client"][type(frame)](link, frame)
        self.announcements.check()
        for kind in (self.subscriptions, self.offers):
            kind.settle(self._core.now)
        return self._done()

    @property
    def is_announcing(self) -> bool:
        """Whether neighbours have many announcements to handle: the next steps of frames that take long should wait."""
        return self.announcements.announcer.pace.is_congested

    @property
    def has_work(self) -> bool:
        """Whether there is deferred work: very many filters are being added or removed."""
        return self.subscriptions.has_work or self.offers.has_work or self.announcements.announcer.has_work

    def work(self, now: float) -> list[Action]:
        """Do some of the deferred work, for a few milliseconds."""
        self._begin(now)
        for kind in (self.subscriptions, self.offers):
            kind.work()
        self.announcements.announcer.work()
        return self._done()

    def announce_gateway(self, path: tuple[str, ...]) -> None:
        """Announce the path of this router's gateway in the tree of gateways, at the next tick."""
        self._core.gateway_path = path

    def turn(self, calls: Iterable[Callable[[], None]], now: float) -> list[Action]:
        """Make the calls of this router's gateway in one turn."""
        self._begin(now)
        for call in calls:
            call()
        return self._done()

    # --- inside

    def _handle(self, link: Link, frame: frames.Frame) -> None:
        """Handle a frame that either side may send."""
        if isinstance(frame, frames.Hello):
            self.links.accept_hello(link, frame)
            self._fast.admit(link)
            if link.is_router:
                for records in self._floodings.values():
                    records.greet(link.id)
                self.announcements.open_session(link)
        elif link.hello is None:
            raise WireError(f"{type(frame).__name__} before Hello")
        elif isinstance(frame, frames.Ping):
            self._core.outbox.send(link.id, frames.Pong(frame.number))
        elif isinstance(frame, frames.Close):
            reason = f"closed by the peer: {frame.reason}"[:MAX_REASON_LENGTH]
            self.links.shut(link.id, reason, ReasonCode.OTHER)
        elif isinstance(frame, frames.Pong):
            self.links.accept_pong(link, frame)
            self.forwarder.unconfirmed.confirm(link.session, frame.number)
            self.announcements.announcer.pace.confirm(link.session, frame.number)
        else:
            raise WireError(f"a {link.hello.role} must not send {type(frame).__name__}")

    def _slow_policy(self, link: Link, frame: frames.SlowPolicy) -> None:
        link.drops_when_slow = frame.policy == "drop"

    def _status(self, link: Link, frame: frames.StatusRequest) -> None:
        if not link.rights.watch and frame.at in ("", self._core.name):
            self._core.outbox.send(link.id, router_status(self, self._core, frame.number, is_whole=False))
        else:
            self._inquire(link, frame)

    def _inquire(self, link: Link, frame: frames.StatusRequest | frames.SubscriptionRequest) -> None:
        link.rights.check_watch()
        self._inquiries.ask(link.id, frame)

    def _table(self, link: Link, frame: frames.TableRequest | frames.FilterRequest) -> None:
        link.rights.check_watch()
        answer: frames.Frame
        if isinstance(frame, frames.FilterRequest):
            answer = filter_page(self, frame)
        else:
            answer = table_summary(self, frame.number)
        self._core.outbox.send(link.id, answer)

    def _begin(self, now: float) -> None:
        """Begin a turn: a home whose lease has ended is lost before anything is done for it."""
        self._core.clock.advance(now)
        if self.durable.has_lost_home():
            self._is_due = True

    def _shut(self, link: int, reason: str, code: ReasonCode) -> None:
        self._core.counters[Event.LINKS_FAILED] += 1
        self.links.shut(link, reason, code)

    def _done(self) -> list[Action]:
        """Do the work due at the end of a turn, and return the collected actions."""
        self._is_due = False
        self._link_records.originate()
        self._groups.originate()
        for records in self._floodings.values():
            records.request_missing()
        if self.versions.is_due:
            self.versions.adopt()
        self.announcements.finish_turn()
        self.durable.flush()
        return self._core.outbox.take()

    def _adopted(self) -> None:
        self._is_due = True


def _finish(link: Link) -> None:
    """Make all remaining steps of the last frame of a link."""
    while link.steps is not None:
        link.proceed()


def _is_durable(data: Data, progress: Progress) -> bool:
    """Return whether the fast path has stopped at a durable message."""
    number = progress.end + LENGTH_BYTES + 1
    return progress.outcome == PYTHON and bytes(data[number : number + 1]) == _DURABLE_PUBLISH
