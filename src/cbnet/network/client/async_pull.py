"""Offers and requests of an asyncio client.

    offer      a predicate, and a handler that is called with every request routed to this client
    request    tags and values that the reply must have; answered by one holder, or by a cache on the path

A handler gets the request as a `Message` and returns the item, or None if it does not have it. It may be a coroutine.
An exception is logged and counts as None: another holder is then asked.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from msgspec.structs import replace

from cbnet.errors import CbnetError, InputError
from cbnet.language.message import Message
from cbnet.network.client.async_subscription import Confirmation
from cbnet.network.client.message_encoding import MessageLike, check_payload, encode_checked, message_content
from cbnet.network.errors import NoReply, Timeout
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_HOLDERS, MAX_SECONDS
from cbnet.network.protocol.frames import StepField
from cbnet.network.protocol.request_codec import (
    DecodedRequest,
    RequestLike,
    as_request,
    request_from_bytes,
    request_to_bytes,
)
from cbnet.network.protocol.wire import encode

if TYPE_CHECKING:
    from cbnet.network.client.client_inbox import ClientInbox
    from cbnet.network.client.client_link import ClientLink

DEFAULT_HOLDERS: Final = 8
_MAX_TIMEOUT = 3_600.0  # seconds
MAX_KEEP: Final = 1e12  # seconds

_log = logging.getLogger("cbnet.network")


class Item(NamedTuple):
    """The answer of a holder: a message that matches the request, and a payload."""

    message: MessageLike
    payload: bytes = b""
    keep: float | None = None  # seconds that routers may cache it; 0: not at all


class Reply(NamedTuple):
    """The reply to a request."""

    message: dict[str, Any]  # the attributes, and the tags, if any, under "#"
    payload: bytes
    holder: str  # the router of the client that answered
    cache: str  # the router whose cache it comes from; "" if it comes from the holder
    age: float  # seconds in caches
    asked: int  # holders asked, including the one that answered
    steps: list[StepField]  # of routers, with trace=True


Answer: TypeAlias = Item | bytes | None  # bytes: the payload of an item whose message is the request itself
Handler: TypeAlias = Callable[[Message], Answer | Awaitable[Answer]]


class AsyncOffer:
    """An offer of an `AsyncClient`; as a context manager, it is withdrawn on exit."""

    def __init__(self, inbox: ClientInbox, id: int, predicate: str, handler: Handler) -> None:
        self.id = id
        self.predicate = predicate
        self.handler = handler
        self.confirmation = Confirmation(False, 0, [])
        self.answered = 0  # requests answered with an item
        self.failure: CbnetError | None = None  # set if a later router refuses the offer
        self.is_registered = False  # whether a router has accepted it
        self._inbox = inbox

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.withdraw()

    async def withdraw(self) -> None:
        """Stop answering requests."""
        await self._inbox.withdraw(self)


class OfferAnswers:
    """The tasks that answer requests, one per request."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """Initialise with a function that sends encoded frames."""
        self._send = send
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, frame: frames.HolderRequest, offer: AsyncOffer | None) -> None:
        """Start answering a request; without an offer, which was just withdrawn, the answer has no item."""
        task = asyncio.get_running_loop().create_task(self._answer(frame, offer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, frame: frames.HolderRequest, offer: AsyncOffer | None) -> None:
        data = encode(frames.Answer(frame.number, None))
        if offer is not None:
            try:
                item = await _item(offer.handler, request_from_bytes(frame.request))
                data = encode_checked(frames.Answer(frame.number, item), {})
                offer.answered += item is not None
            except Exception:
                _log.exception("no answer to a request for %s", offer.predicate)
        self._send(data)


async def _item(handler: Handler, requested: DecodedRequest) -> frames.ItemField | None:
    """Return a handler's item for a request; raise an `InputError` if it cannot be sent."""
    request = Message(dict(requested.content.attributes), requested.content.tags)
    answer = handler(request)
    item = await answer if inspect.isawaitable(answer) else answer
    if item is None:
        return None
    if isinstance(item, bytes | bytearray | memoryview):
        item = Item(request, bytes(item))
    if not isinstance(item, Item):
        raise InputError(f"the handler returned {type(item).__name__}", hint="return an Item, bytes or None")
    if not requested.filter.matches(item.message):
        raise InputError(f"the item does not match the request {request}", hint="return None if there is no item")
    attributes, tags = message_content(item.message)
    return frames.ItemField(attributes, tags, check_payload(item.payload), _keep(item.keep))


def _keep(seconds: float | None) -> int | None:
    if seconds is not None and not 0 <= seconds <= MAX_KEEP:
        raise InputError(f"invalid keep time {seconds} s", hint="use 0 for no caching, None for no limit")
    return None if seconds is None else round(seconds * 1000)


def pull_frame(
    number: int, request: RequestLike, timeout: float, max_holders: int, *, fresh: bool, trace: bool
) -> frames.PullFrame:  # fmt: skip
    """Return the frame of a request; raise an `InputError` if an argument is invalid."""
    if not 1 <= max_holders <= MAX_HOLDERS:
        raise InputError(f"invalid max_holders {max_holders}", hint=f"use a number from 1 to {MAX_HOLDERS}")
    if not 0 < timeout <= _MAX_TIMEOUT:
        raise InputError(f"invalid timeout {timeout:g} s", hint=f"use a positive number up to {_MAX_TIMEOUT:,.0f}")
    return frames.PullFrame(
        number=number,
        request=request_to_bytes(as_request(request)),
        timeout=timeout,
        max_holders=max_holders,
        is_fresh=fresh,
        is_traced=trace,
    )


async def pull(link: ClientLink, frame: frames.PullFrame) -> Reply:
    """Send a request, with the remaining time when the link is ready as its timeout, and return the reply."""
    loop = asyncio.get_running_loop()
    end = loop.time() + frame.timeout

    def send() -> None:
        link.send(replace(frame, timeout=min(max(0.001, end - loop.time()), MAX_SECONDS)))

    return reply_of(await link.call(frames.PullFrame, frame.number, send, frame.timeout), frame.timeout)


def reply_of(answer: frames.PullReply | frames.PullFailure, timeout: float) -> Reply:
    """Return the reply; raise `NoReply` or `Timeout` if there is none."""
    steps = answer.steps or []
    if isinstance(answer, frames.PullFailure):
        raise Timeout(timeout, steps) if answer.is_late else NoReply(answer.tried, answer.asked, steps)
    message = {**answer.attributes, "#": answer.tags} if answer.tags else answer.attributes
    age = answer.age / 1000
    return Reply(message, answer.payload, answer.holder, answer.cache, age, answer.asked, steps)
