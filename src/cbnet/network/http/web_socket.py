"""`/ws`: publish, subscribe, request, offer and trace over one WebSocket, as JSON objects in text frames.

`docs/reference/http.md` lists them. Objects are handled in order, each after the answer to the previous one, which
slows down a client that sends faster than the router can handle. An `answer` without a message means that the client
does not have the item, and so does no answer: the router then asks another holder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from cbnet.errors import CbnetError, InputError
from cbnet.language.message import Message
from cbnet.language.roles import filter_of
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.async_pull import AsyncOffer, Item
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.client.message_json import (
    delivery_members,
    keep_from_members,
    object_from_json,
    payload_from_members,
)
from cbnet.network.errors import NotConfirmed
from cbnet.network.http.event_stream import (
    KEEP_ALIVE,
    LossReports,
    confirmation_members,
    delivery_id,
    subscribe,
)
from cbnet.network.http.http_links import bearer_token, links_of
from cbnet.network.http.problems import Problem, problem_members, problem_of
from cbnet.network.http.processor_share import ProcessorShare
from cbnet.network.http.publishing import DURABLE_OPTIONS, publication_of, publish_all
from cbnet.network.http.queries import requested, traced
from cbnet.network.http.request_input import MAX_OBJECT_VALUES, RequestOptions
from cbnet.network.protocol.fields import MAX_INT

_HELLO_TIMEOUT: Final = 5.0  # seconds
_REFUSED, _ENDED = 1008, 1012  # close codes [RFC 6455 §7.4.1]: policy violation, service restart
_ANSWER_TIMEOUT: Final = 60.0  # seconds; the router gives up earlier, after its setting `answer`
_MAX_OPEN: Final = 1_000  # unanswered requests; further ones are answered with no item
_REFERENCES: Final = ("id", "number")  # members that an answer repeats

Members: TypeAlias = dict[str, Any]  # of a JSON object


async def serve_socket(socket: WebSocket) -> None:
    """Serve a client until it or the router ends the connection."""
    await socket.accept()
    try:
        token = bearer_token(socket) or await _hello_token(socket)
        async with links_of(socket).own(socket, token) as client:
            if (protocol := socket.state.connection.transport.get_protocol()) is not None:  # else it is closed
                protocol.admit()
            await _Session(socket, client).run()
    except CbnetError as error:
        await _fail(socket, error)
    except (WebSocketDisconnect, RuntimeError):  # Starlette's error after the end of a connection
        return


async def _hello_token(socket: WebSocket) -> str:
    """Return the token of the first frame, if the router needs one: web pages cannot set headers."""
    if not links_of(socket).needs_token(socket):
        return ""
    try:
        async with asyncio.timeout(_HELLO_TIMEOUT):
            members = await _object(socket)
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
        self._send = partial(_send, socket)
        self._losses = LossReports(client)
        self._reporting = asyncio.Lock()
        self._subscriptions: dict[int | str, AsyncSubscription] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._offers = _Offers(client, self._send)
        self._handlers: Mapping[str, Callable[[Members], Awaitable[Members | None]]] = {
            "publish": self._publish,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "acknowledge": self._acknowledge,
            "request": self._request,
            "offer": self._offers.offer,
            "withdraw": self._offers.withdraw,
            "answer": self._offers.answer,
            "trace": self._trace,
        }

    async def run(self) -> None:
        """Handle objects until the end of the connection."""
        try:
            await self._send({"op": "welcome", "router": self._client.router})
            while True:
                await self._handle()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._offers.clear()
            self._handlers = {}  # they refer to this object

    async def _handle(self) -> None:
        """Handle the next object, and send the answer."""
        reference: Members = {}
        try:
            members = await _object(self._socket)
            options = RequestOptions(members, members)
            reference = {name: options.reference(name) for name in _REFERENCES if name in members}
            answer = await self._handler(members)(members)
        except CbnetError as error:
            if not self._client.is_connected:
                raise
            answer = {"op": "error", **problem_members(problem_of(error))}
        if answer is not None:
            await self._send({**answer, **reference})

    def _handler(self, members: Members) -> Callable[[Members], Awaitable[Members | None]]:
        op = members.pop("op", None)
        handler = self._handlers.get(op) if isinstance(op, str) else None
        if handler is None:
            raise InputError(f"unknown op {op!r}", hint="use one of " + ", ".join(self._handlers))
        return handler

    # --- operations

    async def _publish(self, members: Members) -> Members | None:
        options = RequestOptions(members, ("number", "message", "payload", "encoding", *DURABLE_OPTIONS))
        publication = publication_of(options)
        message = options.message('send {"op": "publish", "message": {"price": 3}}')
        item = message, payload_from_members(members)
        if "number" not in members and not publication.is_durable:
            await self._client.publish(*item, timeout=publication.timeout)
            return None
        return {"op": "published", **await publish_all(self._client, [item], publication)}

    async def _subscribe(self, members: Members) -> Members:
        options = RequestOptions(members, ("id", "predicate", "dialect", "wait", "timeout", "durable", "from", "group"))
        id, predicate, durable = options.reference("id"), await options.predicate("predicate"), options.text("durable")
        if id in self._subscriptions:
            raise InputError(f"the id {id!r} is in use", hint="choose another one, or unsubscribe first")
        if not predicate and not durable:
            raise InputError("no predicate", hint='send {"op": "subscribe", "id": 1, "predicate": "price < 5"}')
        subscription = await subscribe(self._client, predicate, options, durable)
        self._subscriptions[id] = subscription
        share: ProcessorShare = self._socket.state.connection.share
        task = asyncio.get_running_loop().create_task(share.run(self._deliver(id, subscription)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"op": "subscribed", **confirmation_members(subscription.confirmation)}

    async def _unsubscribe(self, members: Members) -> Members:
        options = RequestOptions(members, ("id",))
        await self._subscription(options).unsubscribe()
        del self._subscriptions[options.reference("id")]
        return {"op": "unsubscribed"}

    async def _acknowledge(self, members: Members) -> None:
        options = RequestOptions(members, ("id", "up_to"))
        offset = members.get("up_to")
        if type(offset) is not int or not 0 < offset <= MAX_INT:
            raise InputError("no offset", hint=f"send the offset of a message as `up_to`, at most {MAX_INT:,}")
        self._subscription(options).acknowledge_up_to(offset)

    async def _request(self, members: Members) -> Members:
        members.pop("number", None)
        return {"op": "reply", **await requested(self._client, members)}

    async def _trace(self, members: Members) -> Members:
        members.pop("number", None)
        return {"op": "traced", **await traced(self._client, members)}

    def _subscription(self, options: RequestOptions) -> AsyncSubscription:
        subscription = self._subscriptions.get(options.reference("id"))
        if subscription is None:
            raise InputError(f"no subscription {options.reference('id')!r}", hint="use the id of a `subscribe`")
        return subscription

    # --- deliveries

    async def _deliver(self, id: int | str, subscription: AsyncSubscription) -> None:
        """Send the messages of a subscription."""
        try:
            while not subscription.has_ended:
                batch = await subscription.take(0 if self._losses else KEEP_ALIVE)
                await self._report_losses()
                for delivery in batch:
                    await self._send(
                        {"op": "message", "id": id, "event": delivery_id(delivery), **delivery_members(delivery)}
                    )
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


async def _send(socket: WebSocket, members: Mapping[str, Any]) -> None:
    await socket.send_text(msgspec.json.encode(members).decode())


async def _object(socket: WebSocket) -> Members:
    """Return the object of the next frame."""
    event = await socket.receive()
    if event["type"] != "websocket.receive":
        raise WebSocketDisconnect(event.get("code", _ENDED))
    return object_from_json(event["bytes"], MAX_OBJECT_VALUES)


async def _fail(socket: WebSocket, error: CbnetError) -> None:
    """Send an error, and close the connection."""
    problem = problem_of(error)
    try:
        await _send(socket, {"op": "error", **problem_members(problem)})
        await socket.close(_REFUSED if problem.status in (401, 403) else _ENDED)
    except (WebSocketDisconnect, RuntimeError):
        return


# --- offers


class _OpenRequest(NamedTuple):
    request: Message
    item: asyncio.Future[Item | None]


class _Offers:
    """The offers of one WebSocket, and the requests that it has not answered."""

    def __init__(self, client: AsyncClient, send: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        self._client, self._send = client, send
        self._offers: dict[int | str, AsyncOffer] = {}
        self._open: dict[int, _OpenRequest] = {}
        self._numbers = count(1)

    async def offer(self, members: Members) -> Members:
        """Offer items; requests for them are sent to the client."""
        options = RequestOptions(members, ("id", "predicate", "dialect", "wait", "timeout"))
        id, predicate = options.reference("id"), await options.predicate("predicate")
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

    def clear(self) -> None:
        """Release the offers, whose handlers refer to this object."""
        self._offers.clear()

    async def withdraw(self, members: Members) -> Members:
        """End an offer."""
        id = RequestOptions(members, ("id",)).reference("id")
        if id not in self._offers:
            raise InputError(f"no offer {id!r}", hint="use the id of an `offer`")
        await self._offers.pop(id).withdraw()
        return {"op": "withdrawn"}

    async def answer(self, members: Members) -> None:
        """Handle the client's answer to a request."""
        options = RequestOptions(members, ("number", "message", "payload", "encoding", "keep"))
        number = members.get("number")
        entry = self._open.pop(number, None) if type(number) is int else None
        if entry is None:
            raise InputError(f"no open request {number!r}", hint="answer each `requested` once, within its time")
        item: Item | None = None
        try:
            if members.get("message") is not None:
                message = _matching(options, entry.request)
                item = Item(message, payload_from_members(members), keep_from_members(members))
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
            async with asyncio.timeout(_ANSWER_TIMEOUT):
                await self._send({"op": "requested", "id": id, "number": number, "request": request.to_dict()})
                return await item
        except (TimeoutError, WebSocketDisconnect, RuntimeError):  # Starlette's errors after the end of a connection
            return None
        finally:
            self._open.pop(number, None)


def _matching(options: RequestOptions, request: Message) -> Message:
    """Return the message of an item, if it matches the request."""
    message = options.message('send {"op": "answer", "number": 1, "message": {…}}')
    if not filter_of(request).matches(message):
        raise InputError("the item does not match the request", hint="leave `message` out if there is no such item")
    return message
