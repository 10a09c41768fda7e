"""The HTTP application of a router: its paths, middleware and error handlers.

POST /publish    GET /subscribe        /ws    POST /request    POST /trace    GET /status
GET /watch       GET /subscriptions    POST /check             POST /covers   POST /explain
GET /healthz     GET /readyz           GET /metrics            GET /openapi.json
GET /            GET /page/…
"""

from __future__ import annotations

from collections.abc import Sequence
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
from cbnet.network.http.http_links import HttpLinks
from cbnet.network.http.origin_guard import OriginGuard
from cbnet.network.http.playground import Playground
from cbnet.network.http.problems import Problem, json_response, problem_of, problem_response
from cbnet.network.http.publishing import Publishing
from cbnet.network.http.queries import Queries
from cbnet.network.http.streams.event_stream import EventStreams
from cbnet.network.http.streams.web_socket import WebSockets
from cbnet.network.http.watch.health import health_notes, health_problems, readiness_problems
from cbnet.network.http.watch.metrics import CONTENT_TYPE, exposition
from cbnet.network.http.watch.network_watch import NetworkWatch
from cbnet.network.http.web_page import web_page
from cbnet.network.transport.tcp_router import TcpRouter

_CACHE_TIME: Final = 0.2  # seconds for which collected metrics are reused
_HINTS: Final = {404: "the paths are in /openapi.json", 405: "the methods are in /openapi.json"}


def http_application(router: TcpRouter, links: HttpLinks, origins: Sequence[str]) -> Starlette:
    """Return the application of a router; origins: further origins whose web pages may use it."""
    publishing, queries, observation = Publishing(links), Queries(links), _Observation(router, links)
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
        Route("/", web_page, methods=["GET"]),
        Route("/page/{name}", web_page, methods=["GET"]),
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


class _Observation:
    """Health, readiness and metrics, which need no link."""

    def __init__(self, router: TcpRouter, links: HttpLinks) -> None:
        self._router = router
        self._links = links
        self._metrics = (float("-inf"), b"")  # time of collection, text

    async def health(self, _: Request) -> Response:
        return self._state("healthy", health_problems(self._router))

    async def readiness(self, _: Request) -> Response:
        return self._state("ready", readiness_problems(self._router))

    async def metrics(self, request: Request) -> Response:
        self._links.rights(request).check_watch()
        collected, text = self._metrics
        if self._router.now - collected > _CACHE_TIME:
            text = exposition(self._router)
            self._metrics = self._router.now, text
        return Response(text, headers={"Cache-Control": "no-store"}, media_type=CONTENT_TYPE)

    def _state(self, name: str, reasons: list[str]) -> Response:
        lists = {"reasons": reasons, "notes": health_notes(self._router)}
        body = {name: not reasons, **{key: texts for key, texts in lists.items() if texts}}
        return json_response(body, 503 if reasons else 200)


async def _description(_: Request) -> Response:
    return Response(files("cbnet.network.http").joinpath("openapi.json").read_bytes(), media_type="application/json")


async def _failed(_: Request, error: CbnetError) -> Response:
    return problem_response(problem_of(error))


async def _not_found(_: Request, error: HTTPException) -> Response:
    response = problem_response(Problem(error.status_code, error.detail, hint=_HINTS.get(error.status_code, "")))
    response.headers.update(error.headers or {})
    return response


async def _disconnected(_: Request, __: ClientDisconnect) -> Response:
    return Response(status_code=400)  # nobody reads it
