"""Client link: how does a client keep a connection to a router, and get answers over it?

    dialled ──► Hello and a Ping go out ──► the Pong shows that the Hello was taken ──► admitted ──► gone ──► dialled …

A connection that is gone is followed by another, to the next router of a list. Where all of them refuse the client,
that is the end. What was asked and not answered fails with the connection, but for what the client says again anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import cycle
from ssl import SSLError
from typing import Any, Final, Protocol, TypeAlias

from cbnet.errors import CbnetError, InputError
from cbnet.network.errors import NotConnected, NotTrusted, Refused
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Deliver, Frame, Hello, tag_of
from cbnet.network.security.tls import TlsContext, dial, tls_error_text
from cbnet.network.transport.backoff import Backoff
from cbnet.network.transport.connection import Connection
from cbnet.network.transport.send_queue import SendQueue

GRACE: Final = 1.0  # seconds for an answer to come after the time that the router was given
_SILENT, _DEAD = 1.0, 3.5  # seconds, as routers have them
_MOST_WAITING = 1 << 26  # bytes; publishers wait long before that
_LASTING = 3.0  # seconds, after which a connection counts as one that was good
_TAKEN = frames.Ping(1)  # its answer shows that the Hello before was taken; all others have the number 0

Question: TypeAlias = tuple[int, int]  # the tag of a frame that is to be answered, and its id or number


class LinkOwner(Protocol):
    """The client that has a link."""

    is_held: bool  # whether nothing is to be read

    def admitted(self) -> None:
        """Say again what a router must know, as a new one has taken the Hello."""

    def taken(self, frame: Frame) -> None:
        """Take a frame."""

    def kept(self) -> Collection[Question]:
        """Return what is asked again after a new connection."""

    def shut_out(self, error: CbnetError) -> None:
        """Take note that no router lets this client in, and none is tried any more."""

    def too_slow(self, reason: str) -> None:
        """Take note that the router has closed the connection because this client reads too slowly."""


class ClientLink:
    """The connection of one client."""

    def __init__(
        self, owner: LinkOwner, hello: Hello, addresses: Sequence[Address], context: TlsContext | None
    ) -> None:
        """Begin to dial; context: for TLS."""
        self.router = ""  # the name of the router that it is or was connected to
        self.reconnects = 0
        self.connection: Connection | None = None  # one over which a Hello has come
        self._owner = owner
        self._hello = hello
        self._addresses = addresses
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._awaited: dict[Question, asyncio.Future[Any]] = {}
        self._heard = 0.0
        self._problem = "nothing was tried"
        self._refusal: CbnetError | None = None  # of the router that is being connected to
        self._refusals: dict[Address, CbnetError] = {}  # of routers that do not let it in
        self._fault: CbnetError | None = None  # why no attempt can succeed
        self._changed = asyncio.Event()
        self._is_closed = False
        self._tasks = [self._loop.create_task(task) for task in (self._keep(), self._watch())]

    async def close(self) -> None:
        """End the connection, and make no other."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        connection = self.connection
        self._disconnected("the client is closed")
        if connection is not None:
            connection.close("the client ends")
            await connection.gone(GRACE)

    def give_up(self, why: str, reason: str, hint: str) -> None:
        """End the connection, and make no other, as the client cannot go on: why, and the reason for the router."""
        self._fault = InputError("the client is disconnected", hint=hint)
        connection = self.connection
        self._disconnected(why)
        if connection is not None:
            connection.close(reason)

    # --- what is sent

    @property
    def is_writable(self) -> bool:
        """Whether there is a connection, and the router reads."""
        return self.connection is not None and not self.connection.is_paused

    async def writable(self, timeout: float) -> None:
        """Wait until there is a connection, and the router reads."""
        end = self._loop.time() + timeout
        while not self.is_writable:
            if self._fault is not None:
                raise self._fault
            if self._is_closed:
                raise NotConnected("the client is closed")
            self._changed.clear()
            try:
                async with asyncio.timeout_at(end):
                    await self._changed.wait()
            except TimeoutError:
                raise NotConnected(self._why_not(timeout)) from None

    def send(self, frame: Frame) -> None:
        """Send a frame, if there is a connection."""
        if self.connection is not None:
            self.connection.send(frame)

    def send_bytes(self, data: bytes) -> None:
        """Send a frame that is bytes already."""
        if self.connection is None:
            raise NotConnected(f"the connection to {self.router} has ended")
        self.connection.send_bytes(data)

    async def answer(
        self, kind: type[Frame], number: int, send: Callable[[], None], timeout: float, *, is_kept: bool = False
    ) -> Any:
        """Send something and return the answer; is_kept: it is sent again after a new connection."""
        end = self._loop.time() + timeout
        question = tag_of(kind), number
        if not is_kept or self.connection is None:
            await self.writable(timeout)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._awaited[question] = future
        if self._owner.is_held:
            self.release()
        try:
            send()
            async with asyncio.timeout(max(0.0, end - self._loop.time()) + GRACE):
                return await future
        except TimeoutError:
            raise NotConnected(f"no answer from {self.router} in {timeout:g} s") from None
        finally:
            del self._awaited[question]
            self._hold()

    def answered(self, kind: type[Frame], number: int, answer: Frame) -> None:
        """Take the answer to something that was asked."""
        future = self._awaited.get((tag_of(kind), number))
        if future is not None and not future.done():
            future.set_result(answer)

    def is_refused(self, frame: frames.Refused) -> bool:
        """Take the refusal of something that was asked; return whether somebody waits for it."""
        future = self._awaited.get((frame.frame, frame.number))
        if future is None or future.done():
            return False
        future.set_exception(Refused(frame.reason))
        return True

    # --- what is read

    def release(self) -> None:
        """Read again."""
        self._heard = self._loop.time()
        if self.connection is not None:
            self.connection.release()

    def _hold(self) -> None:
        """Read nothing for now if that is wanted, unless an answer is awaited: it comes after the messages."""
        if self._owner.is_held and self.connection is not None and not self._awaited:
            self.connection.hold()

    # --- what happens to the connection

    def opened(self, connection: Connection) -> None:
        """Say who this is, and ask whether that is taken."""
        connection.send(self._hello)
        connection.send(_TAKEN)

    def received(self, connection: Connection, all: Iterable[Frame]) -> None:
        """Take frames."""
        self._heard = self._loop.time()
        taken = self._owner.taken
        for frame in all:
            if type(frame) is Deliver or not self._is_own(connection, frame):
                taken(frame)
        self._hold()

    def failed(self, connection: Connection, reason: str) -> None:
        """Give up a connection over which something came that is no frame."""
        self._problem = reason
        connection.close(reason)
        self.closed(connection)

    def closed(self, connection: Connection) -> None:
        """Take note that a connection is gone."""
        if connection is self.connection:
            self._disconnected(f"the connection to {self.router} has ended")

    def dropped(self, connection: Connection, count: int) -> None:
        """Nothing that a client sends is dropped."""

    def overflowed(self, connection: Connection) -> None:
        """Give up a connection on which far too much waits."""
        self.failed(connection, "the router does not read")

    def relieved(self, _: Connection) -> None:
        """Let those go on who wait to send."""
        self._changed.set()

    # --- inside

    def _is_own(self, connection: Connection, frame: Frame) -> bool:
        """Do what a frame says of the connection; return whether it says something of it."""
        match frame:
            case frames.Ping():
                connection.send(frames.Pong(frame.number))
            case frames.Pong():
                if frame.number == _TAKEN.number:
                    self._admitted(connection)
            case Hello():
                self._greeted(connection, frame)
            case frames.Refused() if frame.frame == tag_of(Hello):
                self._refusal = Refused(f"{self.router} does not let this client in: {frame.reason}")
            case frames.Close():
                self._told_to_end(connection, frame.reason)
            case _:
                return False
        return True

    def _greeted(self, connection: Connection, hello: Hello) -> None:
        if hello.network != self._hello.network:
            self._fault = InputError(
                f"{connection.other_side} is a router of the network {hello.network!r}",
                hint=f"say that name (network=, --network-name), or dial a router of {self._hello.network!r}",
            )
            connection.close("another network")
            self._changed.set()
            return
        self.router = hello.name

    def _admitted(self, connection: Connection) -> None:
        """Begin to use a connection to a router that has taken the Hello."""
        self.connection = connection
        self._refusals.clear()
        self._owner.admitted()
        self._changed.set()

    def _told_to_end(self, connection: Connection, reason: str) -> None:
        self._problem = reason
        if "too slowly" in reason:
            self._owner.too_slow(reason)
        elif connection is self.connection:  # what was published is still taken
            self._disconnected(f"{self.router} has closed the connection: {reason}")
            connection.finish()

    def _disconnected(self, why: str) -> None:
        self.connection = None
        self._owner.is_held = False
        kept = () if self._is_closed else self._owner.kept()
        for question, future in self._awaited.items():
            if not future.done() and question not in kept:
                future.set_exception(NotConnected(f"{why}, and no answer had come"))
        self._changed.set()

    def _why_not(self, timeout: float) -> str:
        if self.connection is not None:
            return f"the router {self.router} has not read for {timeout:g} s"
        where = ", ".join(map(str, self._addresses))
        return f"no router could be reached at {where} in {timeout:g} s: {self._problem}"

    async def _keep(self) -> None:
        """Keep a connection: when it ends, make another."""
        backoff = Backoff()
        for turn, where in enumerate(cycle(self._addresses)):
            if self._fault is not None:
                return
            began = self._loop.time()
            try:
                await self._connect(where, is_new=turn > 0)
            except NotTrusted as error:
                self._refusal = error
            except OSError as error:
                self._problem = error.strerror or str(error) or "no answer"
            self._judge(where)
            is_lasting = self._loop.time() - began > _LASTING
            if is_lasting:
                backoff.reset()
            if is_lasting or (turn + 1) % len(self._addresses) == 0:
                await asyncio.sleep(backoff.next())

    async def _connect(self, where: Address, *, is_new: bool) -> None:
        """Make a connection, and wait for its end."""
        async with asyncio.timeout(_DEAD):
            connection = await dial(self._new_connection, where, self._context)
        self._heard = self._loop.time()
        self.reconnects += is_new
        try:
            await asyncio.wait([connection.ended])
        finally:
            if connection is not self.connection:  # no Hello has come, and nobody else ends it
                connection.abort()
        if not connection.traffic.received:
            self._problem = connection.ending
        if isinstance(connection.error, SSLError):
            self._refusal = NotTrusted(tls_error_text(connection.error, str(where)))

    def _new_connection(self) -> Connection:
        return Connection(self, SendQueue(_MOST_WAITING, _MOST_WAITING))

    def _judge(self, where: Address) -> None:
        """Give up if no router lets this client in."""
        refusal, self._refusal = self._refusal, None
        if refusal is None:
            return
        self._problem = str(refusal)
        self._refusals[where] = refusal
        if len(self._refusals) == len(set(self._addresses)):
            self._fault = refusal
            self._owner.shut_out(refusal)
            self._disconnected(self._problem)

    async def _watch(self) -> None:
        """Ask a silent router whether it is there; give up one that does not answer."""
        sent = 0
        while True:
            await asyncio.sleep(_SILENT / 2)
            connection = self.connection
            if connection is None:
                continue
            silence = self._loop.time() - self._heard
            if silence > _SILENT or connection.traffic.sent == sent:  # the router may wait for a sign too
                connection.send(frames.Ping(0))
            sent = connection.traffic.sent
            if silence > _DEAD and not self._owner.is_held:
                self.failed(connection, "the router is silent")
