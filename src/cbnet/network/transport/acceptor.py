"""Listening sockets, and accepted connections whose peers have not identified themselves yet.

    accepted ──► TLS handshake ──► Hello ──► known: no longer counted
        └── counted, in total and per peer address, until it is known or has ended

Each takes a limited amount of memory (`TlsProtocol`, `Connection`), so their number limits the memory of all. The
number per address is limited; further ones are closed at once. When the total limit is exceeded, the oldest connection
of the address with the most connections is closed: a flood from a few addresses affects only those addresses. All
programs of this machine share an address, so only the total limit applies to them: a hundred may start at once.

    socket ──► one buffer of the thread ──► OpenSSL ──► the protocol above

asyncio's `SSLProtocol` is used with less memory: it allocates a buffer of 256 KiB for each connection. Here all
connections of a thread read into one, and at most twice as much at once as the protocol above; while that is paused,
little is read. A closed connection leaves no reference cycle. The few private attributes that are used are the same in
CPython 3.11 to 3.13.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final, Generic, TypeVar

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.tls import HANDSHAKE_TIMEOUT, TlsContext
from cbnet.network.transport.connection import TLS_FACTOR, break_cycle, read_buffer

Peer = TypeVar("Peer", bound=asyncio.BaseProtocol)
_BACKLOG = 1_024  # pending connections that the system queues
_ACCEPTED_AT_ONCE = 64  # connections accepted before other events are handled
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE = 1.0  # seconds without accepting, if the process has no file descriptors left
_READ_SIZE: Final = 1 << 14  # bytes, for a protocol that gets its bytes in new objects
_ABOVE: Final = ("_app_protocol_get_buffer", "_app_protocol_buffer_updated")  # methods of the protocol above


@dataclass(eq=False)
class _Arrival(Generic[Peer]):
    """A connection whose peer has not identified itself."""

    host: str
    socket: socket.socket
    connection: Peer | None = None


class Acceptor(Generic[Peer]):
    """The listening sockets of a router, for its protocol or for HTTP."""

    def __init__(
        self,
        protocol: Callable[[], Peer],
        refuse: Callable[[Peer, str], None],
        on_refused: Callable[[str, str], None],
    ) -> None:
        """Initialise with callbacks.

        refuse: closes a connection, with a reason, if it is open; on_refused: called with the address of a refused
        peer, and the reason.
        """
        self.context: TlsContext | None = None  # for new connections
        self.most = 0
        self.most_per_address = 0
        self._protocol = protocol
        self._refuse = refuse
        self._on_refused = on_refused
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._arrivals: dict[str, dict[_Arrival[Peer], None]] = {}  # by host; oldest first
        self._by_connection: dict[Peer, _Arrival[Peer]] = {}
        self._count = 0  # of arrivals
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, address: Address) -> Address:
        """Listen on an address (port 0: any free port) and return it."""
        try:
            found = await self._loop.getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            for family, _, _, _, where in dict.fromkeys(found):
                self._sockets.append(_listening(family, where))
        except OSError as error:
            self.close()
            raise InputError(f"cannot listen on {address}: {error.strerror}", hint="choose another port") from None
        for listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)
        host, port, *_ = self._sockets[0].getsockname()
        return Address(host, port)

    @property
    def is_listening(self) -> bool:
        """Whether connections are accepted."""
        return bool(self._sockets)

    def close(self) -> None:
        """Stop accepting connections; accepted ones stay open."""
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        self._sockets.clear()

    def forget(self, connection: Peer) -> None:
        """Stop counting a connection: its peer is known, or it has ended."""
        arrival = self._by_connection.pop(connection, None)
        if arrival is not None:
            self._remove(arrival)

    # --- internals

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, (host, port, *_) = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_FILES:
                    raise
                self._loop.remove_reader(listening)
                self._loop.call_later(_PAUSE, self._accept_again, listening)
                return
            accepted.setblocking(False)
            if len(self._arrivals.get(host, ())) >= self.most_per_address and not _is_loopback(host):
                accepted.close()
                self._on_refused(f"{host}:{port}", "too many unidentified connections of this address")
                continue
            arrival = _Arrival[Peer](host, accepted)
            self._arrivals.setdefault(host, {})[arrival] = None
            self._count += 1
            if self._count > self.most:
                self._end_oldest()
            task = self._loop.create_task(self._open(arrival))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _accept_again(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    async def _open(self, arrival: _Arrival[Peer]) -> None:
        """Open the connection of an accepted socket, after the TLS handshake if TLS is in use."""
        connection = arrival.connection = self._protocol()
        self._by_connection[connection] = arrival
        if self.context is None:
            await self._loop.connect_accepted_socket(lambda: connection, arrival.socket)
        elif not await _accept_tls(arrival.socket, connection, self.context):  # `TlsContext` reports why
            self.forget(connection)

    def _end_oldest(self) -> None:
        """Close the oldest connection of the address with the most connections."""
        host = max(self._arrivals, key=lambda each: len(self._arrivals[each]))
        arrival = next(iter(self._arrivals[host]))
        self._remove(arrival)
        if arrival.connection is not None:
            self._refuse(arrival.connection, "too many unidentified connections")
        with suppress(OSError):
            arrival.socket.shutdown(socket.SHUT_RDWR)  # nothing is waited for, such as the rest of a handshake

    def _remove(self, arrival: _Arrival[Peer]) -> None:
        arrivals = self._arrivals.get(arrival.host, {})
        if arrival in arrivals:
            del arrivals[arrival]
            self._count -= 1
        if not arrivals:
            self._arrivals.pop(arrival.host, None)


def _listening(family: int, where: tuple[object, ...]) -> socket.socket:
    # asyncio disables Nagle's algorithm only if the protocol is named; else a small frame may wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(where)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _is_loopback(host: str) -> bool:
    return ip_address(host.partition("%")[0]).is_loopback


# --- TLS


class TlsProtocol(SSLProtocol):
    """The TLS of one accepted connection."""

    max_size = _READ_SIZE  # of the buffer that the base class allocates
    _set_read_buffer_limits: Callable[[int], None]
    _app_protocol_get_buffer: Callable[[int], memoryview]

    def __init__(self, protocol: asyncio.BaseProtocol, context: TlsContext, finished: asyncio.Future[None]) -> None:
        """Initialise with the protocol above; finished: done after the handshake, with the error if it failed."""
        super().__init__(
            asyncio.get_running_loop(), protocol, context, finished,
            server_side=True, ssl_handshake_timeout=HANDSHAKE_TIMEOUT,  # type: ignore[arg-type]  # any number
        )  # fmt: skip
        self._ssl_buffer = bytearray()  # frees it
        self._set_read_buffer_limits(1)  # bytes that OpenSSL has not taken, above which nothing is read

    def get_buffer(self, n: int) -> memoryview:  # noqa: ARG002
        """Return the buffer to read into."""
        size = len(self._app_protocol_get_buffer(-1)) if self._app_protocol_is_buffer else _READ_SIZE
        self._ssl_buffer_view = read_buffer.tls[: TLS_FACTOR * size]
        return self._ssl_buffer_view

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release what refers to this object."""
        transport: Any = self._transport
        super().connection_lost(exc)
        for name in _ABOVE:
            self.__dict__.pop(name, None)
        break_cycle(transport)


async def _accept_tls(accepted: socket.socket, protocol: asyncio.BaseProtocol, context: TlsContext) -> bool:
    """Open the connection of an accepted socket; return whether the handshake succeeded."""
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[None] = loop.create_future()
    tls = TlsProtocol(protocol, context, finished)
    await loop.connect_accepted_socket(lambda: tls, accepted)
    await asyncio.wait([finished])
    error = finished.exception()
    if error is not None:
        error.__traceback__ = None  # whose frames refer to the error, and to the connection
    return error is None
