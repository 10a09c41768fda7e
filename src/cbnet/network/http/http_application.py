"""The HTTP application of a router: its paths, middleware, error handlers, and the files of its web page.

The page needs no other server. Its content security policy allows scripts, styles and connections of its own origin
only, and no frames.

A browser lets any page send requests to a router on the same machine. A request with the `Origin` of another site is
therefore refused, unless the configuration lists it (`http_origins`). A page could also make its own host name resolve
to this machine (DNS rebinding), so a router that needs no token is served only under names of the loopback address and
of listed origins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from cbnet.errors import CbnetError
from cbnet.network.http import queries
from cbnet.network.http.event_stream import EventStreams
from cbnet.network.http.monitoring.health import Observation
from cbnet.network.http.monitoring.network_watch import NetworkSamples
from cbnet.network.http.playground import Playground
from cbnet.network.http.problems import Problem, problem_of, problem_response
from cbnet.network.http.processor_share import InTurns
from cbnet.network.http.publishing import publish
from cbnet.network.http.web_socket import serve_socket
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.tcp_router import TcpRouter

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
