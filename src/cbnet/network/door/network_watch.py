"""`GET /watch`: the routers of the network, their links, clients and rates, as server-sent events.

    event: network    data: {"router": "a", "network": "cbnet", "routers": [{"router": "a", "answers": true, …}, …]}
    event: error      data: a problem document; the stream ends

The router asks all routers that it can reach, itself first and then the neighbours of those that answer, every second,
or more slowly if there are more than a hundred. An event is sent if something has changed. A router that others have as
a neighbour and that does not answer is there with `answers: false`. The links of this stream and of requests are not
among the clients.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any, Final

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from cbnet.errors import CbnetError
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.status_rates import LinkRates, RouterRates, router_rates
from cbnet.network.door.http_links import HttpLinks, bearer_token
from cbnet.network.door.problems import problem_members, problem_of
from cbnet.network.door.request_input import RequestOptions
from cbnet.network.door.server_sent_events import (
    KEEP_ALIVE,
    SIGN_OF_LIFE,
    begin_events,
    disconnected,
    end_events,
    event,
    send_events,
)
from cbnet.network.errors import Refused, Timeout
from cbnet.network.protocol.frames import Status
from cbnet.network.transport.event_loop import wait_first

_INTERVAL: Final = 1.0  # seconds between two samples
_ROUTERS: Final = 100  # more make the interval longer
_AT_ONCE: Final = 64  # inquiries
_TIMEOUT: Final = 4.0  # seconds; the router refuses an inquiry before
_MAX_CLIENTS: Final = 100  # of a router, that are listed
_MEMBERS: Final = (
    "router", "answers", "subscriptions", "own_filters", "filters", "is_complete", "in_per_s", "out_per_s",
    "published", "delivered", "initial", "delivered_to_initial", "waiting", "dropped",
)  # fmt: skip


class NetworkWatch:
    """The endpoint of a router for the state of the network."""

    def __init__(self, links: HttpLinks) -> None:
        self._links = links

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client or the router ends the stream."""
        request = Request(scope, receive)
        RequestOptions(request.query_params, ())
        self._links.rights(request).check_watch()
        async with self._links.own(request, bearer_token(request)) as client:
            await wait_first(self._write(request, NetworkSamples(client, self._links), send), disconnected(receive))

    async def _write(self, request: Request, samples: NetworkSamples, send: Send) -> None:
        last = await samples.take()
        await begin_events(send, event(last, name="network"))
        loop = asyncio.get_running_loop()
        written = loop.time()
        try:
            while True:
                await asyncio.sleep(_INTERVAL * max(1, len(last["routers"]) / _ROUTERS))
                self._links.rights(request).check_watch()  # the configuration may have been reloaded
                now = await samples.take()
                is_due = loop.time() - written > KEEP_ALIVE
                if now != last or is_due:
                    await send_events(send, SIGN_OF_LIFE if now == last else event(now, name="network"))
                    last, written = now, loop.time()
        except CbnetError as error:
            await send_events(send, event(problem_members(problem_of(error)), name="error"))
        await end_events(send)


class NetworkSamples:
    """The statuses of all routers, sampled again and again by one client."""

    def __init__(self, client: AsyncClient, links: HttpLinks) -> None:
        self._client = client
        self._links = links
        self._last: dict[str, Status] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def take(self) -> dict[str, Any]:
        """Ask all routers; return the members of a JSON object."""
        own = await self._client.status(_TIMEOUT)
        found: dict[str, Status | None] = {own.router: own}
        neighbours = {*own.neighbours}
        asked = {*self._last, *neighbours} - {own.router}
        while asked:
            names = sorted(asked)
            found |= zip(names, await asyncio.gather(*map(self._status, names)), strict=True)
            neighbours |= {name for each in names if (status := found[each]) for name in status.neighbours}
            asked = neighbours - found.keys()
        routers = [
            self._members(name, status)
            for name, status in sorted(found.items())
            if status is not None or name in neighbours
        ]
        self._last = {name: status for name, status in found.items() if status is not None}
        return {"router": own.router, "network": own.network, "scheme": own.scheme, "routers": routers}

    async def _status(self, name: str) -> Status | None:
        async with self._slots:
            try:
                return await self._client.status(_TIMEOUT, at=name)
            except (Refused, Timeout):
                return None

    def _members(self, name: str, status: Status | None) -> dict[str, Any]:
        rates = router_rates(name, "", self._last.get(name), status)
        hidden = self._links.request_names | {self._client.name} if name == self._client.router else set()
        clients = [link for link in rates.links if link.role == "client" and link.name not in hidden]
        members = {member: getattr(rates, member) for member in _MEMBERS}
        count = 0 if status is None else status.clients - sum(peer.name in hidden for peer in status.peers)
        return {
            **members,
            "clients": count,
            "listed_clients": [*map(_link_members, clients[:_MAX_CLIENTS])],
            "neighbours": [_neighbour(rates, link, status) for link in rates.links if link.role == "router"],
        }


def _neighbour(rates: RouterRates, link: LinkRates, status: Status | None) -> dict[str, Any]:
    """Return a link to a neighbour: its length, its rates, and how many filters its side wants."""
    wanted = max((each["held"] for each in rates.interfaces if each["neighbour"] == link.name), default=0)
    length = 1 if status is None else status.neighbours.get(link.name, 1)
    return {**_link_members(link), "length": length, "filters": wanted}


def _link_members(link: LinkRates) -> dict[str, Any]:
    members = asdict(link)
    del members["role"]
    return members
