"""Client: how does a plain program, with threads or without, subscribe and publish?

The same client as `async_client`, which runs in a thread of its own; every call waits for it. Calls may be made from
several threads.
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
from cbnet.network.client.async_client import TIMEOUT, AsyncClient, Traced, connect_async
from cbnet.network.client.async_pull import DEFAULT_HOLDERS, Answer, AsyncOffer, Reply
from cbnet.network.client.async_subscription import QUEUE, AsyncSubscription, Confirmation, Delivery, WhenFull
from cbnet.network.client.message_encoding import MessageLike, encode_publish
from cbnet.network.errors import NetworkError, NotConnected
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS
from cbnet.network.protocol.frames import Status
from cbnet.network.protocol.request_codec import RequestLike
from cbnet.network.security.tls import Tls
from cbnet.network.transport.event_loop import new_loop

Result = TypeVar("Result")
_MOST_AHEAD = 1 << 20  # bytes that `publish` takes before the thread of the client has them


def connect(
    routers: str | Iterable[str] = DEFAULT_ADDRESS,
    *,
    name: str = "",
    network: str = "cbnet",
    timeout: float = TIMEOUT,
    tls: Tls | None = None,
    token: str | None = None,
) -> Client:
    """Return a client that is connected to the first router of a list that answers.

    tls: whom it trusts and, if the router wants that, the certificate that it shows. token: what shows who it is.
    `NotTrusted` or `Refused` says that no router lets it in, and why.
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
        """Connect to the first router that answers; `NotConnected` if none does in so many seconds."""
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cbnet-client", daemon=True)
        self._thread.start()
        self._outgoing = _Outgoing(self._loop)
        try:
            connecting = connect_async(routers, name=name, network=network, timeout=timeout, tls=tls, token=token)
            self._client: AsyncClient = self._call(connecting)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    @property
    def router(self) -> str:
        """The name of the router that it is or was connected to."""
        return self._client.router

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to a router now."""
        return self._client.is_connected

    @property
    def lost(self) -> int:
        """How many messages a router dropped because they were read too slowly."""
        return self._client.lost

    @property
    def refused(self) -> int:
        """How many messages that were published without waiting a router did not take: against the rights, say."""
        return self._client.refused

    @property
    def refusal(self) -> str:
        """Why it did not take the last of them."""
        return self._client.refusal

    @property
    def reconnects(self) -> int:
        """How often a new connection had to be made."""
        return self._client.reconnects

    def subscribe(
        self,
        predicate: PredicateLike,
        *,
        wait: bool = False,
        timeout: float = TIMEOUT,
        queue: int = QUEUE,
        when_full: WhenFull = "block",
    ) -> Subscription:
        """Subscribe to what a predicate matches; iterate over what is returned to take the messages.

        wait: return when every router that can be reached has the subscription; `NotConfirmed` if that takes longer
        than `timeout` seconds, and then the subscription goes on nevertheless.
        """
        subscribing = self._client.subscribe(predicate, wait=wait, timeout=timeout, queue=queue, when_full=when_full)
        return Subscription(self, self._call(subscribing))

    def subscribe_loaded(
        self, *, timeout: float = TIMEOUT, queue: int = QUEUE, when_full: WhenFull = "block"
    ) -> Subscription:
        """Take part in what is delivered to the loaded predicate of the router's node, which stays when this ends."""
        subscribing = self._client.subscribe_loaded(timeout=timeout, queue=queue, when_full=when_full)
        return Subscription(self, self._call(subscribing))

    def publish(
        self, message: MessageLike, payload: bytes = b"", *, wait: bool = False, timeout: float = TIMEOUT
    ) -> None:
        """Publish a message; wait: return when the router has it.

        Without `wait` it is handed to the thread of the client, in order; this waits while that has much to send.
        """
        if wait:
            self._call(self._flushed(timeout))
            self._call(self._client.publish(message, payload, wait=True, timeout=timeout))
            return
        data = encode_publish(0, message, payload, wants_answer=False)
        if not self._client.is_connected:
            self._call(self._client.connected(timeout))
        self._outgoing.put(data, self._client)
        if self._outgoing.size > _MOST_AHEAD:
            self.flush(timeout)

    def flush(self, timeout: float = TIMEOUT) -> None:
        """Wait until all that was published is given to the network of this machine."""
        self._call(self._flushed(timeout))

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
        """Publish a message and return what every router did with it; is_dry: nothing is delivered.

        of, at: what would happen if somebody with this predicate were at this router; by default, at the router of
        this client.
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
        """Answer requests that match a predicate: `handler` returns the item, or None if this client has not got it.

        It is called in another thread, in several if requests come at once. wait: as in `subscribe`.
        """

        async def answer(request: Message) -> Answer:
            return await self._loop.run_in_executor(None, handler, request)

        return Offer(self, self._call(self._client.offer(predicate, answer, wait=wait, timeout=timeout)))

    def request(
        self,
        request: RequestLike,
        *,
        timeout: float = TIMEOUT,
        max_holders: int = DEFAULT_HOLDERS,
        fresh: bool = False,
        trace: bool = False,
    ) -> Reply:
        """Return the reply of one holder, or of a cache, to a request: tags, and values of attributes.

        `NoReply` if nobody offers it, or none of the holders that were asked, at most so many, has it; `Timeout` if
        nothing came in time. fresh: no cache may answer. trace: the reply, or `NoReply`, has what routers did.
        """
        asking = self._client.request(request, timeout=timeout, max_holders=max_holders, fresh=fresh, trace=trace)
        return self._call(asking)

    def status(self, timeout: float = TIMEOUT) -> Status:
        """Return how the router is."""
        return self._call(self._client.status(timeout))

    def close(self) -> None:
        """Send what was published, then end the connection and all subscriptions."""
        if self._thread.is_alive():
            try:
                if self.is_connected:
                    self._call(self._flushed(TIMEOUT))
            finally:
                self._call(self._client.close())
                self._end()

    # --- inside

    def _call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run something in the thread of the client, and return what it returns."""
        if not self._thread.is_alive():
            coroutine.close()
            raise NotConnected("the client is closed")
        future: Future[Result] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _flushed(self, timeout: float) -> None:
        await self._outgoing.send_all(self._client, timeout)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Subscription:
    """A subscription of a `Client`; iterate over it to take the messages."""

    def __init__(self, client: Client, subscription: AsyncSubscription) -> None:
        self._client = client
        self._subscription = subscription
        self._taken: deque[Delivery] = deque()

    @property
    def predicate(self) -> str:
        """What was subscribed to."""
        return self._subscription.predicate

    @property
    def confirmation(self) -> Confirmation:
        """Which routers have the subscription, if that was waited for."""
        return self._subscription.confirmation

    @property
    def dropped(self) -> int:
        """How many messages were dropped because the queue was full."""
        return self._subscription.dropped

    def __iter__(self) -> Iterator[Delivery]:
        while (delivery := self.get()) is not None:
            yield delivery

    def get(self, timeout: float | None = None) -> Delivery | None:
        """Wait for a message and return it; None if the time is up or the subscription has ended."""
        if not self._taken:
            self._taken.extend(self._client._call(self._subscription.take(timeout)))
        return self._taken.popleft() if self._taken else None

    def unsubscribe(self) -> None:
        """End the subscription; messages that have come can still be taken."""
        self._client._call(self._subscription.unsubscribe())


