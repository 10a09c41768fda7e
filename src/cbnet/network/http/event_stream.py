"""`GET /subscribe`: messages that match a predicate, as server-sent events; `docs/reference/http.md` lists them.

The id of an event is the id of its message, the same in all networks and for all subscribers. While the client does not
read, the router queues messages for it, drops the oldest beyond its limits, and reports their number as `lost`. After
that, or after failures of routers, `missed` bounds the messages of one source that did not arrive. Both events are sent
at the position of the missing messages in the stream: after the earlier messages, and before the next.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple, cast

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from cbnet.errors import CbnetError, InputError
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery
from cbnet.network.client.client_events import ClientEvent, EventKind
from cbnet.network.client.message_json import delivery_members
from cbnet.network.errors import NotConfirmed
from cbnet.network.http.http_links import bearer_token, links_of
from cbnet.network.http.problems import problem_members, problem_of
from cbnet.network.http.request_input import RequestOptions
from cbnet.network.transport.event_loop import wait_first

KEEP_ALIVE: Final = 15.0  # seconds of silence until a comment is sent; the page reconnects after 40
KEEP_ALIVE_COMMENT: Final = b": keep-alive\n\n"
_RETRY: Final = b"retry: 1000\n"
_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # proxies pass events on at once
]
QUEUE: Final = 64  # messages; the others wait in the queue of the link, which the router accounts for


class EventStreams:
    """The endpoint of a router for event streams."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Subscribe, and send events until the client or the router ends the stream."""
        request = Request(scope, receive)
        options = RequestOptions(request.query_params, ("predicate", "dialect", "wait", "timeout", "from", "group"))
        predicate = await options.predicate("predicate")
        if not predicate:
            raise InputError("no predicate", hint="add ?predicate=…, percent-encoded")
        async with links_of(request).own(request, bearer_token(request)) as client:
            losses = LossReports(client)
            losses.subscription = subscription = await subscribe(client, predicate, options)
            await serve_events(request, message_events(client, subscription, losses), send)


class LossReport(NamedTuple):
    """A report of missing messages."""

    position: int  # number of messages in the queue that were received before
    name: str
    members: dict[str, Any]  # of its JSON object


class LossReports:
    """The losses of a client since the last report."""

    def __init__(self, client: AsyncClient) -> None:
        self.subscription: AsyncSubscription | None = None  # whose queue the positions refer to
        self._losses: list[LossReport] = []
        client.on_event = self._add

    def __len__(self) -> int:
        return len(self._losses)

    def take(self) -> list[LossReport]:
        """Return the new losses, in order."""
        losses, self._losses = self._losses, []
        return losses

    def _add(self, new: ClientEvent) -> None:
        if new.kind in (EventKind.LOST, EventKind.MISSED):
            position = 0 if self.subscription is None else len(self.subscription)
            self._losses.append(LossReport(position, new.kind.value, {"messages": new.messages, "text": new.text}))


async def subscribe(
    client: AsyncClient, predicate: str, options: RequestOptions, durable: str = ""
) -> AsyncSubscription:
    """Subscribe; `wait`: return when all routers have the subscription, or on timeout. `from`: start in the past."""
    wait, timeout, since, group = options.flag("wait"), options.timeout(), options.since("from"), options.text("group")
    try:
        return await client.subscribe(
            predicate, wait=wait, timeout=timeout, queue=QUEUE, durable=durable, since=since, group=group
        )
    except NotConfirmed as error:  # it stays active
        return cast(AsyncSubscription, error.subscription)


def confirmation_members(confirmation: Confirmation) -> dict[str, Any]:
    """Return the members of a JSON object that confirms a subscription."""
    return {
        "confirmed": confirmation.is_confirmed,
        "routers": confirmation.routers,
        "missing": confirmation.missing,
    }


def delivery_id(delivery: Delivery) -> str:
    """Return the id of a message: its source, the incarnation of the source, and its number."""
    return ":".join(map(str, delivery.id))


async def message_events(
    client: AsyncClient, subscription: AsyncSubscription, losses: LossReports
) -> AsyncGenerator[bytes, None]:
    """Yield events until the subscription ends."""
    members = {"router": client.router, **confirmation_members(subscription.confirmation)}
    yield event(members, name="subscribed")
    while not subscription.has_ended:
        deliveries = await subscription.take(0 if losses else KEEP_ALIVE)
        events = [event(delivery_members(each), id=delivery_id(each)) for each in deliveries]
        for loss in reversed(losses.take()):
            events.insert(loss.position, event(loss.members, name=loss.name))
        yield b"".join(events) or KEEP_ALIVE_COMMENT


# --- server-sent events


async def serve_events(request: Request, events: AsyncGenerator[bytes, None], send: Send) -> None:
    """Send events until there are no more, or the client disconnects."""
    await wait_first(request.state.connection.share.run(write_events(events, send)), _disconnected(request.receive))


async def write_events(events: AsyncGenerator[bytes, None], send: Send) -> None:
    """Send a response with events; an error after the first one is the last."""

    async def body(data: bytes, *, has_more: bool = True) -> None:
        await send({"type": "http.response.body", "body": data, "more_body": has_more})

    async with aclosing(events):
        first = await anext(events)
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await body(_RETRY + first)
        try:
            async for data in events:
                await body(data)
        except CbnetError as error:
            await body(event(problem_members(problem_of(error)), name="error"))
        await body(b"", has_more=False)


async def _disconnected(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def event(members: Mapping[str, Any], *, name: str = "", id: str = "") -> bytes:
    """Return the bytes of an event."""
    head = (f"event: {name}\n" if name else "") + (f"id: {id}\n" if id else "")
    return head.encode() + b"data: " + msgspec.json.encode(members) + b"\n\n"
