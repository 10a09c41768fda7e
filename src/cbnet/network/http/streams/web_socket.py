"""`/ws`: publish, subscribe, request, offer and trace over one WebSocket, as JSON objects in text frames.

    client ──► {"op": "subscribe", "id": 1, "predicate": "price < 5"}   ──► {"op": "subscribed", "id": 1, …}
                                                                            {"op": "message", "id": 1, "message": …}
               {"op": "publish", "number": 2, "message": {"price": 3}}  ──► {"op": "published", "number": 2}
               {"op": "subscribe", "id": 3, "predicate": "price <"}     ──► {"op": "error", "id": 3, "detail": …, …}

Objects are handled in order, each after the answer to the previous one, which slows down a client that sends faster
than the router can handle. A `publish` without a `number` has no answer, unless it fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from cbnet.errors import CbnetError, InputError
from cbnet.language.message import Message
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.async_subscription import AsyncSubscription, Delivery
from cbnet.network.client.async_subscription import DurableDelivery
from cbnet.network.client.message_json import payload_from_members
from cbnet.network.http.http_links import HttpLinks, bearer_token
from cbnet.network.http.problems import Problem, problem_members, problem_of
from cbnet.network.http.publishing import publish_all
from cbnet.network.http.queries import REQUEST, TRACE, requested, traced
from cbnet.network.http.request_input import RequestOptions, object_of
from cbnet.network.http.streams.event_stream import (
    LossReports,
    confirmation_members,
    delivery_id,
    delivery_members,
    subscribe,
)
from cbnet.network.http.streams.server_sent_events import KEEP_ALIVE
from cbnet.network.http.streams.web_socket_offers import WebSocketOffers

_HELLO_TIMEOUT: Final = 5.0  # seconds
_REFUSED, _ENDED = 1008, 1012  # close codes [RFC 6455 §7.4.1]: policy violation, service restart
_REFERENCES: Final = ("id", "number")  # members that an answer repeats


class WebSockets:
    """The endpoint of a router for WebSockets."""

    def __init__(self, links: HttpLinks) -> None:
        self._links = links

    async def __call__(self, socket: WebSocket) -> None:
        """Serve a client until it or the router ends the connection."""
        await socket.accept()
        try:
            token = bearer_token(socket) or await self._hello_token(socket)
            async with self._links.own(socket, token) as client:
                await _Session(socket, client).run()
        except CbnetError as error:
            await _fail(socket, error)
        except (WebSocketDisconnect, RuntimeError):  # Starlette's error after the end of a connection
            return

    async def _hello_token(self, socket: WebSocket) -> str:
        """Return the token of the first frame, if the router needs one: web pages cannot set headers."""
        if not self._links.needs_token(socket):
            return ""
        try:
            async with asyncio.timeout(_HELLO_TIMEOUT):
                members = object_of(await _text(socket))
        except TimeoutError:
            members = {}
        if members.get("op") != "hello":
            hint = 'send {"op": "hello", "token": "…"} first, or the header `Authorization: Bearer TOKEN`'
            raise Problem(401, "a token is required", hint=hint)
        return RequestOptions(members, ("op", "token")).text("token")


class _Session:
    """One WebSocket, and its link."""

    def __init__(self, socket: WebSocket, client: AsyncClient) -> None:
        self._socket = socket
        self._client = client
        self._losses = LossReports(client)
        self._reporting = asyncio.Lock()
        self._subscriptions: dict[int | str, AsyncSubscription] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        offers = WebSocketOffers(client, self._send)
        self._handlers: Mapping[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]] = {
            "publish": self._publish,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "acknowledge": self._acknowledge,
            "request": self._request,
            "offer": offers.offer,
            "withdraw": offers.withdraw,
            "answer": offers.answer,
            "trace": self._trace,
        }

    async def run(self) -> None:
        """Handle objects until the end of the connection."""
        await self._send({"op": "welcome", "router": self._client.router})
        try:
            while True:
                await self._handle(await _text(self._socket))
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _handle(self, text: str) -> None:
        """Handle an object, and send the answer."""
        reference: dict[str, Any] = {}
        try:
            members = object_of(text)
            reference = {name: members[name] for name in _REFERENCES if name in members}
            answer = await self._handler(members)(members)
        except CbnetError as error:
            if not self._client.is_connected:
                raise
            answer = {"op": "error", **problem_members(problem_of(error))}
        if answer is not None:
            await self._send({**answer, **reference})

    def _handler(self, members: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]:
        op = members.pop("op", None)
        handler = self._handlers.get(op) if isinstance(op, str) else None
        if handler is None:
            raise InputError(f"unknown op {op!r}", hint="use one of " + ", ".join(self._handlers))
        return handler

    # --- operations

    async def _publish(self, members: dict[str, Any]) -> dict[str, Any] | None:
        options = RequestOptions(members, ("number", "message", "payload", "encoding", "durable", "timeout"))
        message = members.get("message")
        if not isinstance(message, dict):
            raise InputError("no message", hint='send {"op": "publish", "message": {"price": 3}}')
        item = Message.of(message), payload_from_members(members)
        if "number" not in members and not options.flag("durable"):
            await self._client.publish(*item, timeout=options.timeout())
            return None
        more = await publish_all(
            self._client, [item], is_durable=options.flag("durable"), timeout=options.timeout()
        )  # fmt: skip
        return {"op": "published", **more}

    async def _subscribe(self, members: dict[str, Any]) -> dict[str, Any]:
        options = RequestOptions(members, ("id", "predicate", "dialect", "wait", "timeout", "durable", "from"))
        id, predicate, durable = options.id(), options.predicate("predicate"), options.text("durable")
        if id in self._subscriptions:
            raise InputError(f"the id {id!r} is in use", hint="choose another one, or unsubscribe first")
        if not predicate and not durable:
            raise InputError("no predicate", hint='send {"op": "subscribe", "id": 1, "predicate": "price < 5"}')
        subscription = await subscribe(self._client, predicate, options, durable)
        self._subscriptions[id] = subscription
        task = asyncio.get_running_loop().create_task(self._deliver(id, subscription))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"op": "subscribed", **confirmation_members(subscription.confirmation)}

    async def _unsubscribe(self, members: dict[str, Any]) -> dict[str, Any]:
        options = RequestOptions(members, ("id",))
        await self._subscription(options).unsubscribe()
        del self._subscriptions[options.id()]
        return {"op": "unsubscribed"}

    async def _acknowledge(self, members: dict[str, Any]) -> None:
        options = RequestOptions(members, ("id", "up_to"))
        offset = members.get("up_to")
        if not isinstance(offset, int) or not 0 < offset < 1 << 63:
            raise InputError("no offset", hint='send {"op": "acknowledge", "id": 1, "up_to": OFFSET}')
        self._subscription(options).acknowledge_up_to(offset)

    async def _request(self, members: dict[str, Any]) -> dict[str, Any]:
        wanted = {name: value for name, value in members.items() if name != "number"}
        RequestOptions(wanted, REQUEST)
        return {"op": "reply", **await requested(self._client, wanted)}

    async def _trace(self, members: dict[str, Any]) -> dict[str, Any]:
        wanted = {name: value for name, value in members.items() if name != "number"}
        RequestOptions(wanted, TRACE)
        return {"op": "traced", **await traced(self._client, wanted)}

    def _subscription(self, options: RequestOptions) -> AsyncSubscription:
        subscription = self._subscriptions.get(options.id())
        if subscription is None:
            raise InputError(f"no subscription {options.id()!r}", hint="use the id of a `subscribe`")
        return subscription

    # --- deliveries

    async def _deliver(self, id: int | str, subscription: AsyncSubscription) -> None:
        """Send the messages of a subscription."""
        try:
            while not subscription.has_ended:
                batch = await subscription.take(0 if self._losses else KEEP_ALIVE)
                await self._report_losses()
                for delivery in batch:
                    await self._send({"op": "message", "id": id, **_delivery_members(delivery)})
        except CbnetError as error:
            self._subscriptions.pop(id, None)
            if not self._client.is_connected:
                await _fail(self._socket, error)
            else:
                await self._send({"op": "error", "id": id, **problem_members(problem_of(error))})
        except (WebSocketDisconnect, RuntimeError):  # `run` ends too
            return

    async def _report_losses(self) -> None:
        """Send the loss reports; return when all are sent, so that they precede the messages that follow."""
        async with self._reporting:
            for loss in self._losses.take():
                await self._send({"op": loss.name, **loss.members})

    async def _send(self, members: Mapping[str, Any]) -> None:
        await self._socket.send_text(msgspec.json.encode(members).decode())


def _delivery_members(delivery: Delivery) -> dict[str, Any]:
    members = {"event": delivery_id(delivery), **delivery_members(delivery)}
    if isinstance(delivery, DurableDelivery):
        members |= {"deliveries": delivery.deliveries}
    return members


async def _text(socket: WebSocket) -> str:
    """Return the text of the next frame."""
    event = await socket.receive()
    if event["type"] != "websocket.receive":
        raise WebSocketDisconnect(event.get("code", _ENDED))
    text: str | None = event.get("text")
    return event["bytes"].decode("utf-8", "replace") if text is None else text


async def _fail(socket: WebSocket, error: CbnetError) -> None:
    """Send an error, and close the connection."""
    problem = problem_of(error)
    try:
        await socket.send_text(msgspec.json.encode({"op": "error", **problem_members(problem)}).decode())
        await socket.close(_REFUSED if problem.status in (401, 403) else _ENDED)
    except (WebSocketDisconnect, RuntimeError):
        return
