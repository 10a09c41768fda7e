"""Acknowledged publishing of an asyncio client: each message has a future, and is resent to a new router."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from cbnet.errors import CbnetError
from cbnet.network.client.client_link import ClientLink
from cbnet.network.client.durable.durable_publisher import DurablePublisher
from cbnet.network.client.messages.message_encoding import MessageLike, check_payload, encode_checked, message_content
from cbnet.network.errors import NotStored, Refused
from cbnet.network.protocol.frames import DurablePublished
from cbnet.network.protocol.wire import encode

GRACE = 1.0  # seconds after the timeout for which an answer of the router is awaited


class Receipt(NamedTuple):
    """The durable subscriptions that have a message on disk."""

    subscriptions: int  # number that have it
    dropped: int  # older messages that these have dropped to make room, by their policy
    silent: list[str]  # homes, or routers, that did not answer: they may or may not have it
    refused: list[str]  # homes that did not store it, with the reason

    @property
    def is_stored(self) -> bool:
        """Whether all durable subscriptions that match have it."""
        return not self.silent and not self.refused


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
        self, messages: Iterable[MessageLike], payloads: Iterable[bytes], timeout: float
    ) -> list[Receipt]:
        """Publish messages in order, and return their receipts; raise `NotStored` unless all are stored."""
        waiting = [await self._begin(*each, timeout) for each in zip(messages, payloads, strict=False)]
        receipts = [await future for future in waiting]
        if not all(receipt.is_stored for receipt in receipts):
            raise NotStored(receipts)
        return receipts

    async def _begin(self, message: MessageLike, payload: bytes, timeout: float) -> asyncio.Future[Receipt]:
        """Publish a message, and return a future of its receipt; block while too many messages have no receipt."""
        if self._link.connection is not None and not self._link.is_writable:
            await self._link.writable(timeout)
        attributes, tags = message_content(message)
        payload = check_payload(payload)
        while self._publisher.is_full:
            self._room.clear()
            await self._room.wait()
        number = self._publisher.add(attributes, tags, payload, self._loop.time(), timeout)
        try:
            data = encode_checked(self._publisher.frame(number, self._loop.time()), message)
        except CbnetError:
            self._publisher.settle(number)
            raise
        future = self._futures[number] = self._loop.create_future()
        self._timers[number] = self._loop.call_later(timeout + GRACE, self._expire, number)
        self._send(data)
        return future

    def restore(self) -> None:
        """Send all messages without a receipt to a new router."""
        for frame in self._publisher.frames(self._loop.time()):
            self._send(encode(frame))

    def answered(self, frame: DurablePublished) -> None:
        """Handle the answer of a router."""
        if frame.publisher == self._publisher.publisher:
            receipt = Receipt(frame.subscriptions, frame.dropped, frame.silent, frame.refused)
            self._settle(frame.sequence, receipt)

    def refused(self, number: int, error: Refused) -> None:
        """Handle the refusal of a message."""
        self._settle(number, error)

    def fail(self, error: CbnetError) -> None:
        """Fail all messages without a receipt: the client is closed, or no router accepts it."""
        for number in list(self._futures):
            self._settle(number, error)

    def _expire(self, number: int) -> None:
        self._settle(number, Receipt(0, 0, [self._link.router or "any router"], []))

    def _send(self, data: bytes) -> None:
        if self._link.connection is not None:  # otherwise it is sent to the next router
            self._link.send_bytes(data)

    def _settle(self, number: int, result: Receipt | CbnetError) -> None:
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
