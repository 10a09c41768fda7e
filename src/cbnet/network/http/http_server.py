"""The HTTP server of a router, in its event loop.

    Acceptor ──► HttpConnection ──► http_application ──► HttpLinks ──► the router

uvicorn parses HTTP and WebSockets; the router's own acceptor listens, with its limits and its TLS. Connections on a
loopback address are not encrypted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn

from cbnet.errors import InputError
from cbnet.network.http.http_application import http_application
from cbnet.network.http.http_connection import HEAD_TIMEOUT, HttpConnection, HttpConnections, WebSocketConnection
from cbnet.network.http.http_links import HttpLinks
from cbnet.network.http.request_input import MAX_BODY
from cbnet.network.logs import audit
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.acceptor import Acceptor
from cbnet.network.transport.tcp_router import TcpRouter

_CHECKED: Final = 1.0  # seconds between checks for slow connections
_FAREWELL: Final = 0.5  # seconds to send the last responses
_PING: Final = 20.0  # seconds between the pings of a WebSocket, and for their answers


class HttpServer:
    """The HTTP server of one router."""

    def __init__(self, router: TcpRouter, address: Address, *, origins: Sequence[str], sessions: int) -> None:
        """Initialise with the address to listen on; sessions: maximum number of concurrent ones."""
        self.address = address
        self._router = router
        self._connections = HttpConnections(router.turns, sessions)
        self._links = HttpLinks(router, self._connections)
        self._server = _Server(
            uvicorn.Config(
                http_application(router, origins),
                http=HttpConnection,
                ws=WebSocketConnection,
                ws_max_size=MAX_BODY,
                ws_ping_interval=_PING,
                ws_ping_timeout=_PING,
                ws_per_message_deflate=False,
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=int(HEAD_TIMEOUT),
            )
        )
        self._acceptor = self._connections.acceptor = Acceptor(self._protocol, _refuse, self._refused)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start listening."""
        self._apply_limits()
        try:
            self.address = await self._acceptor.listen(self.address)
        except InputError as error:
            raise InputError(f"http: {error.problem}", hint=error.hint) from None
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._server.serve(sockets=[])), loop.create_task(self._check())]

    async def stop(self) -> None:
        """End all requests, event streams and WebSockets, and close all connections."""
        self._acceptor.close()
        serving, checking = self._tasks
        checking.cancel()
        await self._links.close()
        self._server.should_exit = True
        aborting = asyncio.get_running_loop().call_later(_FAREWELL, self._connections.abort)
        await asyncio.gather(serving, checking, return_exceptions=True)
        aborting.cancel()

    # --- internals

    def _protocol(self) -> HttpConnection:
        state = {"connections": self._connections, "links": self._links}
        return HttpConnection(self._server.config, self._server.server_state, state)

    def _apply_limits(self) -> None:
        """Use the limits and certificates of the router, which may have been reloaded."""
        settings = self._router.router.settings
        self._acceptor.most, self._acceptor.most_per_address = settings.handshakes, settings.handshakes_per_address
        self._acceptor.context = None if self.address.is_loopback else self._router.server_context

    def _refused(self, address: str, reason: str) -> None:
        audit("connect", reason, client="", address=address)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(_CHECKED)
            self._apply_limits()
            self._connections.check(self._router.now)


def _refuse(connection: HttpConnection, _: str) -> None:
    """Close a connection that has not sent a request."""
    with suppress(AttributeError):  # without a transport yet
        connection.transport.abort()


class _Server(uvicorn.Server):
    """A server that leaves signals to the router."""

    @contextmanager
    def capture_signals(self) -> Iterator[Any]:
        yield
