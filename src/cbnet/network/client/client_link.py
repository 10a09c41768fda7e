"""The connection of a client to a router: reconnection, and answers to requests.

    dialled ──► Hello and Ping sent ──► the Pong shows that the Hello was accepted ──► admitted ──► closed ──► dialled …

A closed connection is replaced by one to the next router of the list. If all routers refuse the client, it gives up.
Unanswered calls fail with the connection, except subscriptions and offers, which are sent again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from ssl import SSLError
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cbnet._kernels.delivery import Delivery, DeliveryReader
from cbnet._kernels.link_output import LinkOutput
from cbnet.errors import CbnetError, InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.network.client.client_calls import ClientCalls
from cbnet.network.client.client_events import ClientEvent, EventKind, Newest
from cbnet.network.errors import NetworkError, NotConnected, NotTrusted, Refused
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.frames import Deliver, Frame, Hello, frame_number
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import VERSION, Data, WireError
from cbnet.network.security.tls import tls_error_text
from cbnet.network.transport.backoff import Backoff
from cbnet.network.transport.connection import Connection

if TYPE_CHECKING:
    from cbnet.network.client.client_inbox import ClientInbox

TIMEOUT: Final = 5.0  # seconds; default of calls
GRACE: Final = 1.0  # seconds that an answer may arrive after the timeout sent to the router
_SILENT, _DEAD = 1.0, 3.5  # seconds, as in routers
_MAX_QUEUED = 1 << 26  # bytes; publishers block long before
_ADMISSION = 5.0  # seconds until a router must have accepted a new connection
_STABLE = 3.0  # seconds after which a connection counts as successful
_PATIENCE = 1.0  # seconds to wait for a router that is just starting, if no router listens
_PROBE = frames.Ping(1)  # its Pong shows that the Hello before was accepted; all other Pings have the number 0

Dial: TypeAlias = Callable[[Callable[[], Any], Address], Awaitable[Any]]  # a protocol, such as a `Connection`


def delivery_of(frame: Deliver) -> Delivery:
    """Return the delivery of a frame that is not plain."""
    message = {**frame.attributes, RESERVED_NAME: frame.tags} if frame.tags else frame.attributes
    return Delivery(message, frame.payload, frame.source, (frame.source, frame.incarnation, frame.number))


def client_hello(name: str, network: str, token: str) -> Hello:
    """Return the Hello of a client; a client without a name gets a random one."""
    name = name or f"client-{secrets.token_hex(3)}"
    check_name("client", name)
    check_name("network", network)
    return Hello(
        low=VERSION,
        high=VERSION,
        role="client",
        name=name,
        network=network,
        incarnation=0,
        link=0,
        scheme="",
        token=token,
    )


class ClientLink:
    """The connection of one client."""

    def __init__(
        self, owner: ClientInbox, hello: Hello, addresses: Sequence[Address], dial: Dial, *, follows: bool = True
    ) -> None:
        """Start dialling; dial: opens a connection to an address; follows: also to those that routers name."""
        self.router = ""  # name of the current or last router
        self.reconnects = 0
        self.connection: Connection | None = None  # admitted by the router
        self.calls = ClientCalls()
        self.problem = "it has not answered yet"  # why the last connection was closed, or could not be opened
        self.is_held = False  # whether reading is paused because a queue of the owner is full
        self._owner = owner
        self._hello = hello
        self._addresses = addresses
        self.dial = dial
        self._follows = follows
        self._address: Address | None = None  # of the last router dialled
        self._following: Address | None = None  # to dial before those of the list
        self._loop = asyncio.get_running_loop()
        self._deliveries = DeliveryReader()
        self._last_received = 0.0
        self._refusal: CbnetError | None = None  # of the router being dialled
        self._refusals: dict[Address, CbnetError] = {}
        self._fatal: CbnetError | None = None  # why no attempt can succeed
        self._changed = asyncio.Event()
        self._is_closed = False
        self._ended: float | None = None  # time when the last connection was closed
        self._nobody_listens = False  # every attempt so far was refused by the system
        self._tasks = [self._loop.create_task(task) for task in (self._keep(), self._watch())]

    async def close(self) -> None:
        """Close the connection permanently; this object leaves no reference cycle."""
        self._is_closed = True
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connection = self.connection
        self._disconnected("the client is closed")
        if connection is not None:
            connection.close("the client closes", ReasonCode.STOPPING)
            await connection.wait_closed(GRACE)
        self.__dict__.pop("_owner", None)

    def give_up(self, problem: str, reason: str, hint: str) -> None:
        """Close the connection permanently because of a problem; reason: sent to the router."""
        self._fatal = InputError("the client is disconnected", hint=hint)
        connection = self.connection
        self._disconnected(problem)
        if connection is not None:
            connection.close(reason)

    @property
    def has_others(self) -> bool:
        """Whether there are other routers to connect to."""
        return any(each != self._address for each in self._addresses)

    def may_dial(self, address: Address) -> bool:
        """Return whether the client may connect to an address that a router has named: its token must stay secret."""
        is_safe = address in self._addresses or not self._hello.token or address.is_loopback
        return self._follows and is_safe

    def leave(self, problem: str, address: Address | None = None) -> bool:
        """Close the connection and dial an address, or the next router; return False, and do nothing, without one."""
        connection = self.connection
        if connection is None or (address is None and not self.has_others):
            return False
        self._following = address
        self._disconnected(problem)
        connection.close("the client needs another router")
        return True

    # --- sending

    @property
    def is_writable(self) -> bool:
        """Whether the client is connected and the router reads."""
        return self.connection is not None and not self.connection.output.is_paused

    async def writable(self, timeout: float) -> None:
        """Wait until the client is connected and the router reads."""
        end = self._loop.time() + timeout
        while not self.is_writable:
            if self._fatal is not None:
                raise self._fatal
            if self._is_closed:
                raise NotConnected("the client is closed")
            if self._nobody_listens and not self.router:
                raise NotConnected(f"no router listens on {', '.join(map(str, self._addresses))}")
            self._changed.clear()
            try:
                async with asyncio.timeout_at(end):
                    await self._changed.wait()
            except TimeoutError:
                raise NotConnected(self._timeout_problem(timeout)) from None

    def send(self, frame: Frame) -> None:
        """Send a frame, if connected."""
        if self.connection is not None:
            self.connection.send(frame)

    def send_bytes(self, data: bytes) -> None:
        """Send encoded frames."""
        if self.connection is None:
            raise NotConnected(f"the connection to {self.router} was closed")
        self.connection.send_bytes(data)

    def send_if_connected(self, data: bytes) -> None:
        """Send encoded frames, if connected: otherwise nobody waits for them, or they are sent again."""
        if self.connection is not None:
            self.connection.send_bytes(data)

    async def call(
        self, kind: type[Frame], number: int, send: Callable[[], None], timeout: float, *, is_restored: bool = False
    ) -> Any:
        """Send a frame and return its answer; is_restored: it is sent again on a new connection."""
        end = self._loop.time() + timeout
        if not is_restored or self.connection is None:
            await self.writable(timeout)
        try:
            with self.calls.open(kind, number) as answer:
                if self.is_held:
                    self.release()
                send()
                async with asyncio.timeout(max(0.0, end - self._loop.time()) + GRACE):
                    return await answer
        except TimeoutError:
            raise NotConnected(f"no answer from {self.router} within {timeout:g} s") from None
        finally:
            self._hold()

    async def ask(self, frame: Frame, number: int, timeout: float) -> Any:
        """Send a frame and return its answer."""
        return await self.call(type(frame), number, lambda: self.send(frame), timeout)

    # --- reading

    def release(self) -> None:
        """Resume reading."""
        self._last_received = self._loop.time()
        if self.connection is not None:
            self.connection.resume_reading()

    def _hold(self) -> None:
        """Pause reading if a queue is full, unless a call is open: its answer comes after the messages."""
        if self.is_held and self.connection is not None and not self.calls:
            self.connection.pause_reading()

    @property
    def newest(self) -> Newest:
        """The highest message number delivered from each source."""
        return self._deliveries.highest()

    # --- connection callbacks

    def opened(self, connection: Connection) -> None:
        """Send the Hello, and a Ping to learn whether it is accepted."""
        if self._is_closed:  # while it was dialled
            connection.abort()
            return
        connection.send(self._hello)
        connection.send(_PROBE)

    def received(self, connection: Connection, data: memoryview) -> None:
        """Decode and handle frames in order."""
        self._last_received = self._loop.time()
        reader = connection.reader
        joined = reader.join(data)
        at = 0
        try:
            while True:
                at = self._read_deliveries(connection, joined, at)
                end = reader.end_of(joined, at)
                if end == at:
                    break
                frame = reader.read(joined, at, end)
                at = end
                if frame is not None:
                    self._received(connection, frame)
        except WireError as error:
            self.failed(connection, error.reason)
        reader.keep(joined, at)
        self._hold()

    def _read_deliveries(self, connection: Connection, data: Data, start: int) -> int:
        """Handle plain deliveries; return where they end."""
        if connection.reader.is_first:
            return start
        end, count, batches = self._deliveries.read(data, start, connection.reader.max_length)
        if count:
            connection.traffic.messages_received += count
            self._owner.delivered(batches)
        return end

    def _received(self, connection: Connection, frame: Frame) -> None:
        connection.count_received((frame,))
        if type(frame) is Deliver:
            self._owner.delivered(self._deliveries.add(frame.subscriptions, delivery_of(frame)))
        elif not self._handle(connection, frame):
            self._owner.received(frame)

    def failed(self, connection: Connection, reason: str) -> None:
        """Close a connection that carried invalid bytes."""
        self.problem = reason
        connection.close(reason)
        self.closed(connection)

    def closed(self, connection: Connection) -> None:
        """Handle the end of a connection."""
        if connection is self.connection:
            self._disconnected(f"the connection to {self.router} was closed")

    def congested(self, connection: Connection, dropped: int) -> None:  # noqa: ARG002
        """Close a connection whose queue is overfull; frames of a client are never dropped."""
        if connection.output.is_overfull:
            self.failed(connection, "the router is not reading")

    def relieved(self, _: Connection) -> None:
        """Wake callers that wait to send."""
        self._changed.set()

    # --- internals

    def _handle(self, connection: Connection, frame: Frame) -> bool:
        """Handle a frame that concerns the connection; return whether it does."""
        match frame:
            case frames.Ping():
                connection.send(frames.Pong(frame.number))
            case frames.Pong():
                if frame.number == _PROBE.number:
                    self._admitted(connection)
            case Hello():
                self._hello_received(connection, frame)
            case frames.RefusedFrame() if frame.frame == frame_number(Hello):
                self._refusal = Refused(f"{self.router} refuses this client: {frame.reason}", frame.code)
            case frames.Close():
                self._close_received(connection, frame)
            case _:
                return False
        return True

    def _hello_received(self, connection: Connection, hello: Hello) -> None:
        if hello.network != self._hello.network:
            self._fatal = InputError(
                f"{connection.peer_address} is a router of the network {hello.network!r}",
                hint=f"use that name (network=, --network), or a router of {self._hello.network!r}",
            )
            connection.close("another network", ReasonCode.OTHER_NETWORK)
            self._changed.set()
            return
        self.router = hello.name

    def _admitted(self, connection: Connection) -> None:
        """Start using a connection to a router that has accepted the Hello."""
        self.connection = connection
        self._refusals.clear()
        if self._ended is not None:
            self._restored()
        self._owner.admitted()
        self._changed.set()

    def _close_received(self, connection: Connection, frame: frames.Close) -> None:
        self.problem = frame.reason
        if frame.code == ReasonCode.SLOW:
            self._owner.too_slow(frame.reason)
        elif connection is self.connection:  # the router still reads what was published
            self._disconnected(f"{self.router} closed the connection: {frame.reason}")
            connection.finish()

    def _restored(self) -> None:
        """Report that the client is connected again."""
        assert self._ended is not None
        seconds, self._ended = self._loop.time() - self._ended, None
        text = f"connected to {self.router} after {seconds:.1f} s, in which no messages arrived"
        self._owner.connection_changed(ClientEvent(EventKind.CONNECTED, self.router, text, None, seconds))

    def _disconnected(self, problem: str) -> None:
        if self.connection is not None and not self._is_closed:
            self._ended = self._loop.time()
            self._owner.connection_changed(ClientEvent(EventKind.DISCONNECTED, self.router, problem))
        self.connection = None
        self.is_held = False
        restored = () if self._is_closed else self._owner.restored_calls()
        self.calls.fail(problem, restored)
        self._changed.set()

    def _timeout_problem(self, timeout: float) -> str:
        if self.connection is not None:
            return f"the router {self.router} has not read for {timeout:g} s"
        addresses = ", ".join(map(str, self._addresses))
        return f"no router reachable at {addresses} within {timeout:g} s: {self.problem}"

    async def _keep(self) -> None:
        """Keep the client connected: when a connection closes, open another."""
        backoff = Backoff()
        started, unheard = self._loop.time(), 0  # unheard: attempts that found no router listening
        for attempt, listed in enumerate(cycle(self._addresses)):
            if self._fatal is not None:
                return
            self._address = address = self._following or listed
            self._following = None
            began = self._loop.time()
            try:
                await self._connect(address, is_new=attempt > 0)
            except NetworkError as error:
                self._refusal = error
            except OSError as error:
                self.problem = error.strerror or str(error) or "no answer"
                unheard += isinstance(error, ConnectionRefusedError)
            if unheard == attempt + 1 and self._loop.time() - started > _PATIENCE:
                self._nobody_listens = True
                self._changed.set()
            self._check_refusals(address)
            is_stable = self._loop.time() - began > _STABLE
            if is_stable:
                backoff.reset()
            if self._following is None and (is_stable or (attempt + 1) % len(self._addresses) == 0):
                await asyncio.sleep(backoff.next())

    async def _connect(self, address: Address, *, is_new: bool) -> None:
        """Open a connection, and wait until it closes."""
        async with asyncio.timeout(_DEAD):
            output = LinkOutput(_MAX_QUEUED, _MAX_QUEUED)
            connection: Connection = await self.dial(lambda: Connection(self, output), address)
        self._last_received = self._loop.time()
        self.reconnects += is_new
        try:
            await asyncio.wait([connection.ended], timeout=_ADMISSION)
            if connection is self.connection:
                await asyncio.wait([connection.ended])
            elif not connection.ended.done():
                self.problem = f"no answer from {address} within {_ADMISSION:g} s"  # as of a process that is suspended
        finally:
            if connection is not self.connection:  # not admitted: nothing else closes it
                connection.abort()
        if not connection.traffic.received:
            self.problem = connection.end_reason
        if isinstance(connection.error, SSLError):
            self._refusal = NotTrusted(tls_error_text(connection.error, str(address)))

    def _check_refusals(self, address: Address) -> None:
        """Give up if all routers refuse this client."""
        refusal, self._refusal = self._refusal, None
        if refusal is None:
            return
        self.problem = str(refusal)
        if address in self._addresses:
            self._refusals[address] = refusal
        if len(self._refusals) == len(set(self._addresses)):
            self._fatal = refusal
            self._owner.rejected(refusal)
            self._disconnected(self.problem)

    async def _watch(self) -> None:
        """Ping a silent router; close the connection to one that does not answer."""
        sent = 0
        while True:
            await asyncio.sleep(_SILENT / 2)
            connection = self.connection
            if connection is None:
                continue
            silence = self._loop.time() - self._last_received
            if silence > _SILENT or connection.traffic.sent == sent:  # the router needs a sign of life too
                connection.send(frames.Ping(0))
            sent = connection.traffic.sent
            if silence > _DEAD and not self.is_held:
                self.failed(connection, "the router is silent")
