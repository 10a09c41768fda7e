"""A router over TCP: the state machine, a listening socket, and connections to neighbours.

    neighbours and clients ─► connections ─► `FairScheduler` ─► `router` ─► actions ─► connections

A slow consumer cannot exhaust the memory of the process: frames are queued for it up to a limit. Beyond it

    a neighbour     the feeders of the queue are blocked (`back_pressure`); records are still queued: if there are too
                    many, the link is closed, and its content is resynchronised when it is up again
    a client        messages are dropped, oldest first, and the client receives their number; or it is disconnected,
                    if it chose that policy

Routers grant each other credit for packets; back-pressure never stops reading from a neighbour. The
state machine is not aware of any of this.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import count
from ssl import SSLError
from time import thread_time

from cbnet._kernels.link_output import LinkOutput
from cbnet.network.announce.announcements import NO_DATA, NodeData
from cbnet.network.durable.home_log.journal import JournalEvent
from cbnet.network.errors import NotTrusted, Refused
from cbnet.network.forwarding.fast_forwarding import Progress
from cbnet.network.link.context import Action, Send
from cbnet.network.link.counters import Denial, DropReason, Event
from cbnet.network.link.link import Link
from cbnet.network.link.settings import Settings
from cbnet.network.logs import audit, log
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Close, Frame, Lost, Packet, PacketRun, Ping
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import Data
from cbnet.network.router.router import Router
from cbnet.network.security.access import OPEN_POLICY, Access, SecurityPolicy
from cbnet.network.security.tls import TlsContext, TlsContexts, dial, tls_error_text
from cbnet.network.transport.acceptor import Acceptor
from cbnet.network.transport.back_pressure import PacketFlow, QueueBudget, is_stalled
from cbnet.network.transport.backoff import Backoff
from cbnet.network.transport.connection import Connection
from cbnet.network.transport.event_log import EventLog
from cbnet.network.transport.fair_scheduler import ClientRates, FairScheduler
from cbnet.network.transport.journals.journal_place import JournalOwner, JournalPlace
from cbnet.network.transport.journals.leased_journal import open_journal
from cbnet.network.transport.memory_transport import PeerInfo, connect_in_memory
from cbnet.network.transport.processor_turns import ProcessorTurns

_TICK = 0.1  # seconds
_RETRY = 0.5  # seconds between checks whether a neighbour must be dialled
_DIAL_TIMEOUT = 3.0  # seconds
WINDOW = 1 << 18  # bytes of packets of one class that a neighbour may send without further credit; part of the protocol
MARK = 1 << 20  # bytes of one class queued for a neighbour, above which the feeders of the queue are blocked
MAX_QUEUED_MESSAGES = 1 << 24  # bytes of lossy frames queued for one neighbour or client
MAX_QUEUED_FOR_ACCOUNT = 1 << 26  # bytes of all clients of one account
MAX_QUEUED_PACKETS = 1 << 26  # bytes of one class for one neighbour, where the feeders of the queue cannot be blocked
MAX_QUEUED_FOR_CLIENT = 2 * MAX_QUEUED_MESSAGES  # bytes of all frames
MAX_QUEUED_FOR_NEIGHBOUR = 1 << 29  # bytes of all frames: more than the announcement of a large network


class TcpRouter:
    """A router over TCP, in the running event loop."""

    def __init__(
        self,
        settings: Settings,
        listen: Address,
        neighbours: Mapping[str, Address],
        security: SecurityPolicy = OPEN_POLICY,
        data: NodeData = NO_DATA,
        journal: JournalPlace | None = None,
    ) -> None:
        """Initialise with the address to listen on (port 0: any free port) and the neighbours to dial.

        journal: the place for durable subscriptions.
        """
        owner = JournalOwner(settings.network, settings.home or settings.name, settings.name)
        self._journal = None if journal is None else open_journal(journal, owner, is_synced=settings.sync == "always")
        opened = None if self._journal is None else self._journal.start(self._journalled)
        self.router = Router(settings, secrets.randbits(62), security.access, data, opened)
        self._contexts = security.contexts()
        self.address = listen
        self.neighbours = dict(neighbours)
        self.router.durable.records.expect_neighbours(is_expected=bool(neighbours))
        self.is_draining = False
        self.event_log = EventLog(self.router)
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._connections: dict[int, Connection] = {}  # by the numbers of their links
        self._rates = ClientRates()
        self.turns = ProcessorTurns()
        self._scheduler = FairScheduler(self, self._rates, self.turns)
        self._replaying: set[str] = set()  # payers whose replays have turns, or wait for one
        self._flow = PacketFlow(self._scheduler, MARK)
        self._slow: set[Connection] = set()  # clients with queued frames
        self._is_enforcing = False  # their budget, at the end of this iteration of the event loop
        self._budget = QueueBudget(MAX_QUEUED_MESSAGES, MAX_QUEUED_FOR_ACCOUNT, settings.queue_bytes)
        self._kept_alive = 0.0  # time of the last check for keepalives
        self._began = self.ticked = self._view_changed = self._loop.time()
        self._views = self.router.versions.changes
        self._ticking: asyncio.Task[None] | None = None
        self._dialling: dict[str, asyncio.Task[None]] = {}  # by neighbour
        self._dialled: dict[str, Connection] = {}  # by neighbour
        self._acceptor = Acceptor(self._connection, self._end_unknown, self._refused)
        self._apply_limits()
        self._is_working = False

    # --- start and stop

    async def start(self) -> None:
        """Listen, and keep dialling the neighbours."""
        self.address = await self._acceptor.listen(self.address)
        self.perform(self.router.turn([lambda: self.router.durable.set_address(str(self.address))], self.now))
        self._ticking = self._loop.create_task(self._tick())
        for name, address in self.neighbours.items():
            self._start_dialling(name, address)
        settings = self.router.settings
        self.event_log.log(logging.INFO, "started", name=settings.name, network=settings.network,
                           scheme=settings.routing, address=str(self.address))  # fmt: skip

    def reload(
        self, settings: Settings, neighbours: Mapping[str, Address], access: Access, contexts: TlsContexts
    ) -> None:
        """Apply a new configuration; links that it allows stay open. New certificates apply to new connections."""
        self._contexts = contexts
        before, self.neighbours = self.neighbours, dict(neighbours)
        for name in before:
            if neighbours.get(name) != before[name]:
                self._dialling.pop(name).cancel()
        self.perform(self.router.reload(settings, access, self.now))
        self._apply_limits()
        for link in self.router.links.all():
            self._rates.begin(link)
        for name in before.keys() - neighbours.keys():
            dialled = self._dialled.get(name)
            if dialled is not None:
                reason = f"{settings.name} does not have {name} as a neighbour any more"
                self.failed(dialled, reason, ReasonCode.DENIED)
        for name, address in neighbours.items():
            if name not in self._dialling:
                self._start_dialling(name, address)

    def connect(self, client: Connection, info: PeerInfo, *, is_listed: bool = True) -> Link:
        """Connect a client of this process, without a socket; return its link.

        info: returns transport information about the peer behind it; is_listed: whether the router's status shows the
        link.

        Raises `Refused` if the router accepts no connections.
        """
        if not self.is_listening:
            raise Refused(f"{self.router.settings.name} is stopping; use another router, or wait until it is back")
        connection = self._connection()
        connect_in_memory(client, connection, info)
        connection.link.is_listed = is_listed
        return connection.link

    async def drain(self, seconds: float) -> None:
        """Prepare a lossless stop: divert new messages, and send the queued ones, within `seconds`.

        No new connections are accepted. When all routers know that this one is leaving, and everything they sent before
        has arrived, the clients get a `Close`, then the neighbours; they close their links after their last frames.
        """
        began, self.is_draining = self.now, True
        end = began + seconds
        self.event_log.log(logging.INFO, "draining", max_seconds=seconds)
        self._acceptor.close()
        self.perform(self.router.leave(began))
        await self._until(lambda: self.router.is_departure_known, end)
        is_acknowledged = self.router.is_departure_known
        if self.router.links.routers():
            await asyncio.sleep(max(0.0, min(self.router.settings.overlap, end - self.now)))
        await self._close_links(self._clients(), end)
        await self._until(lambda: not self._pending(), end)
        for dialling in self._dialling.values():
            dialling.cancel()
        pending = self._pending()
        await self._close_links([*self._connections.values()], end)
        level = logging.INFO if is_acknowledged and not pending else logging.WARNING
        took = round(self.now - began, 2)
        self.event_log.log(level, "drained", seconds=took, is_acknowledged=is_acknowledged, bytes_left=pending)

    async def stop(self, reason: str = "the router stops") -> None:
        """Close all connections and stop."""
        tasks = [*self._dialling.values(), *([] if self._ticking is None else [self._ticking])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._acceptor.close()
        connections = list(self._connections.values())
        self._connections.clear()
        for connection in connections:
            connection.close(reason, ReasonCode.STOPPING)
        await asyncio.gather(*(connection.wait_closed(_TICK) for connection in connections))
        if self._journal is not None:
            await self._journal.close()
        self.event_log.stopped(self.uptime)

    # --- connection callbacks

    def opened(self, connection: Connection) -> None:
        """Register a new connection."""
        number, output = next(self._numbers), connection.output
        self._connections[number] = connection
        actions = self.router.opened(number, self.now, connection.names, connection.peer_address, output)
        link = self.router.links.get(number)
        assert link is not None
        connection.link = link
        connection.ended.add_done_callback(lambda _: self._acceptor.forget(connection))
        self.perform(actions)

    def received(self, connection: Connection, data: memoryview) -> None:
        """Schedule frames for the router."""
        self._scheduler.add(connection, data)

    def forward(self, connection: Connection, data: Data, start: int, most: int) -> Progress | None:
        """Pass bytes to the fast path of the router; return None if the connection was closed."""
        link = connection.link
        progress = self.router.forward(link.id, data, start, len(data), self.now, most)
        self.perform(progress.actions, connection)
        for number in progress.written:
            written = self._connections.get(number)
            if written is not None:
                written.written()
                self._flow.sent(written, connection)
        if not link.is_open:
            return None
        if link.is_router and progress.end > start:
            link.stall = None
            self._flow.handled(connection)
        return progress

    def process(self, connection: Connection, frames: list[Frame]) -> bool:
        """Pass frames to the router; return whether the connection is still open."""
        link = connection.link
        connection.count_received(frames)
        if frames and isinstance(frames[-1], Close):
            link.close_reason = frames[-1].reason
        if link.is_router:
            frames = self._flow.received(connection, frames)
        self.perform(self.router.received_all(link.id, frames, self.now, in_steps=True), connection)
        if connection.reader.skipped:
            self.router.counters[DropReason.PACKET_TOO_LONG.key] += connection.reader.skipped
            connection.reader.skipped = 0
        if self.router.has_work:
            self._begin_work()
        if not link.is_open:
            return False
        self.event_log.link_up(link, self.now)
        self._acceptor.forget(connection)
        connection.output.drops = link.drops_when_slow
        if link.is_router:
            connection.output.max_size = MAX_QUEUED_FOR_NEIGHBOUR
            self._flow.handled(connection)
        return True

    @property
    def is_announcing(self) -> bool:
        """Whether neighbours have many announcements to handle."""
        return self.router.is_announcing

    def failed(self, connection: Connection, reason: str, code: ReasonCode = ReasonCode.PROTOCOL) -> None:
        """Close a connection, such as one that carried invalid bytes."""
        if connection.link.is_open:  # otherwise an earlier frame has closed it
            self.perform(self.router.failed(connection.link.id, reason, code, self.now))

    def closed(self, connection: Connection) -> None:
        """Report the end of a connection to the router, after its last frames."""
        if not self._scheduler.defer_close(connection) and connection.link.id in self._connections:
            self._forget(connection, connection.end_reason)
            self.perform(self.router.closed(connection.link.id, self.now))

    def congested(self, connection: Connection, dropped: int) -> None:
        """Count dropped frames, of which a client is notified later; close a connection whose queue is overfull."""
        if dropped:
            is_router = connection.link.is_router
            reason = DropReason.NEIGHBOUR_QUEUE_FULL if is_router else DropReason.CLIENT_QUEUE_FULL
            self.router.counters[reason.key] += dropped
            connection.link.lost += 0 if is_router else dropped
        if connection.output.is_overfull:
            self._too_slow(connection)
        elif not connection.link.is_router:
            self._slow.add(connection)
            if not self._is_enforcing:
                self._is_enforcing = True
                self._loop.call_soon(self._enforce_budget)

    def _enforce_budget(self) -> None:
        """Keep what is queued within the budgets, at the end of each iteration of the event loop that adds to it."""
        self._is_enforcing = False
        self._slow = {connection for connection in self._slow if connection.queued}
        self._budget.enforce(self._slow)

    def relieved(self, connection: Connection) -> None:
        """Notify a client of dropped messages; send queued packets to a neighbour that reads again."""
        lost, connection.link.lost = connection.link.lost, 0
        if lost:
            connection.send(Lost(lost))
        self._flow.relieved(connection)

    # --- actions

    def perform(self, actions: Iterable[Action], cause: Connection | None = None) -> None:
        """Perform the actions of the router; cause: the connection whose frames caused them."""
        connections = self._connections
        for action in actions:
            connection = connections.get(action.link)
            if connection is None:
                continue
            if type(action) is Send:
                connection.send(action.frame)
                if isinstance(action.frame, Packet | PacketRun) or connection.output.size > MARK:
                    self._flow.sent(connection, cause)
            else:
                assert not isinstance(action, Send)
                self._forget(connection, action.reason)
                connection.close(action.reason, action.code)

    # --- state

    @property
    def now(self) -> float:
        """The time of the event loop, in seconds."""
        return self._loop.time()

    @property
    def uptime(self) -> float:
        """Seconds since the router was created."""
        return self.now - self._began

    @property
    def view_age(self) -> float:
        """Seconds since the set of reachable routers and links changed."""
        return self.now - self._view_changed

    @property
    def is_listening(self) -> bool:
        """Whether the router accepts connections."""
        return self._acceptor.is_listening

    @property
    def server_context(self) -> TlsContext | None:
        """The TLS context of accepted connections; None: no TLS."""
        return self._contexts.server

    # --- internals

    def _journalled(self, event: JournalEvent) -> None:
        self.perform(self.router.journalled(event, self.now))
        for payer in self.router.replaying.keys() - self._replaying:
            self._replaying.add(payer)
            self._replay(payer)

    def _replay(self, payer: str) -> None:
        """Pass messages of the history that were read for a payer, in its turns."""
        while (weight := self.router.replaying.get(payer)) is not None:
            if not self.turns.has_time(payer):
                self.turns.wait(payer, partial(self._replay, payer))
                return
            began = thread_time()
            self.perform(self.router.replay(payer, self.now))
            self.turns.charge(payer, weight, thread_time() - began)
        self._replaying.remove(payer)

    async def _until(self, condition: Callable[[], bool], end: float) -> None:
        """Wait for a condition, at most until the time `end`."""
        while not condition() and self.now < end:
            await asyncio.sleep(_TICK / 5)

    async def _close_links(self, connections: Collection[Connection], end: float) -> None:
        """Send a `Close` to peers, and wait until they have closed their links."""
        for connection in connections:
            connection.send(Close("the router is draining"))
        await self._until(lambda: not any(each.link.is_open for each in connections), end)  # their frames are processed

    def _clients(self) -> list[Connection]:
        return [each for each in self._connections.values() if not each.link.is_router]

    def _pending(self) -> int:
        return sum(connection.pending for connection in self._connections.values())

    def _apply_limits(self) -> None:
        settings, context = self.router.settings, self._contexts.server
        self._budget.total = settings.queue_bytes
        self._acceptor.most, self._acceptor.most_per_address = settings.handshakes, settings.handshakes_per_address
        self._acceptor.context = context
        if context is not None:
            context.on_failure = self._not_trusted

    def _end_unknown(self, connection: Connection, reason: str) -> None:
        if connection.is_open:
            self.failed(connection, reason)

    def _refused(self, address: str, reason: str) -> None:
        self.router.counters[Event.LINKS_FAILED] += 1
        self.event_log.refused(address, reason)
        audit("connect", reason, client="", address=address)

    def _not_trusted(self, reason: str) -> None:
        self.router.counters[Denial.TLS.key] += 1
        audit("tls", reason, client="", address="")
        log(logging.WARNING, "not trusted", reason=reason)

    def _connection(self) -> Connection:
        output = LinkOutput(MAX_QUEUED_MESSAGES, MAX_QUEUED_FOR_CLIENT, WINDOW, MARK, MAX_QUEUED_PACKETS)
        return Connection(self, output)

    def _too_slow(self, connection: Connection) -> None:
        self.router.counters[Event.LINKS_TOO_SLOW] += 1
        self.failed(connection, "the peer reads too slowly", ReasonCode.SLOW)

    def _forget(self, connection: Connection, reason: str) -> None:
        """Remove a closed connection; the router removes its link."""
        del self._connections[connection.link.id]
        self._slow.discard(connection)
        self.event_log.link_down(connection.link, reason, self.now)
        for part in (self._scheduler, self._flow):
            part.forget(connection)
        self._begin_work()

    def _begin_work(self) -> None:
        if not self._is_working:
            self._is_working = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        """Run some deferred work of the router, and the rest after other connections have been served."""
        self._is_working = self.router.has_work
        if self._is_working:
            self.perform(self.router.work(self.now))
            self._loop.call_soon(self._work)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            now = self.now
            for connection in self._scheduler.waiting:
                self.router.held(connection.link.id, now)
            self._keep_alive(now)
            self.perform(self.router.tick(now))
            self._begin_work()
            self._budget.enforce(self._clients())
            for connection in [*self._connections.values()]:
                if connection.link.is_router and is_stalled(connection, now, self.router.settings.silence):
                    self._too_slow(connection)
            self.event_log.check(now)
            if self.router.versions.changes != self._views:
                self._views, self._view_changed = self.router.versions.changes, now
            self.ticked = now

    def _keep_alive(self, now: float) -> None:
        """Send unsolicited Pings over idle connections: the peers' own Pings may be queued behind many frames."""
        if now - self._kept_alive < self.router.settings.heartbeat:
            return
        self._kept_alive = now
        for connection in self._connections.values():
            if connection.traffic.sent == connection.link.sent_before:
                connection.send(Ping(0))
            connection.link.sent_before = connection.traffic.sent

    def _start_dialling(self, name: str, address: Address) -> None:
        self._dialling[name] = self._loop.create_task(self._dial(name, address))

    async def _dial(self, name: str, address: Address) -> None:
        """Keep a connection to a neighbour open, unless it has dialled this router."""
        backoff, is_first = Backoff(), True
        while True:
            if self.router.links.to(name) is not None:
                await asyncio.sleep(_RETRY)
                continue
            try:
                async with asyncio.timeout(_DIAL_TIMEOUT):
                    connection = await dial(self._connection, address, self._contexts.client)
                began = self.now
                self._dialled[name] = connection
                await connection.ended
                if isinstance(connection.error, SSLError):
                    self._not_trusted(f"to {name}: {tls_error_text(connection.error, str(address))}")
                if self.now - began > _DIAL_TIMEOUT:
                    backoff.reset()
            except NotTrusted as error:
                self._not_trusted(f"to {name}: {error}")
                is_first = True
            except OSError as error:
                self.event_log.unreachable(name, address, error, is_first=is_first)
                is_first = False
            await asyncio.sleep(backoff.next())
