"""The blocking client, for programs with or without threads.

It runs an `AsyncClient` in a thread of its own; every call waits for it. It is thread-safe.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from cbnet.errors import CbnetError
from cbnet.language.message import Message
from cbnet.language.relations.covering import PredicateLike
from cbnet.network.client.async_client import ACK_WAIT, TIMEOUT, AsyncClient, connect_async
from cbnet.network.client.async_pull import DEFAULT_HOLDERS, Answer, AsyncOffer, Reply
from cbnet.network.client.async_subscription import (
    QUEUE,
    AsyncSubscription,
    Confirmation,
    Delivery,
    HistorySpan,
    WhenFull,
)
from cbnet.network.client.async_trace import Traced
from cbnet.network.client.client_events import EventHandler
from cbnet.network.client.durable_publishing import Receipt
from cbnet.network.client.history_point import Since
from cbnet.network.client.message_encoding import MessageLike, encode_batch, encode_publish
from cbnet.network.errors import NetworkError, NotConfirmed, NotConnected
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS
from cbnet.network.protocol.durable_frames import DurableLimits, DurableReport
from cbnet.network.protocol.frames import Status, SubscriptionList
from cbnet.network.protocol.request_codec import RequestLike
from cbnet.network.security.tls import Tls
from cbnet.network.transport.event_loop import new_loop

Result = TypeVar("Result")
_MAX_OUTGOING = 1 << 20  # bytes that `publish` buffers for the client's thread


def connect(
    routers: str | Iterable[str] = DEFAULT_ADDRESS,
    *,
    name: str = "",
    network: str = "cbnet",
    timeout: float = TIMEOUT,
    tls: Tls | None = None,
    token: str | None = None,
) -> Client:
    """Connect to the first router of a list that answers, and return the client.

    tls: trust anchors and, if routers require it, the client certificate. token: identifies the client.
    Raises `NotConnected` after the timeout, `NotTrusted` or `Refused` if no router accepts the client.
    """
    return Client(routers, name=name, network=network, timeout=timeout, tls=tls, token=token)


class Client:
    """A client of a network."""

    def __init__(
        self,
        routers: str | Iterable[str] = DEFAULT_ADDRESS,
        *,
        name: str = "",
        network: str = "cbnet",
        timeout: float = TIMEOUT,
        tls: Tls | None = None,
        token: str | None = None,
    ) -> None:
        """Connect to the first router that answers; raises `NotConnected` after the timeout."""
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cbnet-client", daemon=True)
        self._thread.start()
        self._outgoing = _Outgoing(self._loop)
        try:
            connecting = connect_async(routers, name=name, network=network, timeout=timeout, tls=tls, token=token)
            self._client: AsyncClient = self._call(connecting)
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    @property
    def router(self) -> str:
        """The name of the current or last router."""
        return self._client.router

    @property
    def is_connected(self) -> bool:
        """Whether the client is connected to a router."""
        return self._client.is_connected

    @property
    def lost(self) -> int:
        """Messages that a router dropped because this client read too slowly."""
        return self._client.lost

    @property
    def refused(self) -> int:
        """Messages published without `wait` that a router refused, for instance for lack of rights."""
        return self._client.refused

    @property
    def refusal(self) -> str:
        """The reason for the last refused message."""
        return self._client.refusal

    @property
    def missed(self) -> int:
        """Messages that were published during interruptions and may have been missed, at most, as far as is known."""
        return self._client.missed

    @property
    def on_event(self) -> EventHandler | None:
        """Called, in the client's thread, when the connection ends or is back, or messages are lost; may be set."""
        return self._client.on_event

    @on_event.setter
    def on_event(self, handler: EventHandler | None) -> None:
        self._client.on_event = handler

    @property
    def reconnects(self) -> int:
        """Number of connections after the first."""
        return self._client.reconnects

    def subscribe(
        self,
        predicate: PredicateLike,
        *,
        wait: bool = False,
        timeout: float = TIMEOUT,
        queue: int = QUEUE,
        when_full: WhenFull = "block",
        durable: str = "",
        ack_wait: float = ACK_WAIT,
        limits: DurableLimits | None = None,
        since: Since | None = None,
    ) -> Subscription:
        """Subscribe to messages that match a predicate; iterate over the subscription to receive them.

        wait: return when messages of every reachable router arrive; raises `NotConfirmed` after `timeout` seconds,
        and the subscription stays active. queue: number of messages. when_full: the policy when the queue is full.

        durable: the name of a durable subscription, which this router keeps messages for, also while no client is
        connected. Messages come again until they are acknowledged, after `ack_wait` seconds; several clients share
        them. An empty predicate joins an existing one. limits: what it keeps at most.

        since: begin in the past, with what the router has in its history: a `timedelta`, or a text such as "1h", ago;
        an offset; or "first". New messages follow, without a gap or a repetition. After a reconnection to the same
        router, the subscription goes on after the last message received.
        """
        subscribing = self._client.subscribe(
            predicate,
            wait=wait,
            timeout=timeout,
            queue=queue,
            when_full=when_full,
            durable=durable,
            ack_wait=ack_wait,
            limits=limits,
            since=since,
        )
        try:
            return Subscription(self, self._call(subscribing))
        except NotConfirmed as error:
            if isinstance(error.subscription, AsyncSubscription):
                error.subscription = Subscription(self, error.subscription)
            raise

    def subscribe_initial(
        self, *, timeout: float = TIMEOUT, queue: int = QUEUE, when_full: WhenFull = "block"
    ) -> Subscription:
        """Subscribe to the initial predicate of the router's node, which stays when this subscription ends."""
        subscribing = self._client.subscribe_initial(timeout=timeout, queue=queue, when_full=when_full)
        return Subscription(self, self._call(subscribing))

    def publish(
        self,
        message: MessageLike,
        payload: bytes = b"",
        *,
        wait: bool = False,
        durable: bool = False,
        timeout: float = TIMEOUT,
    ) -> Receipt | None:
        """Publish a message; wait: return when the router has accepted it.

        durable: return a receipt when every durable subscription that matches has the message on disk; until then it
        is sent again, also over another router. Raises `NotStored` if some do not have it after `timeout` seconds.
        Otherwise it is passed to the client's thread, in order; blocks while that thread has much to send.
        """
        if wait or durable:
            self._call(self._flush(timeout))
            return self._call(self._client.publish(message, payload, wait=wait, durable=durable, timeout=timeout))
        self._send(encode_publish(0, message, payload, wants_answer=False), timeout)
        return None

    def publish_durably(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> list[Receipt]:
        """Publish messages in order as `publish` does with `durable`, and return their receipts: fastest for many.

        Raises `NotStored`, with all receipts, if some messages are not stored after `timeout` seconds for each.
        """
        return self._call(self._client.publish_durably(messages, payloads, timeout=timeout))

    def publish_many(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """Publish messages in order, each with its payload, if there are payloads; the fastest way for many.

        All are checked first: if one is invalid, the `InputError` names its index, and nothing is sent. Blocks as
        `publish` does. The `NotConnected` after `timeout` seconds without progress says how many were `sent`, or passed
        to the client's thread, which sends them when it can.
        """
        chunks = encode_batch(messages, payloads)
        sent = 0
        try:
            for data, end in chunks:
                self._send(data, timeout)
                sent = end
        except NotConnected as error:
            raise NotConnected(f"{error}; {sent:,} of {chunks[-1].end:,} messages were sent", sent=sent) from None

    def _send(self, data: bytes, timeout: float) -> None:
        """Pass frames to the client's thread."""
        if not self._client.is_connected:
            self._call(self._client.connected(timeout))
        if self._outgoing.size > _MAX_OUTGOING:
            self.flush(timeout)
        self._outgoing.put(data, self._client)

    def flush(self, timeout: float = TIMEOUT) -> None:
        """Wait until all published messages are written to the socket."""
        self._call(self._flush(timeout))

    def trace(
        self,
        message: MessageLike,
        payload: bytes = b"",
        *,
        is_dry: bool = False,
        of: PredicateLike | None = None,
        at: str = "",
        timeout: float = TIMEOUT,
    ) -> Traced:
        """Publish a message and return the trace of every router; is_dry: nothing is delivered.

        of, at: trace as if a client with the predicate `of` were at the router `at` (default: this client's router).
        """
        return self._call(self._client.trace(message, payload, is_dry=is_dry, of=of, at=at, timeout=timeout))

    def offer(
        self,
        predicate: PredicateLike,
        handler: Callable[[Message], Answer],
        *,
        wait: bool = False,
        timeout: float = TIMEOUT,
    ) -> Offer:
        """Answer requests that match a predicate; `handler` returns the item, or None if this client lacks it.

        It is called in other threads, concurrently. wait: as in `subscribe`.
        """

        async def answer(request: Message) -> Answer:
            return await self._loop.run_in_executor(None, handler, request)

        try:
            return Offer(self, self._call(self._client.offer(predicate, answer, wait=wait, timeout=timeout)))
        except NotConfirmed as error:
            if isinstance(error.subscription, AsyncOffer):
                error.subscription = Offer(self, error.subscription)
            raise

    def request(
        self,
        request: RequestLike,
        *,
        timeout: float = TIMEOUT,
        max_holders: int = DEFAULT_HOLDERS,
        fresh: bool = False,
        trace: bool = False,
    ) -> Reply:
        """Request an item by tags and attribute values; return the reply of one holder, or of a cache.

        Raises `NoReply` if no client offers it or none of at most `max_holders` holders has it, and `Timeout`.
        fresh: caches must not answer. trace: the reply, or `NoReply`, includes the steps of routers.
        """
        requesting = self._client.request(request, timeout=timeout, max_holders=max_holders, fresh=fresh, trace=trace)
        return self._call(requesting)

    def status(self, timeout: float = TIMEOUT, *, at: str = "") -> Status:
        """Return the status of the router, or of another one in the network; that needs the right `watch`."""
        return self._call(self._client.status(timeout, at=at))

    def subscriptions(self, timeout: float = TIMEOUT, *, at: str = "") -> SubscriptionList:
        """Return the first subscriptions of all clients at the router, or at another one; needs the right `watch`."""
        return self._call(self._client.subscriptions(timeout, at=at))

    def durable_subscriptions(self, timeout: float = TIMEOUT) -> DurableReport:
        """Return the durable subscriptions of the router, and the homes that it knows."""
        return self._call(self._client.durable_subscriptions(timeout))

    def remove_durable(self, name: str, timeout: float = TIMEOUT) -> None:
        """Remove a durable subscription of this router and its messages."""
        self._call(self._client.remove_durable(name, timeout))

    def forget_home(self, home: str, timeout: float = TIMEOUT) -> None:
        """Remove the durable subscriptions of a router that will not return: nobody waits for it any more."""
        self._call(self._client.forget_home(home, timeout))

    def reload(self, timeout: float = TIMEOUT) -> list[str]:
        """Have the router read its configuration again; return the changes, or raise `Refused` with the mistake."""
        return self._call(self._client.reload(timeout))

    def close(self) -> None:
        """Send the published messages, then close the connection and end all subscriptions."""
        if self._thread.is_alive():
            try:
                if self.is_connected:
                    self._call(self._flush(TIMEOUT))
            finally:
                self._call(self._client.close())
                self._stop()

    # --- internals

    def _call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the client's thread and return its result."""
        if not self._thread.is_alive():
            coroutine.close()
            raise NotConnected("the client is closed")
        future: Future[Result] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _flush(self, timeout: float) -> None:
        await self._outgoing.send_all(self._client, timeout)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Subscription:
    """A subscription of a `Client`; iterate over it to receive messages."""

    def __init__(self, client: Client, subscription: AsyncSubscription) -> None:
        self._client = client
        self._subscription = subscription
        self._taken: deque[Delivery] = deque()

    @property
    def predicate(self) -> str:
        """The predicate, as text."""
        return self._subscription.predicate

    @property
    def confirmation(self) -> Confirmation:
        """The routers that have the subscription; complete only with `wait`."""
        return self._subscription.confirmation

    @property
    def dropped(self) -> int:
        """Messages dropped because the queue was full."""
        return self._subscription.dropped

    def __iter__(self) -> Iterator[Delivery]:
        while (delivery := self.get()) is not None:
            yield delivery

    def batches(self) -> Iterator[list[Delivery]]:
        """Receive messages in lists: each has all that are queued, at least one. Fastest for many messages."""
        while batch := self.take():
            yield batch

    def get(self, timeout: float | None = None) -> Delivery | None:
        """Wait for a message and return it; None after the timeout or the end of the subscription."""
        if not self._taken:
            self._taken.extend(self._client._call(self._subscription.take(timeout)))
        return self._taken.popleft() if self._taken else None

    def take(self, timeout: float | None = None) -> list[Delivery]:
        """Wait for messages and return all queued ones; none after the timeout or the end of the subscription."""
        if not self._taken:
            return self._client._call(self._subscription.take(timeout))
        taken = [*self._taken]
        self._taken.clear()
        return taken

    @property
    def lost(self) -> int:
        """Messages that the router dropped because of the limits of a durable subscription, or of its history."""
        return self._subscription.lost

    @property
    def history(self) -> HistorySpan | None:
        """Where in the history of its router it began; None if it began with new messages, or existed before."""
        return self._subscription.history

    def acknowledge_up_to(self, offset: int) -> None:
        """Acknowledge all messages of a durable subscription up to an offset that this client has received."""
        self._subscription.acknowledge_up_to(offset)

    def unsubscribe(self) -> None:
        """End the subscription; queued messages can still be received. A durable one continues to keep messages."""
        self._client._call(self._subscription.unsubscribe())


class Offer:
    """An offer of a `Client`; as a context manager, it is withdrawn at the end."""

    def __init__(self, client: Client, offer: AsyncOffer) -> None:
        self._client = client
        self._offer = offer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.withdraw()

    @property
    def predicate(self) -> str:
        """The predicate, as text."""
        return self._offer.predicate

    @property
    def confirmation(self) -> Confirmation:
        """The routers that have the offer; complete only with `wait`."""
        return self._offer.confirmation

    @property
    def answered(self) -> int:
        """Requests answered with an item."""
        return self._offer.answered

    @property
    def failure(self) -> CbnetError | None:
        """Set if a later router refuses the offer."""
        return self._offer.failure

    def withdraw(self) -> None:
        """Stop answering requests."""
        self._client._call(self._offer.withdraw())


class _Outgoing:
    """Published frames on their way to the client's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._frames: list[bytes] = []
        self._is_scheduled = False
        self._waiting: asyncio.Task[None] | None = None  # until the router reads again
        self.size = 0

    def put(self, data: bytes, client: AsyncClient) -> None:
        with self._lock:
            self._frames.append(data)
            self.size += len(data)
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            self._loop.call_soon_threadsafe(self._send_some, client)

    def _send_some(self, client: AsyncClient) -> None:
        """Send the buffered frames, now or when the router reads again."""
        with self._lock:
            self._is_scheduled = False
            if client.is_writable:
                client.send_frames(self._take())
            elif self._waiting is None or self._waiting.done():
                self._waiting = self._loop.create_task(self._send_later(client))

    async def _send_later(self, client: AsyncClient) -> None:
        with suppress(NetworkError):  # closed, or an hour without connection
            await self.send_all(client, timeout=3_600)

    async def send_all(self, client: AsyncClient, timeout: float) -> None:
        await client.writable(timeout)
        with self._lock:
            client.send_frames(self._take())
        await client.writable(timeout)

    def _take(self) -> list[bytes]:
        taken, self._frames, self.size = self._frames, [], 0
        return taken
