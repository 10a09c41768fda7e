"""Offers of a WebSocket client, and its answers to requests.

    client ──► {"op": "offer", "id": 4, "predicate": "exists symbol"}        ──► {"op": "offered", "id": 4, …}
                                                                                 {"op": "requested", "id": 4, "number": 1, "request": {"symbol": "A"}}
               {"op": "answer", "number": 1, "message": {"symbol": "A", …}}

An answer without a message means that the client does not have the item, and so does no answer: the router then asks
another holder.
"""  # noqa: E501

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Final, NamedTuple, cast

from starlette.websockets import WebSocketDisconnect

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.language.roles import filter_of
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.async_pull import AsyncOffer, Item
from cbnet.network.client.message_json import payload_from_members
from cbnet.network.errors import NotConfirmed
from cbnet.network.http.request_input import RequestOptions
from cbnet.network.http.streams.event_stream import confirmation_members

_TIMEOUT: Final = 60.0  # seconds for an answer; the router gives up earlier, after its setting `answer`
_MAX_OPEN: Final = 1_000  # unanswered requests; further ones are answered with no item
_MAX_KEEP: Final = 1e9  # seconds


class _OpenRequest(NamedTuple):
    request: Message
    item: asyncio.Future[Item | None]


class WebSocketOffers:
    """The offers of one WebSocket, and the requests that it has not answered."""

    def __init__(self, client: AsyncClient, send: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        self._client, self._send = client, send
        self._offers: dict[int | str, AsyncOffer] = {}
        self._open: dict[int, _OpenRequest] = {}
        self._numbers = count(1)

    async def offer(self, members: dict[str, Any]) -> dict[str, Any]:
        """Offer items; requests for them are sent to the client."""
        options = RequestOptions(members, ("id", "predicate", "dialect", "wait", "timeout"))
        id, predicate = options.id(), options.predicate("predicate")
        if id in self._offers:
            raise InputError(f"the id {id!r} is in use", hint="choose another one, or withdraw first")
        if not predicate:
            raise InputError("no predicate", hint='send {"op": "offer", "id": 1, "predicate": "exists symbol"}')

        async def item(request: Message) -> Item | None:
            return await self._item(id, request)

        try:
            offer = await self._client.offer(
                predicate, item, wait=options.flag("wait"), timeout=options.timeout()
            )  # fmt: skip
        except NotConfirmed as error:  # it stays active
            offer = cast(AsyncOffer, error.subscription)
        self._offers[id] = offer
        return {"op": "offered", **confirmation_members(offer.confirmation)}

    async def withdraw(self, members: dict[str, Any]) -> dict[str, Any]:
        """End an offer."""
        id = RequestOptions(members, ("id",)).id()
        if id not in self._offers:
            raise InputError(f"no offer {id!r}", hint="use the id of an `offer`")
        await self._offers.pop(id).withdraw()
        return {"op": "withdrawn"}

    async def answer(self, members: dict[str, Any]) -> None:
        """Handle the client's answer to a request."""
        RequestOptions(members, ("number", "message", "payload", "encoding", "keep"))
        number = members.get("number")
        entry = self._open.pop(number, None) if type(number) is int else None
        if entry is None:
            raise InputError(f"no open request {number!r}", hint="answer each `requested` once, within its time")
        item: Item | None = None
        try:
            if members.get("message") is not None:
                message = _matching(members["message"], entry.request)
                item = Item(message, payload_from_members(members), _keep(members.get("keep")))
        finally:
            if not entry.item.done():
                entry.item.set_result(item)

    async def _item(self, id: int | str, request: Message) -> Item | None:
        """Send a request to the client, and return its answer."""
        if len(self._open) >= _MAX_OPEN:
            return None
        number = next(self._numbers)
        item: asyncio.Future[Item | None] = asyncio.get_running_loop().create_future()
        self._open[number] = _OpenRequest(request, item)
        try:
            async with asyncio.timeout(_TIMEOUT):
                await self._send({"op": "requested", "id": id, "number": number, "request": request.to_dict()})
                return await item
        except (TimeoutError, WebSocketDisconnect, RuntimeError):  # Starlette's errors after the end of a connection
            return None
        finally:
            self._open.pop(number, None)


def _keep(seconds: object) -> float | None:
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds <= _MAX_KEEP:
        raise InputError(f"keep: {seconds!r} is not a valid number", hint="use seconds, or 0 for no caching")
    return seconds


def _matching(members: object, request: Message) -> Message:
    """Return the message of an item, if it matches the request."""
    if not isinstance(members, dict):
        raise InputError("the message is not an object", hint='send {"op": "answer", "number": 1, "message": {…}}')
    message = Message.of(members)
    if not filter_of(request).matches(message):
        raise InputError("the item does not match the request", hint="leave `message` out if there is no such item")
    return message
