"""The HTTP server of a router, in its event loop: its connections, paths and middleware, and the files of its web page.

    Acceptor ──► HttpConnection ──► http_application ──► HttpLinks ──► the router

uvicorn parses HTTP and WebSockets; the router's own acceptor listens, with its limits and its TLS. Connections on a
loopback address are not encrypted.

The page needs no other server. Its content security policy allows scripts, styles and connections of its own origin
only, and no frames.

A browser lets any page send requests to a router on the same machine. A request with the `Origin` of another site is
therefore refused, unless the configuration lists it (`http_origins`). A page could also make its own host name resolve
to this machine (DNS rebinding), so a router that needs no token is served only under names of the loopback address and
of listed origins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from cbnet.errors import CbnetError, InputError
from cbnet.network.http import queries
from cbnet.network.http.event_stream import EventStreams
from cbnet.network.http.http_connection import HEAD_TIMEOUT, HttpConnection, HttpConnections, WebSocketConnection
from cbnet.network.http.http_links import HttpLinks
from cbnet.network.http.monitoring.health import Observation
from cbnet.network.http.monitoring.network_watch import NetworkSamples
from cbnet.network.http.playground import Playground
from cbnet.network.http.problems import Problem, problem_of, problem_response
from cbnet.network.http.processor_share import InTurns
from cbnet.network.http.publishing import publish
from cbnet.network.http.request_input import MAX_BODY
from cbnet.network.http.web_socket import serve_socket
from cbnet.network.logs import audit
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.acceptor import Acceptor
from cbnet.network.transport.tcp_router import TcpRouter

_CHECKED: Final = 1.0  # seconds between checks for slow connections
_FAREWELL: Final = 0.5  # seconds to send the last responses
_PING: Final = 20.0  # seconds between the pings of a WebSocket, and for their answers
_PAGE_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_PAGE_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_HINTS: Final = {404: "the paths are in /openapi.json", 405: "the methods are in /openapi.json"}


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


# --- application


def http_application(router: TcpRouter, origins: Sequence[str]) -> Starlette:
    """Return the application of a router; origins: further origins whose web pages may use it."""
    playground, observation = Playground(), Observation(router)
    routes: list[BaseRoute] = [
        Route("/publish", publish, methods=["POST"]),
        Route("/subscribe", EventStreams(), methods=["GET"]),
        WebSocketRoute("/ws", serve_socket),
        Route("/request", queries.request, methods=["POST"]),
        Route("/trace", queries.trace, methods=["POST"]),
        Route("/status", queries.status, methods=["GET"]),
        Route("/subscriptions", queries.subscriptions, methods=["GET"]),
        Route("/watch", NetworkSamples(), methods=["GET"]),
        Route("/check", playground.check, methods=["POST"]),
        Route("/covers", playground.covers, methods=["POST"]),
        Route("/explain", playground.explain, methods=["POST"]),
        Route("/", _page, methods=["GET"]),
        Route("/page/{name}", _page, methods=["GET"]),
        Route("/healthz", observation.health, methods=["GET"]),
        Route("/readyz", observation.readiness, methods=["GET"]),
        Route("/metrics", observation.metrics, methods=["GET"]),
        Route("/openapi.json", _description, methods=["GET"]),
    ]
    cors = Middleware(
        CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["*"], max_age=600
    )  # fmt: skip
    guard = Middleware(
        OriginGuard, origins=origins, needs_token=lambda: router.router.links.access.clients is not None
    )  # fmt: skip
    handlers = {CbnetError: _failed, HTTPException: _not_found, ClientDisconnect: _disconnected}
    middleware = [Middleware(InTurns), *([cors] if origins else []), guard]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)  # type: ignore[arg-type]


async def _description(_: Request) -> Response:
    return Response(files("cbnet.network.http").joinpath("openapi.json").read_bytes(), media_type="application/json")


async def _page(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    found = _page_files().get(name)
    if found is None:
        raise HTTPException(404)
    return Response(found, headers=_PAGE_HEADERS, media_type=_PAGE_TYPES[name[name.rindex(".") :]])


@cache
def _page_files() -> dict[str, bytes]:
    """Return the files by name."""
    folder = files("cbnet.network.http").joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.endswith(tuple(_PAGE_TYPES))}


async def _failed(_: Request, error: CbnetError) -> Response:
    return problem_response(problem_of(error))


async def _not_found(_: Request, error: HTTPException) -> Response:
    response = problem_response(Problem(error.status_code, error.detail, hint=_HINTS.get(error.status_code, "")))
    response.headers.update(error.headers or {})
    return response


async def _disconnected(_: Request, __: ClientDisconnect) -> Response:
    return Response(status_code=400)  # nobody reads it


# --- protection against web pages of other origins


class OriginGuard:
    """Middleware that refuses requests from web pages that are not allowed."""

    def __init__(self, app: ASGIApp, origins: Collection[str], needs_token: Callable[[], bool]) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._hosts = frozenset(_split(origin).netloc.lower() for origin in origins)
        self._needs_token = needs_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        problem = self._problem(HTTPConnection(scope)) if scope["type"] in ("http", "websocket") else None
        if problem is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await problem_response(problem)(scope, receive, send)
        else:
            await WebSocket(scope, receive, send).send_denial_response(problem_response(problem))

    def _problem(self, request: HTTPConnection) -> Problem | None:
        origin, host = request.headers.get("origin", ""), request.headers.get("host", "").lower()
        if origin and origin not in self._origins and _split(origin).netloc.lower() != host:
            return Problem(403, f"pages of {origin} may not use this router", hint="list the origin in `http_origins`")
        if not self._needs_token() and host and host not in self._hosts and not _is_direct(host, request):
            return Problem(
                403,
                f"this router is not {host}",
                hint="use 127.0.0.1 or localhost, or list the origin in `http_origins`",
            )
        return None


def _split(url: str) -> SplitResult:
    """Return the parts of an address; none of one that is not valid."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_direct(host: str, request: HTTPConnection) -> bool:
    """Return whether a host is the address of this server, or a name of the loopback address."""
    name = _split(f"//{host}").hostname or ""
    if Address(name, 0).is_loopback:
        return True
    server = request.scope.get("server")
    return server is not None and name == server[0]
