"""Health, readiness and metrics of a router over HTTP, without a link to it.

healthy    its event loop runs
ready      it listens; it has its neighbours, or has waited long enough for them; it is synchronised with them;
           their announcements have arrived, or it has waited long enough for them; its journal, if it has one, can be
           written; and it is not draining
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from cbnet.network.http.http_links import links_of
from cbnet.network.http.monitoring.metrics import CONTENT_TYPE, exposition
from cbnet.network.http.problems import json_response
from cbnet.network.transport.tcp_router import TcpRouter

_CACHE_TIME: Final = 0.2  # seconds for which collected metrics are reused
STARTUP = 10.0  # seconds after the start in which a missing neighbour makes a router unready
_NOTED = 1.0  # seconds without an announcement: every change of the topology takes some time
_MAX_SILENCE = 5.0  # seconds without a tick; there are ten per second


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
    return problems + [problem for problem in [router.router.durable.problem] if problem]


def health_notes(router: TcpRouter) -> list[str]:
    """Return the neighbours that owe announcements, whose sides get all messages, and problems of the journal."""
    silent = sorted(router.router.silent_neighbours.items())
    notes = [f"no announcement of {name} for {seconds:.0f} s" for name, seconds in silent if seconds >= _NOTED]
    return notes + router.router.durable.notes


class Observation:
    """The endpoints for health, readiness and metrics."""

    def __init__(self, router: TcpRouter) -> None:
        self._router = router
        self._metrics = (float("-inf"), b"")  # time of collection, text

    async def health(self, _: Request) -> Response:
        """Return whether the router is healthy."""
        return self._state("healthy", health_problems(self._router))

    async def readiness(self, _: Request) -> Response:
        """Return whether the router is ready."""
        return self._state("ready", readiness_problems(self._router))

    async def metrics(self, request: Request) -> Response:
        """Return the metrics, for clients with the right `watch`."""
        links_of(request).rights(request).check_watch()
        collected, text = self._metrics
        if self._router.now - collected > _CACHE_TIME:
            text = exposition(self._router)
            self._metrics = self._router.now, text
        return Response(text, headers={"Cache-Control": "no-store"}, media_type=CONTENT_TYPE)

    def _state(self, name: str, reasons: list[str]) -> Response:
        lists = {"reasons": reasons, "notes": health_notes(self._router)}
        body = {name: not reasons, **{key: texts for key, texts in lists.items() if texts}}
        return json_response(body, 503 if reasons else 200)
