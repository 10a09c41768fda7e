"""`GET /watch`: the routers of the network, their links, clients and rates, as server-sent events.

The router queries all routers that it can reach, itself first and then the neighbours of routers that answer, every
second, or less often if there are more than a hundred. An event is sent if something has changed. A router that others
have as a neighbour but that does not answer is included with `answers: false`. All streams share the samples. Their
links are not listed among the clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict
from typing import Any, Final

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.router_status import LinkRates, RouterRates, router_rates
from cbnet.network.errors import Refused, Timeout
from cbnet.network.http.event_stream import KEEP_ALIVE, KEEP_ALIVE_COMMENT, event, serve_events
from cbnet.network.http.http_links import bearer_token, links_of
from cbnet.network.http.request_input import RequestOptions
from cbnet.network.protocol.frames import Status

_INTERVAL: Final = 1.0  # seconds between two samples
_FRESH: Final = 0.8  # fraction of this interval for which other streams reuse a sample
_FORGOTTEN: Final = 5  # intervals without a watcher, after which rates start afresh
_ROUTERS: Final = 100  # beyond this number, the interval grows
_AT_ONCE: Final = 64  # inquiries
_TIMEOUT: Final = 4.0  # seconds; the router refuses an inquiry earlier
_MAX_CLIENTS: Final = 100  # of a router, that are listed
_MEMBERS: Final = (
    "router", "answers", "subscriptions", "own_filters", "filters", "is_complete", "in_per_s", "out_per_s",
    "published", "delivered", "initial", "delivered_to_initial", "waiting", "dropped",
)  # fmt: skip


class NetworkSamples:
    """The endpoint of a router for the state of the network: samples of all statuses, which all streams share."""

    def __init__(self) -> None:
        self._statuses: dict[str, Status] = {}
        self._sample: dict[str, Any] = {}
        self._taken = float("-inf")
        self._turn = asyncio.Lock()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client or the router ends the stream."""
        request = Request(scope, receive)
        RequestOptions(request.query_params, ())
        links_of(request).rights(request).check_watch()
        async with links_of(request).own(request, bearer_token(request), is_listed=False) as client:
            await serve_events(request, self._events(request, client), send)

    async def _events(self, request: Request, client: AsyncClient) -> AsyncGenerator[bytes, None]:
        last = await self.newest(client)
        yield event(last, name="network")
        loop = asyncio.get_running_loop()
        written = loop.time()
        while True:
            await asyncio.sleep(_interval(last))
            links_of(request).rights(request).check_watch()  # the configuration may have been reloaded
            now = await self.newest(client)
            if now != last or loop.time() - written > KEEP_ALIVE:
                yield KEEP_ALIVE_COMMENT if now == last else event(now, name="network")
                last, written = now, loop.time()

    async def newest(self, client: AsyncClient) -> dict[str, Any]:
        """Return the newest sample, as the members of a JSON object; if it is old, take one through this client."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            age = loop.time() - self._taken
            if age > _FORGOTTEN * _interval(self._sample):
                self._statuses = {}
            if age > _FRESH * _interval(self._sample):
                self._sample = await self._take(client)
                self._taken = loop.time()
            return self._sample

    async def _take(self, client: AsyncClient) -> dict[str, Any]:
        """Query the status of all reachable routers."""
        own = await client.status(_TIMEOUT)
        found: dict[str, Status | None] = {own.router: own}
        neighbours = {*own.neighbours}
        asked = {*self._statuses, *neighbours} - {own.router}
        while asked:
            names = sorted(asked)
            answers = await asyncio.gather(*(self._status(client, name) for name in names))
            found |= zip(names, answers, strict=True)
            neighbours |= {name for status in answers if status for name in status.neighbours}
            asked = neighbours - found.keys()
        routers = [
            self._members(name, status)
            for name, status in sorted(found.items())
            if status is not None or name in neighbours
        ]
        self._statuses = {name: status for name, status in found.items() if status is not None}
        return {"router": own.router, "network": own.network, "scheme": own.scheme, "routers": routers}

    async def _status(self, client: AsyncClient, name: str) -> Status | None:
        async with self._slots:
            try:
                return await client.status(_TIMEOUT, at=name)
            except (Refused, Timeout):
                return None

    def _members(self, name: str, status: Status | None) -> dict[str, Any]:
        rates = router_rates(name, "", self._statuses.get(name), status)
        clients = [link for link in rates.links if link.role == "client"]
        return {
            **{member: getattr(rates, member) for member in _MEMBERS},
            "clients": 0 if status is None else status.clients,
            "listed_clients": [*map(_link_members, clients[:_MAX_CLIENTS])],
            "neighbours": [_neighbour(rates, link, status) for link in rates.links if link.role == "router"],
        }


def _interval(sample: Mapping[str, Any]) -> float:
    """Return the seconds until the sample after this one."""
    return _INTERVAL * max(1, len(sample.get("routers", ())) / _ROUTERS)


def _neighbour(rates: RouterRates, link: LinkRates, status: Status | None) -> dict[str, Any]:
    """Return a link to a neighbour: its length, its rates, and how many filters the neighbour has announced."""
    wanted = max((each["held"] for each in rates.interfaces if each["neighbour"] == link.name), default=0)
    length = 1 if status is None else status.neighbours.get(link.name, 1)
    return {**_link_members(link), "length": length, "filters": wanted}


def _link_members(link: LinkRates) -> dict[str, Any]:
    members = asdict(link)
    del members["role"]
    return members
