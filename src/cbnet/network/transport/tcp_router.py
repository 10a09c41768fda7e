"""TCP: how does a router run in a process? Its state machine, a listening socket, and connections to neighbours.

    neighbours and clients ─► connections ─► frames ─► `router` ─► actions ─► connections

Who does not read can not make this process grow: frames for it wait, up to a limit. Then

    a neighbour     packets are dropped, oldest first; records are not: when too many wait, the link is closed, and
                    what is lacking is told anew when it is there again
    a client        messages are dropped, oldest first, and it is told how many; or it is disconnected, if it wants that

While packets for a neighbour wait, nothing is read from clients that send: they wait too, and nothing is dropped for
what this router alone takes in too fast.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from itertools import count
from ssl import SSLError
from typing import Any, NamedTuple

from cbnet.errors import InputError
from cbnet.network.errors import NotTrusted
from cbnet.network.link.actions import Action, Send
from cbnet.network.link.counters import Denial, DropReason, Event
from cbnet.network.link.links import Link
from cbnet.network.link.settings import Settings
from cbnet.network.link.traffic import LinkTraffic
from cbnet.network.linkstate.flooding import MAX_NODE_BYTES
from cbnet.network.logs import log
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Close, Frame, Lost, Ping
from cbnet.network.router.initial_state import EMPTY_STATE, InitialState
from cbnet.network.router.router import Router
from cbnet.network.security.policy import OPEN_POLICY, SecurityPolicy
from cbnet.network.security.tls import HANDSHAKE_TIMEOUT, client_context, dial, server_context, tls_error_text
from cbnet.network.transport.backoff import Backoff
from cbnet.network.transport.connection import Connection
from cbnet.network.transport.event_log import EventLog
from cbnet.network.transport.fair_scheduler import FairScheduler
from cbnet.network.transport.interface_traffic import Interface, InterfaceTraffic
from cbnet.network.transport.send_queue import SendQueue

_TICK = 0.1  # seconds
_RETRY = 0.5  # seconds before it is looked again whether a neighbour must be dialled
_PATIENCE = 3.0  # seconds for a neighbour to answer
PRESSURE = 1 << 20  # bytes that wait for a neighbour before clients must wait
MOST_STRANGERS = 1_000  # connections over which nothing has come yet
MOST_WAITING = 1 << 24  # bytes of messages that wait for one neighbour or client
MOST_ANSWERS = 2 * MOST_WAITING  # bytes of all that waits for one client
MOST_RECORDS = MAX_NODE_BYTES + (1 << 26)  # bytes of all that waits for one neighbour: more than one predicate


class _Stall(NamedTuple):
    """How much of what was written a neighbour had not taken, and since when."""

    unsent: int  # bytes
    since: float


class TcpRouter:
    """A router over TCP, in the event loop that runs."""

    def __init__(
        self,
        settings: Settings,
        listen: Address,
        neighbours: Mapping[str, Address],
        security: SecurityPolicy = OPEN_POLICY,
        beginning: InitialState = EMPTY_STATE,
    ) -> None:
        """Take where to listen, 0 for any port that is free, and where the neighbours are that are to be dialled."""
        life = secrets.randbits(62) if beginning.life is None else beginning.life
        self.router = Router(settings, life, security.access, beginning)
        self._security = security
        self.address = listen
        self.neighbours = neighbours
        self.is_draining = False
        self.event_log = EventLog(self.router)
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._connections: dict[int, Connection] = {}
        self._ids: dict[Connection, int] = {}
        self._pressing: dict[Connection, _Stall] = {}  # neighbours for which much waits
        self._held: set[Connection] = set()  # clients from which nothing is read meanwhile
        self._turns = FairScheduler(self._give, self.closed, self._who)
        self._strangers: dict[Connection, None] = {}  # that have not said who they are, oldest first
        self._kept_alive = 0.0  # when all were last shown that this side is there
        self._sent: dict[Connection, int] = {}  # bytes until then
        self._untold: dict[Connection, int] = {}  # messages that were dropped, and the client does not know
        self._links: dict[Connection, Link] = {}
        self._interfaces = InterfaceTraffic()
        self._began = self.ticked = self._view_changed = self._loop.time()
        self._views = self.router.view_changes
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    # --- start and end

    async def start(self) -> None:
        """Listen, and dial the neighbours from now on."""
        try:
            self._server = await self._loop.create_server(
                self._connection, self.address.host, self.address.port, **self._accepting()
            )
        except OSError as error:
            raise InputError(f"cannot listen at {self.address}: {error.strerror}", hint="choose another port") from None
        host, port, *_ = self._server.sockets[0].getsockname()
        self.address = Address(host, port)
        tasks = [self._tick(), *(self._dial(name, where) for name, where in self.neighbours.items())]
        self._tasks = [self._loop.create_task(task) for task in tasks]
        self.event_log.started(self.address)

    async def drain(self, seconds: float) -> None:
        """Prepare to end so that nothing is lost: let messages take other ways, and what is here leave.

        It takes no new connections. When all know that it leaves, and what they sent before that has come, its clients
        are told, then its neighbours; they end their links, after what they have sent. All in so many seconds at most.
        """
        began, self.is_draining = self.now, True
        end = began + seconds
        self.event_log.draining(seconds)
        if self._server is not None:
            self._server.close()
        self.perform(self.router.leave(began))
        await self._until(lambda: self.router.is_departure_known, end)
        is_known = self.router.is_departure_known
        if self.router.links.routers():
            await asyncio.sleep(max(0.0, min(self.router.settings.overlap, end - self.now)))
        await self._part([each for each, link in self._links.items() if not link.is_router], end)
        await self._until(lambda: not self._unread(), end)
        for dialling in self._tasks[1:]:
            dialling.cancel()
        unread = self._unread()
        await self._part(list(self._links), end)
        self.event_log.drained(self.now - began, is_known=is_known, waiting=unread)

    async def stop(self, reason: str = "the router ends") -> None:
        """Say goodbye to all, and end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        open_ones = list(self._connections.values())
        self._connections.clear()
        for connection in open_ones:
            connection.close(reason)
        await asyncio.gather(*(connection.gone(_TICK) for connection in open_ones))
        self.event_log.ended(self.uptime)

    # --- what happens to connections

    def opened(self, connection: Connection) -> None:
        """Take a new connection."""
        number = next(self._numbers)
        self._connections[number] = connection
        self._ids[connection] = number
        self.perform(self.router.opened(number, self._now, connection.names))
        link = self._links[connection] = self._link(connection)
        link.traffic = connection.traffic
        self._strangers[connection] = None
        if len(self._strangers) > MOST_STRANGERS:
            self.failed(next(iter(self._strangers)), "too many others have come, and you have not said who you are")

    def received(self, connection: Connection, frames: list[Frame]) -> None:
        """Give frames to the router, now or when others had their turn."""
        self._turns.take(connection, frames)

    def _give(self, connection: Connection, frames: list[Frame]) -> bool:
        """Give frames to the router; return whether the connection is still there."""
        number = self._ids[connection]
        if frames and isinstance(frames[-1], Close):
            self.event_log.said(number, frames[-1].reason)
        self.perform(self.router.received_all(number, frames, self._now))
        self.router.counters[DropReason.PACKET_TOO_LONG.key] += connection.taken_skipped()
        link = self.router.links.get(number)
        if link is None:
            return False
        self.event_log.met(number, link, connection, self._now)
        self._strangers.pop(connection, None)
        connection.waiting.drops = link.is_dropped_for
        if link.is_router:
            connection.waiting.most = MOST_RECORDS
        elif self._pressing:
            self._held.add(connection)
            connection.hold()
        return True

    def failed(self, connection: Connection, reason: str) -> None:
        """Tell the router that bytes came that are no frame."""
        number = self._ids.get(connection)
        if number is not None:  # else a frame before has closed it
            self.perform(self.router.failed(number, reason, self._now))

    def closed(self, connection: Connection) -> None:
        """Tell the router that a connection is gone, after all that came over it."""
        if self._turns.ended(connection):
            return
        number = self._forget(connection, connection.ending)
        if number is not None:
            self.perform(self.router.closed(number, self._now))

    def dropped(self, connection: Connection, count: int) -> None:
        """Count what was dropped, to tell a client of it later."""
        if self._link(connection).is_router:
            self.router.counters[DropReason.NEIGHBOUR_QUEUE_FULL.key] += count
        else:
            self.router.counters[DropReason.CLIENT_QUEUE_FULL.key] += count
            self._untold[connection] = self._untold.get(connection, 0) + count

    def overflowed(self, connection: Connection) -> None:
        """Close a connection for which too much waits."""
        self.router.counters[Event.LINKS_TOO_SLOW] += 1
        self.perform(self.router.failed(self._ids[connection], "you read too slowly", self._now))

    def relieved(self, connection: Connection) -> None:
        """Tell a client what was dropped; let clients go on that waited for a neighbour."""
        lost = self._untold.pop(connection, 0)
        if lost:
            connection.send(Lost(lost))
        self._pressing.pop(connection, None)
        if not self._pressing:
            self._release()

    # --- what is to be done

    def perform(self, actions: Iterable[Action]) -> None:
        """Do what the router says."""
        connections = self._connections
        for action in actions:
            connection = connections.get(action.link)
            if connection is None:
                continue
            if type(action) is Send:
                connection.send(action.frame)
                if connection.waiting.size > PRESSURE:
                    self._press(connection)
            else:
                assert not isinstance(action, Send)
                self._forget(connection, action.reason)
                connection.close(action.reason)

    # --- how it is

    @property
    def now(self) -> float:
        """The time of its event loop, in seconds."""
        return self._loop.time()

    @property
    def uptime(self) -> float:
        """Seconds since it was made."""
        return self.now - self._began

    @property
    def view_age(self) -> float:
        """Seconds since the network that can be reached has changed."""
        return self.now - self._view_changed

    @property
    def is_listening(self) -> bool:
        """Whether it takes connections."""
        return self._server is not None and self._server.is_serving()

    def interfaces(self) -> dict[Interface, LinkTraffic]:
        """Return what went over each interface since the start."""
        return self._interfaces.all(self._links.values())

    # --- inside

    async def _until(self, is_so: Callable[[], bool], end: float) -> None:
        """Wait for something, but not beyond a time."""
        while not is_so() and self.now < end:
            await asyncio.sleep(_TICK / 5)

    async def _part(self, connections: Collection[Connection], end: float) -> None:
        """Tell others that this router leaves, and wait until they have ended their links."""
        for connection in connections:
            connection.send(Close("the router leaves"))
        await self._until(lambda: self._links.keys().isdisjoint(connections), end)  # and all that came is taken

    def _unread(self) -> int:
        return sum(connection.unread for connection in self._links)

    @property
    def _now(self) -> float:
        return self._loop.time()

    def _accepting(self) -> dict[str, Any]:
        """Return how connections are protected that others make."""
        if self._security.tls is None:
            return {}
        context = server_context(self._security.tls, needs_certificate=self._security.needs_client_certificates)
        context.on_failure = self._not_trusted
        return {"ssl": context, "ssl_handshake_timeout": HANDSHAKE_TIMEOUT}

    def _not_trusted(self, why: str) -> None:
        self.router.counters[Denial.TLS.key] += 1
        log(logging.WARNING, "not trusted", reason=why)

    def _connection(self) -> Connection:
        return Connection(self, SendQueue(MOST_WAITING, MOST_ANSWERS))

    def _link(self, connection: Connection) -> Link:
        found = self.router.links.get(self._ids[connection])
        assert found is not None
        return found

    def _who(self, connection: Connection) -> Hashable:
        """Return what all links of a client that is known have in common."""
        return self._link(connection).account or connection

    def _press(self, connection: Connection) -> None:
        link = self.router.links.get(self._ids.get(connection, 0))
        if link is not None and link.is_router and connection not in self._pressing:
            self._pressing[connection] = _Stall(connection.unsent, self._now)

    def _forget(self, connection: Connection, reason: str) -> int | None:
        number = self._ids.pop(connection, None)
        if number is not None:
            self._connections.pop(number, None)
            self._interfaces.gone(self._links.pop(connection))
            self.event_log.down(number, connection.other_side, reason, self._now)
        self._untold.pop(connection, None)
        self._held.discard(connection)
        self._turns.forget(connection)
        self._strangers.pop(connection, None)
        self._pressing.pop(connection, None)
        if not self._pressing:
            self._release()
        return number

    def _release(self) -> None:
        for connection in self._held:
            connection.release()
        self._held.clear()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            now = self._now
            for connection in (*self._held, *self._turns.late):
                self.router.held(self._ids[connection], now)
            self._keep_alive(now)
            self.perform(self.router.tick(now))
            self._end_stalls(now)
            self.event_log.check(now)
            if self.router.view_changes != self._views:
                self._views, self._view_changed = self.router.view_changes, now
            self.ticked = now

    def _keep_alive(self, now: float) -> None:
        """Show all that this side is there, unasked: what they ask may stand behind much that is to be read before."""
        if now - self._kept_alive < self.router.settings.heartbeat:
            return
        self._kept_alive = now
        for connection in self._connections.values():
            if connection.traffic.sent == self._sent.get(connection):
                connection.send(Ping(0))
        self._sent = {connection: connection.traffic.sent for connection in self._connections.values()}

    def _end_stalls(self, now: float) -> None:
        """Close the links to neighbours that read nothing at all: clients must not wait for them."""
        for connection, stall in list(self._pressing.items()):
            if connection.unsent < stall.unsent:
                self._pressing[connection] = _Stall(connection.unsent, now)
            elif now - stall.since > self.router.settings.dead:
                self.overflowed(connection)

    async def _dial(self, name: str, where: Address) -> None:
        """Keep a connection to a neighbour, unless it has dialled us."""
        backoff, is_first = Backoff(), True
        tls = self._security.tls
        context = None if tls is None else client_context(tls, checks_host=False)  # its name is checked by the Hello
        while True:
            if self.router.links.to(name) is not None:
                await asyncio.sleep(_RETRY)
                continue
            try:
                async with asyncio.timeout(_PATIENCE):
                    connection = await dial(self._connection, where, context)
                began = self._now
                await connection.ended
                if isinstance(connection.error, SSLError):
                    self._not_trusted(f"to {name}: {tls_error_text(connection.error, str(where))}")
                if self._now - began > _PATIENCE:
                    backoff.reset()
            except NotTrusted as error:
                self._not_trusted(f"to {name}: {error}")
                is_first = True
            except OSError as error:
                self.event_log.unreachable(name, where, error, is_first=is_first)
                is_first = False
            await asyncio.sleep(backoff.next())
