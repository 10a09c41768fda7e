"""Async pull: how does a client answer requests, and what does it get for its own?

    offer      a predicate, and a handler that is called with every request that this client is asked
    request    tags and values that the reply must have; the reply of one holder, or of a cache on the way

A handler gets the request as a `Message`, and returns the item, or None if it has not got it. It may be a coroutine.
What it raises is logged, and counts as None: another holder is asked then.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from cbnet.errors import CbnetError, InputError
from cbnet.language.message import Message
from cbnet.network.client.async_subscription import Confirmation
from cbnet.network.client.message_encoding import MessageLike, check_payload, encode_checked, message_content
from cbnet.network.errors import NoReply, Timeout
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_HOLDERS
from cbnet.network.protocol.frames import Step
from cbnet.network.protocol.request_codec import (
    DecodedRequest,
    RequestLike,
    as_request,
    request_from_bytes,
    request_to_bytes,
)
from cbnet.network.protocol.wire import encode

if TYPE_CHECKING:
    from cbnet.network.client.async_client import AsyncClient

DEFAULT_HOLDERS: Final = 8
_LONGEST_WAIT = 3_600.0  # seconds
_LONGEST_KEPT = 1e12  # seconds

_log = logging.getLogger("cbnet.network")


class Item(NamedTuple):
    """What a holder has for a request: a message that matches it, and a payload."""

    message: MessageLike
    payload: bytes = b""
    keep: float | None = None  # seconds for which routers may keep it for others who ask; 0: not at all


class Reply(NamedTuple):
    """The answer to a request."""

    message: dict[str, Any]  # its attributes; its tags under "#", if it has some
    payload: bytes
    holder: str  # the router of who answered
    cache: str  # the router whose cache it comes from; "" if it comes from the holder itself
    age: float  # seconds that it was in caches
    asked: int  # holders that were asked, with the one that answered
    steps: list[Step]  # what routers did, if that was asked for


Answer: TypeAlias = Item | bytes | None  # bytes: the payload of an item whose message is the request itself
Handler: TypeAlias = Callable[[Message], Answer | Awaitable[Answer]]


class AsyncOffer:
    """An offer of an `AsyncClient`; as a context, it is withdrawn at the end."""

    def __init__(self, client: AsyncClient, id: int, predicate: str, handler: Handler) -> None:
        self.id = id
        self.predicate = predicate
        self.handler = handler
        self.confirmation = Confirmation(False, 0, [])
        self.answered = 0  # requests, with an item
        self.failure: CbnetError | None = None  # why it has ended, if a router that was connected to later refuses it
        self._client = client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.withdraw()

    async def withdraw(self) -> None:
        """Answer no more requests."""
        await self._client.withdraw(self)


class Answering:
    """The requests that a client is asked, each answered in a task of its own."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """Take how to send the bytes of a frame."""
        self._send = send
        self._tasks: set[asyncio.Task[None]] = set()

    def asked(self, frame: frames.Asked, offer: AsyncOffer | None) -> None:
        """Begin to answer a request; without an offer, because it was just withdrawn, there is no item."""
        task = asyncio.get_running_loop().create_task(self._answer(frame, offer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Answer no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, frame: frames.Asked, offer: AsyncOffer | None) -> None:
        data = encode(frames.Answer(frame.number, None))
        if offer is not None:
            try:
                item = await _item(offer.handler, request_from_bytes(frame.request))
                data = encode_checked(frames.Answer(frame.number, item), {})
                offer.answered += item is not None
            except Exception:
                _log.exception("no answer to a request for %s", offer.predicate)
        self._send(data)


async def _item(handler: Handler, requested: DecodedRequest) -> frames.Item | None:
    """Return what a handler has for a request; an `InputError` if it cannot be sent."""
    request = Message(dict(requested.content.attributes), requested.content.tags)
    answer = handler(request)
    found = await answer if inspect.isawaitable(answer) else answer
    if found is None:
        return None
    if isinstance(found, bytes | bytearray | memoryview):
        found = Item(request, bytes(found))
    if not isinstance(found, Item):
        raise InputError(f"a handler has returned {type(found).__name__}", hint="return an Item, bytes or None")
    if not requested.filter.matches(found.message):
        raise InputError(f"the item does not match the request {request}", hint="return None for what is not there")
    attributes, tags = message_content(found.message)
    return frames.Item(attributes, tags, check_payload(found.payload), _keep(found.keep))


def _keep(seconds: float | None) -> int | None:
    if seconds is not None and not 0 <= seconds <= _LONGEST_KEPT:
        raise InputError(f"an item cannot be kept for {seconds} s", hint="use 0 for no caching, None for any time")
    return None if seconds is None else round(seconds * 1000)


def pull_frame(
    number: int, request: RequestLike, timeout: float, max_holders: int, *, fresh: bool, trace: bool
) -> frames.Pull:  # fmt: skip
    """Return the frame that asks for a reply; an `InputError` if something cannot be asked for."""
    if not 1 <= max_holders <= MAX_HOLDERS:
        raise InputError(f"{max_holders} holders to be asked", hint=f"use a number from 1 to {MAX_HOLDERS}")
    if not 0 < timeout <= _LONGEST_WAIT:
        raise InputError(f"{timeout:g} s to wait for a reply", hint=f"use at most {_LONGEST_WAIT:,.0f}")
    return frames.Pull(number, request_to_bytes(as_request(request)), timeout, max_holders, fresh, trace)


def reply_of(answer: frames.Replied | frames.NotReplied, timeout: float) -> Reply:
    """Return the reply that came; if there is none, raise `NoReply` or `Timeout`."""
    steps = answer.steps or []
    if isinstance(answer, frames.NotReplied):
        raise Timeout(timeout, steps) if answer.is_late else NoReply(answer.tried, answer.asked, steps)
    message = {**answer.attributes, "#": answer.tags} if answer.tags else answer.attributes
    age = answer.age / 1000
    return Reply(message, answer.payload, answer.holder, answer.cache, age, answer.asked, steps)
