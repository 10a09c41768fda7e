"""Protection against web pages of other origins.

A browser lets any page send requests to a router on the same machine. A request with the `Origin` of another site is
therefore refused, unless the configuration lists it (`http_origins`). A page could also make its own host name resolve
to this machine (DNS rebinding), so a router that needs no token is served only under names of the loopback address and
of listed origins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from cbnet.network.http.problems import Problem, problem_response
from cbnet.network.protocol.addresses import Address


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