class Offer:
    """An offer of a `Client`; as a context, it is withdrawn at the end."""

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
        """What is offered."""
        return self._offer.predicate

    @property
    def confirmation(self) -> Confirmation:
        """Which routers have the offer, if that was waited for."""
        return self._offer.confirmation

    @property
    def answered(self) -> int:
        """How many requests were answered with an item."""
        return self._offer.answered

    @property
    def failure(self) -> CbnetError | None:
        """Why it has ended, if a router that was connected to later refuses it."""
        return self._offer.failure

    def withdraw(self) -> None:
        """Answer no more requests."""
        self._client._call(self._offer.withdraw())


class _Outgoing:
    """What was published and the thread of the client does not have yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._frames: list[bytes] = []
        self._is_called = False
        self._waiting: asyncio.Task[None] | None = None  # for the router to read again
        self.size = 0

    def put(self, data: bytes, client: AsyncClient) -> None:
        with self._lock:
            self._frames.append(data)
            self.size += len(data)
            is_first, self._is_called = not self._is_called, True
        if is_first:
            self._loop.call_soon_threadsafe(self._send_some, client)

    def _send_some(self, client: AsyncClient) -> None:
        """Send what is there, now or when the router reads again."""
        with self._lock:
            self._is_called = False
            if client.is_writable:
                client.send_frames(self._take())
            elif self._waiting is None or self._waiting.done():
                self._waiting = self._loop.create_task(self._send_later(client))

    async def _send_later(self, client: AsyncClient) -> None:
        with suppress(NetworkError):  # closed, or an hour without a connection
            await self.send_all(client, timeout=3_600)

    async def send_all(self, client: AsyncClient, timeout: float) -> None:
        await client.writable(timeout)
        with self._lock:
            client.send_frames(self._take())
        await client.writable(timeout)

    def _take(self) -> list[bytes]:
        taken, self._frames, self.size = self._frames, [], 0
        return taken
