"""TLS of accepted connections: asyncio's, with less memory.

    socket ──► one buffer of the thread ──► OpenSSL ──► the protocol above

asyncio allocates a buffer of 256 KiB for each connection. Here all connections of a thread read into one, and at most
twice as much at once as the protocol above; while that is paused, little is read. A closed connection leaves no
reference cycle: its memory does not wait for a garbage collection.

asyncio's `SSLProtocol` is used like any other protocol; the few private attributes that are used here are the same in
CPython 3.11 to 3.13.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from typing import Any, Final

from cbnet.network.security.tls import HANDSHAKE_TIMEOUT, TlsContext
from cbnet.network.transport.connection import TLS_FACTOR, break_cycle, read_buffer

_READ_SIZE: Final = 1 << 14  # bytes, for a protocol that gets its bytes in new objects
_ABOVE: Final = ("_app_protocol_get_buffer", "_app_protocol_buffer_updated")  # methods of the protocol above


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


async def accept_tls(accepted: socket.socket, protocol: asyncio.BaseProtocol, context: TlsContext) -> bool:
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
