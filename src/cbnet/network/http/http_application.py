"""The HTTP application of a router: its paths, middleware, error handlers, and the files of its web page.

POST /publish    GET /subscribe        /ws    POST /request    POST /trace    GET /status
GET /watch       GET /subscriptions    POST /check             POST /covers   POST /explain
GET /healthz     GET /readyz           GET /metrics            GET /openapi.json
GET /            GET /page/…

The page needs no other server. Its content security policy allows scripts, styles and connections of its own origin
only, and no frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from cbnet.errors import CbnetError
from cbnet.network.http.event_stream import EventStreams
from cbnet.network.http.health import Observation
from cbnet.network.http.http_links import HttpLinks
from cbnet.network.http.network_watch import NetworkWatch
from cbnet.network.http.origin_guard import OriginGuard
from cbnet.network.http.playground import Playground
from cbnet.network.http.problems import Problem, problem_of, problem_response
from cbnet.network.http.publishing import Publishing
from cbnet.network.http.queries import Queries
from cbnet.network.http.web_socket import WebSockets
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


def http_application(router: TcpRouter, links: HttpLinks, origins: Sequence[str]) -> Starlette:
    """Return the application of a router; origins: further origins whose web pages may use it."""
    publishing, queries, observation = Publishing(links), Queries(links), Observation(router, links)
    playground = Playground(links)
    routes: list[BaseRoute] = [
        Route("/publish", publishing.__call__, methods=["POST"]),
        Route("/subscribe", EventStreams(links), methods=["GET"]),
        WebSocketRoute("/ws", WebSockets(links).__call__),
        Route("/request", queries.request, methods=["POST"]),
        Route("/trace", queries.trace, methods=["POST"]),
        Route("/status", queries.status, methods=["GET"]),
        Route("/subscriptions", queries.subscriptions, methods=["GET"]),
        Route("/watch", NetworkWatch(links), methods=["GET"]),
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
    middleware = [*([cors] if origins else []), guard]
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
