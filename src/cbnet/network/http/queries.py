"""`POST /request`, `POST /trace`, `GET /status` and `GET /subscriptions`."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.async_pull import DEFAULT_HOLDERS
from cbnet.network.client.message_encoding import checked_message
from cbnet.network.client.message_json import payload_from_members, reply_members
from cbnet.network.errors import Refused
from cbnet.network.http.http_links import links_of
from cbnet.network.http.problems import Problem, json_response
from cbnet.network.http.request_input import RequestOptions, json_object
from cbnet.network.protocol.fields import MAX_HOLDERS
from cbnet.network.protocol.frames import Status, SubscriptionList, json_of
from cbnet.network.protocol.reasons import ReasonCode

_STATUSES: Final[dict[int, int]] = {ReasonCode.UNKNOWN: 404, ReasonCode.LIMIT: 503, ReasonCode.NO_ANSWER: 504}


async def request(request: Request) -> Response:
    """Request an item, and return the reply."""
    async with links_of(request).shared(request) as client:
        return json_response(await requested(client, await json_object(request)))


async def trace(request: Request) -> Response:
    """Trace a message."""
    async with links_of(request).shared(request) as client:
        return json_response(await traced(client, await json_object(request)))


async def status(request: Request) -> Response:
    """Return the status of the router."""
    async with links_of(request).shared(request) as client:
        return _answer_response(await client.status())


async def subscriptions(request: Request) -> Response:
    """Return the subscriptions at a router of the network."""
    options = RequestOptions(request.query_params, ("router",))
    links_of(request).rights(request).check_watch()
    async with links_of(request).shared(request) as client:
        try:
            return _answer_response(await client.subscriptions(at=options.text("router")))
        except Refused as error:
            raise Problem(_STATUSES.get(error.code, 403), str(error)) from None


def _answer_response(answer: Status | SubscriptionList) -> Response:
    members = json_of(answer)
    del members["number"]
    return json_response(members)


async def requested(client: AsyncClient, members: dict[str, Any]) -> dict[str, Any]:
    """Request the item that the members of a JSON object describe."""
    options = RequestOptions(members, ("request", "timeout", "max_holders", "fresh", "trace"))
    wanted = members.get("request", "")
    if not isinstance(wanted, str | dict) or not wanted:
        raise InputError("no request", hint='send {"request": "symbol = \\"A\\""}, or an object of values')
    reply = await client.request(
        wanted if isinstance(wanted, str) else checked_message(Message.from_dict(wanted)),
        timeout=options.timeout(),
        max_holders=int(options.number("max_holders", DEFAULT_HOLDERS, MAX_HOLDERS, least=1)),
        fresh=options.flag("fresh"),
        trace=options.flag("trace"),
    )
    return reply_members(reply, is_traced=options.flag("trace"))


async def traced(client: AsyncClient, members: dict[str, Any]) -> dict[str, Any]:
    """Trace the message in the members of a JSON object."""
    known = ("message", "payload", "encoding", "dry", "of", "dialect", "at", "timeout")
    options = RequestOptions(members, known)
    message = options.message('send {"message": {"price": 3}, "dry": true}')
    of, at = await options.predicate("of"), options.text("at")
    if at and not of:
        raise InputError("`at` needs `of`", hint="give the subscriber's predicate as `of`")
    found = await client.trace(
        message,
        payload_from_members(members),
        is_dry=options.flag("dry") or bool(of),
        of=of or None,
        at=at,
        timeout=options.timeout(),
    )
    return {"hops": json_of(found.hops), "missing": found.missing}
