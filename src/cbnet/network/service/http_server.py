"""A read-only HTTP server for the health and metrics of a router.

    GET /healthz    200 if the router is healthy, else 503
    GET /readyz     200 if the router is ready for traffic, else 503; both as JSON, with reasons and notes
    GET /metrics    the metrics, in the text format of Prometheus

    healthy    its event loop runs
    ready      it listens; it has its neighbours, or has waited long enough for them; it is synchronised with them;
               what its neighbours want has arrived, or it has waited long enough; and it is not draining

A connection carries one small request and lives a few seconds, and the number of connections is limited. So clients
that send slowly, too much or nonsense, or do not read, cost the router almost nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.service.metrics import CONTENT_TYPE, exposition
from cbnet.network.transport.tcp_router import TcpRouter

STARTUP = 10.0  # seconds after the start in which a missing neighbour makes a router unready
_NOTED = 1.0  # seconds without an announcement: each change of the topology needs some
_MAX_SILENCE = 5.0  # seconds without a tick; there are ten per second
_MAX_HEAD = 1 << 13  # bytes of a request
_MAX_CONNECTIONS = 16
_TIMEOUT = 5.0  # seconds for a request and its response
_CACHE_TIME = 0.2  # seconds for which the metrics are not collected again
_REASONS = {
    200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
    431: "Request Header Fields Too Large", 503: "Service Unavailable",
}  # fmt: skip


class HttpResponse(NamedTuple):
    """A response."""

    status: int
    body: bytes
    content_type: str = "application/json"


class HttpServer:
    """The HTTP server of one router."""

    def __init__(self, router: TcpRouter, address: Address) -> None:
        self.address = address
        self._router = router
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._metrics = (float("-inf"), b"")  # time of collection, text
        self._pages: dict[str, Callable[[], HttpResponse]] = {
            "/healthz": lambda: _state("healthy", health_problems(router), silence_notes(router)),
            "/readyz": lambda: _state("ready", readiness_problems(router), silence_notes(router)),
            "/metrics": self._exposition,
        }

    async def start(self) -> None:
        """Listen."""
        try:
            self._server = await asyncio.start_server(self._serve, *self.address, limit=_MAX_HEAD)
        except OSError as error:
            problem = f"cannot listen on {self.address} for HTTP: {error.strerror}"
            raise InputError(problem, hint="choose another port") from None
        host, port, *_ = self._server.sockets[0].getsockname()
        self.address = Address(host, port)

    async def stop(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._open) < _MAX_CONNECTIONS:  # otherwise it is closed at once
                self._open.add(task)
                async with asyncio.timeout(_TIMEOUT):
                    await self._respond(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone or too slow, or the router stops
        finally:
            self._open.discard(task)
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            head, response = b"", _problem(431, "the request is too long")
        else:
            response = self.response(head)
        lines = [
            f"HTTP/1.1 {response.status} {_REASONS[response.status]}",
            f"Content-Type: {response.content_type}",
            f"Content-Length: {len(response.body)}",
            *(["Allow: GET, HEAD"] if response.status == 405 else []),
            "Cache-Control: no-store",
            "Connection: close",
        ]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        if not head.startswith(b"HEAD "):
            writer.write(response.body)
        await writer.drain()
        writer.write_eof()
        while await reader.read(_MAX_HEAD):  # until the client has read everything and closes
            pass

    def response(self, head: bytes) -> HttpResponse:
        """Return the response to the head of a request."""
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _problem(400, "not an HTTP/1 request")
        method, target, _ = words
        page = self._pages.get(target.split(b"?", 1)[0].decode("latin-1"))
        if page is None:
            return _problem(404, "unknown path; use one of " + ", ".join(self._pages))
        if method not in (b"GET", b"HEAD"):
            return _problem(405, "use GET or HEAD")
        return page()

    def _exposition(self) -> HttpResponse:
        collected, text = self._metrics
        if self._router.now - collected > _CACHE_TIME:
            text = exposition(self._router)
            self._metrics = self._router.now, text
        return HttpResponse(200, text, CONTENT_TYPE)


def _state(name: str, reasons: list[str], notes: list[str]) -> HttpResponse:
    lists = {"reasons": reasons, "notes": notes}
    body = {name: not reasons, **{key: texts for key, texts in lists.items() if texts}}
    return HttpResponse(503 if reasons else 200, json.dumps(body).encode() + b"\n")


def _problem(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, json.dumps({"error": text}).encode() + b"\n")


def health_problems(router: TcpRouter) -> list[str]:
    """Return why a router is not healthy; empty if it is."""
    silence = router.now - router.ticked
    return [f"the event loop has not run for {silence:.0f} s"] if silence > _MAX_SILENCE else []


def readiness_problems(router: TcpRouter) -> list[str]:
    """Return why a router is not ready; empty if it is."""
    if router.is_draining:
        return ["the router is draining"]
    if not router.is_listening:
        return ["the router is not listening"]
    missing = sorted(name for name in router.neighbours if router.router.links.to(name) is None)
    problems = health_problems(router)
    if missing and router.uptime < STARTUP:
        problems.append(f"no link to {', '.join(missing)} yet; waiting up to {STARTUP:g} s after the start")
    if router.router.links.routers() and not router.router.is_synchronised:
        problems.append("not yet synchronised with its neighbours")
    if not router.router.is_complete and router.uptime < STARTUP:
        problems.append("announcements of its neighbours have not arrived yet")
    return problems


def silence_notes(router: TcpRouter) -> list[str]:
    """Return which neighbours owe announcements; until they come, their side gets all messages."""
    silent = sorted(router.router.silent_neighbours.items())
    return [f"no announcement of {name} for {seconds:.0f} s" for name, seconds in silent if seconds >= _NOTED]
