"""Acknowledged publishing of an asyncio client.

A message keeps its number however often it is sent, so that homes store it once. It is resent to a new router until a
receipt arrives. All messages below the lowest unanswered number are settled; at most `MAX_UNSETTLED` numbers from there
on are in use.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from cbnet.errors import CbnetError, InputError
from cbnet.network.client.client_link import GRACE, ClientLink
from cbnet.network.client.message_encoding import MessageLike, check_payload, encode_checked, message_content
from cbnet.network.errors import NotStored
from cbnet.network.protocol.durable_frames import MAX_UNSETTLED
from cbnet.network.protocol.fields import MAX_REQUIRED, MAX_SECONDS, DurableName
from cbnet.network.protocol.frames import DurablePublish, DurablePublished, Refusals
from cbnet.network.protocol.wire import encode

MAX_UNANSWERED = 1 << 24  # bytes of unanswered payloads, beyond which no further message is published
NO_REFUSALS: Final[Mapping[str, Refusals]] = MappingProxyType({})

# Subscriptions of other accounts that must not refuse a message, each by account and name.
Required: TypeAlias = Literal["all"] | Iterable[tuple[str, str]]


def required_names(require: Required) -> list[DurableName] | None:
    """Return the names in a frame; None: all. Raise an `InputError` if they are not valid."""
    if isinstance(require, str):
        if require != "all":
            raise InputError(f"require={require!r} is not valid", hint='use "all", or a list of (account, name)')
        return None
    names = [(account, name) for account, name in require]
    if len(names) > MAX_REQUIRED:
        raise InputError(f"{len(names)} required subscriptions; the maximum is {MAX_REQUIRED}", hint='use "all"')
    return names


def parse_required(text: str) -> Required:
    """Return the subscription in a text such as `ann/billing`, or "all"; raise an `InputError` if it is not valid."""
    account, slash, name = text.partition("/")
    if not slash and text != "all":
        raise InputError(f"{text!r} names no durable subscription", hint="use all, or ACCOUNT/NAME")
    return [(account, name)] if slash else "all"


def new_publisher() -> DurablePublisher:
    """Return a publisher with a random number, known only to its routers."""
    return DurablePublisher(secrets.randbits(63))


class DurablePublisher:
    """The durable messages of one client."""

    def __init__(self, publisher: int) -> None:
        """Initialise with a random number below 2**63."""
        self.publisher = publisher
        self._last = 0
        self._unanswered: dict[int, tuple[DurablePublish, float]] = {}  # by number, in order; with their deadlines
        self._bytes = 0  # of their payloads

    def __len__(self) -> int:
        return len(self._unanswered)

    @property
    def floor(self) -> int:
        """The lowest unanswered number; the next number if there is none."""
        return next(iter(self._unanswered), self._last + 1)

    @property
    def next(self) -> int:
        """The number of the next message."""
        return self._last + 1

    @property
    def end(self) -> int:
        """The first number that cannot be used before an answer arrives."""
        return self.floor + MAX_UNSETTLED

    @property
    def is_full(self) -> bool:
        """Whether no further message can be published before an answer arrives."""
        return self.next >= self.end or self._bytes > MAX_UNANSWERED

    def add(
        self,
        attributes: dict[str, Any],
        tags: list[str],
        payload: bytes,
        now: float,
        timeout: float,
        *,
        required: list[DurableName] | None = None,
    ) -> int:
        """Add a message and return its number.

        timeout: capped at `MAX_SECONDS`, as homes remember a publisher for twice that time. required: subscriptions of
        other accounts that must not refuse it; None: all.
        """
        self._last += 1
        frame = DurablePublish(self.publisher, self._last, 0, 0.0, attributes, tags, payload, required)
        self._unanswered[self._last] = frame, now + min(timeout, MAX_SECONDS)
        self._bytes += len(payload)
        return self._last

    def frame(self, number: int, now: float) -> DurablePublish:
        """Return the frame of a message, with the current floor and the remaining time."""
        frame, deadline = self._unanswered[number]
        return replace(frame, floor=self.floor, timeout=min(max(0.001, deadline - now), MAX_SECONDS))

    def frames(self, now: float) -> Iterator[DurablePublish]:
        """Yield the frames of all unanswered messages, in order, except those whose timeout has expired.

        A router may have given up on an expired message and allowed later ones to be stored: it would be refused.
        """
        return (self.frame(number, now) for number, (_, end) in self._unanswered.items() if now < end)

    def settle(self, number: int) -> bool:
        """Mark a message as answered, or as given up; return whether it was unanswered before."""
        settled = self._unanswered.pop(number, None)
        if settled is None:
            return False
        self._bytes -= len(settled[0].payload)
        return True


class Receipt(NamedTuple):
    """The durable subscriptions that have a message on disk."""

    subscriptions: int  # number that have it
    dropped: int  # older messages that these have dropped to make room, by their policy
    silent: list[str]  # homes, or routers, that did not answer: they may or may not have it
    refused: list[str]  # homes that stored it for no subscription, with the reason
    others: Mapping[str, Refusals] = NO_REFUSALS  # by home: subscriptions of other accounts that refused it

    @property
    def is_stored(self) -> bool:
        """Whether all durable subscriptions that match have it, except for `others`."""
        return not self.silent and not self.refused

    @property
    def refused_by_others(self) -> int:
        """The number of durable subscriptions of other accounts that refused it."""
        return sum(each.count for each in self.others.values())


class DurablePublishing:
    """The durable messages of one client."""

    def __init__(self, link: ClientLink, publisher: DurablePublisher) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._publisher = publisher
        self._futures: dict[int, asyncio.Future[Receipt]] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._room = asyncio.Event()

    async def publish(
        self, messages: Iterable[MessageLike], payloads: Iterable[bytes], timeout: float, require: Required
    ) -> list[Receipt]:
        """Publish messages in order, and return their receipts; raise `NotStored` unless all are stored."""
        required = required_names(require)
        waiting = [await self._begin(*each, timeout, required) for each in zip(messages, payloads, strict=False)]
        receipts = [await future for future in waiting]
        if not all(receipt.is_stored for receipt in receipts):
            raise NotStored(receipts)
        return receipts

    async def _begin(
        self, message: MessageLike, payload: bytes, timeout: float, required: list[DurableName] | None
    ) -> asyncio.Future[Receipt]:
        """Publish a message, and return a future of its receipt; block while too many messages have no receipt."""
        if self._link.connection is not None and not self._link.is_writable:
            await self._link.writable(timeout)
        attributes, tags = message_content(message)
        payload = check_payload(payload)
        while self._publisher.is_full:
            self._room.clear()
            await self._room.wait()
        number = self._publisher.add(attributes, tags, payload, self._loop.time(), timeout, required=required)
        try:
            data = encode_checked(self._publisher.frame(number, self._loop.time()), message)
        except CbnetError:
            self._publisher.settle(number)
            raise
        future = self._futures[number] = self._loop.create_future()
        self._timers[number] = self._loop.call_later(timeout + GRACE, self._expire, number)
        self._link.send_if_connected(data)  # else it is sent to the next router
        return future

    def restore(self) -> None:
        """Send all messages without a receipt to a new router."""
        for frame in self._publisher.frames(self._loop.time()):
            self._link.send_if_connected(encode(frame))

    def answered(self, frame: DurablePublished) -> None:
        """Handle the answer of a router."""
        if frame.publisher == self._publisher.publisher:
            receipt = Receipt(frame.subscriptions, frame.dropped, frame.silent, frame.refused, frame.others)
            self.settle(frame.sequence, receipt)

    def fail(self, error: CbnetError) -> None:
        """Fail all messages without a receipt: the client is closed, or no router accepts it."""
        for number in list(self._futures):
            self.settle(number, error)

    def _expire(self, number: int) -> None:
        self.settle(number, Receipt(0, 0, [self._link.router or "any router"], []))

    def settle(self, number: int, result: Receipt | CbnetError) -> None:
        """Handle the receipt of a message, or its refusal."""
        if not self._publisher.settle(number):
            return
        future = self._futures.pop(number)
        self._timers.pop(number).cancel()
        self._room.set()
        if future.done():
            return
        if isinstance(result, Receipt):
            future.set_result(result)
        else:
            future.set_exception(result)
