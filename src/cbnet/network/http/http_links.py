"""The links of HTTP clients: each is a client of the router, over a connection in memory.

A link has the rights of the bearer token, or of the TLS certificate, of its HTTP connection, whose address the router
sees. The router treats it like any other client: limits, rates, queues, slow consumers, audit log. A link never
reconnects: when the router closes it, the request, event stream or WebSocket ends with the reason.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final

from starlette.requests import HTTPConnection

from cbnet.errors import InputError
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.client_link import client_hello
from cbnet.network.client.durable.durable_publishing import DurablePublisher, new_publisher
from cbnet.network.errors import NotConnected, Refused
from cbnet.network.http.http_connection import HttpConnection, HttpConnections
from cbnet.network.http.problems import Problem
from cbnet.network.link.link import Link
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.rights import Denied, Rights
from cbnet.network.security.tls import certificate_names
from cbnet.network.transport.connection import Connection
from cbnet.network.transport.tcp_router import TcpRouter

_TIMEOUT: Final = 5.0  # seconds until the router has admitted a client
_SCHEME: Final = "bearer "
_HINT: Final = "send the header `Authorization: Bearer TOKEN`, with a token of `cbnet token NAME`"


def bearer_token(request: HTTPConnection) -> str:
    """Return the token of a request; empty if there is none."""
    header = request.headers.get("authorization", "")
    if header and header[: len(_SCHEME)].lower() != _SCHEME:
        raise Problem(401, "unknown kind of authorization", hint=_HINT)
    return header[len(_SCHEME) :].strip()


def links_of(request: HTTPConnection) -> HttpLinks:
    """Return the links of the router that gets a request."""
    links: HttpLinks = request.state.links
    return links


class HttpLinks:
    """The links of all HTTP clients of a router."""

    def __init__(self, router: TcpRouter, connections: HttpConnections) -> None:
        self._router = router
        self._connections = connections
        self._open: dict[AsyncClient, _Dialler] = {}
        # Of closed links, to be reused: homes remember a limited number, not one per request.
        self._idle: list[DurablePublisher] = []
        self._closing: set[asyncio.Task[None]] = set()
        connections.on_closed = self._end_shared

    def shared(self, request: HTTPConnection) -> AbstractAsyncContextManager[AsyncClient]:
        """Use the link of an HTTP connection, which its requests share."""
        return self.own(request, bearer_token(request), is_listed=False, is_kept=True)

    @asynccontextmanager
    async def own(
        self, request: HTTPConnection, token: str, *, is_listed: bool = True, is_kept: bool = False
    ) -> AsyncIterator[AsyncClient]:
        """Open a link for an event stream or a WebSocket; is_listed: whether the status shows it; is_kept: share it."""
        connection: HttpConnection = request.state.connection
        with self._connections.session(connection):
            client = connection.links.pop(token, None) if is_kept else None
            if client is None or not client.is_connected:
                client = await self._opened(connection, token, is_listed=is_listed)
            connection.share.belong_to(self._open[client].link)
            try:
                yield client
            finally:
                if is_kept and client.is_connected and not connection.transport.is_closing():
                    connection.links[token] = client
                else:
                    self._end(client)

    def rights(self, request: HTTPConnection) -> Rights:
        """Return the rights of a client whose request needs no link."""
        return self._rights(request.state.connection, bearer_token(request))

    def needs_token(self, request: HTTPConnection) -> bool:
        """Return whether a client needs a token: clients must authenticate, and it has no certificate."""
        has_certificate = bool(certificate_names(request.state.connection.transport))
        return self._router.router.links.access.clients is not None and not has_certificate

    async def close(self) -> None:
        """Close all links."""
        for client in [*self._open]:
            self._end(client)
        await asyncio.gather(*self._closing, return_exceptions=True)

    # --- internals

    async def _opened(self, connection: HttpConnection, token: str, *, is_listed: bool) -> AsyncClient:
        self._rights(connection, token)  # an unknown client costs no link
        name, network = f"http-{secrets.token_hex(3)}", self._router.router.settings.network
        try:
            publisher = self._idle.pop() if self._idle else new_publisher()
            dialler = _Dialler(self._router, connection, publisher, is_listed=is_listed)
            client = AsyncClient(name=name, network=network, token=token or None, dialler=dialler, publisher=publisher)
        except InputError as error:
            raise Problem(401, error.problem, hint=_HINT) from None
        dialler.client = client
        self._open[client] = dialler
        try:
            await client.connected(_TIMEOUT)
        except Refused as error:
            self._end(client)
            raise Problem(403 if self._router.is_listening else 503, str(error)) from None
        except BaseException:
            self._end(client)
            raise
        return client

    def _rights(self, connection: HttpConnection, token: str) -> Rights:
        """Return the rights of a client; raise a `Problem` if it is unknown."""
        links, network = self._router.router.links, self._router.router.settings.network
        try:
            hello = client_hello("http", network, token)
            return links.access.admit(hello, certificate_names(connection.transport)).rights
        except InputError as error:
            if isinstance(error, Denied):
                links.count_denied("client", error, "{}:{}".format(*connection.client or ("?", 0)))
            raise Problem(401, error.problem, hint=_HINT) from None

    def _end_shared(self, connection: HttpConnection) -> None:
        for client in connection.links.values():
            self._end(client)
        connection.links.clear()

    def _end(self, client: AsyncClient) -> None:
        """Close a link in the background: its user may have been cancelled."""
        dialler = self._open.pop(client, None)
        if dialler is not None:
            task = asyncio.get_running_loop().create_task(client.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            task.add_done_callback(partial(self._ended, dialler))

    def _ended(self, dialler: _Dialler, _: object) -> None:
        self._idle.append(dialler.publisher)
        del dialler.client  # which refers to it


class _Dialler:
    """Connects a client to the router, once."""

    def __init__(
        self, router: TcpRouter, http: HttpConnection, publisher: DurablePublisher, *, is_listed: bool
    ) -> None:  # fmt: skip
        self.client: AsyncClient
        self.link: Link  # at the router
        self.publisher = publisher
        self._router = router
        self._http = http
        self._is_listed = is_listed
        self._is_used = False

    async def __call__(self, protocol: Callable[[], Connection], _: Address) -> Connection:
        if self._is_used:
            raise NotConnected(f"{self.client.router} closed the connection: {self.client.problem}")
        self._is_used = True
        connection = protocol()
        self.link = self._router.connect(connection, self._http.transport.get_extra_info, is_listed=self._is_listed)
        return connection
