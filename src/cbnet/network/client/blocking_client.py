"""The blocking client, for programs with or without threads.

It runs an `AsyncClient` in the event loop of its own thread; every call waits for it, except `publish`: messages that
are published in a loop are sent together. It is thread-safe.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from cbnet.errors import CbnetError
from cbnet.language.message import Message
from cbnet.language.relations.covering import PredicateLike
from cbnet.network.client.async_client import AsyncClient, ClientState, connect_async
from cbnet.network.client.async_pull import Answer, AsyncOffer
from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery, HistorySpan
from cbnet.network.client.client_link import TIMEOUT, ClientLink
from cbnet.network.client.durable.durable_publishing import Receipt, Required
from cbnet.network.client.message_encoding import MessageLike, encode_batch, encode_publish
from cbnet.network.errors import NetworkError, NotConfirmed, NotConnected
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS
from cbnet.network.security.tls import Tls
from cbnet.network.transport.event_loop import new_loop

_MAX_QUEUED = 1 << 20  # bytes
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Blocking = TypeVar("Blocking", "Subscription", "Offer")
Registered = TypeVar("Registered", bound=AsyncSubscription | AsyncOffer)


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


def _blocking(
    method: Callable[Concatenate[AsyncClient, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Client, Arguments], Result]:
    """Return the blocking counterpart of a method of the asyncio client, with its signature and documentation."""

    @wraps(method)
    def call(self: Client, /, *args: Arguments.args, **options: Arguments.kwargs) -> Result:
        return self._thread.call(method(self._client, *args, **options))

    return call


def _subscribing(
    method: Callable[Concatenate[AsyncClient, Arguments], Coroutine[Any, Any, AsyncSubscription]],
) -> Callable[Concatenate[Client, Arguments], Subscription]:
    """Return the blocking counterpart of a method that subscribes."""

    @wraps(method)
    def call(self: Client, /, *args: Arguments.args, **options: Arguments.kwargs) -> Subscription:
        return self._registered(Subscription, method(self._client, *args, **options))

    return call


class ClientThread:
    """A thread that runs until `stop`; `call` may be called in any other thread."""

    def __init__(self) -> None:
        self.loop = new_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="cbnet-client", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not been stopped."""
        return self._thread.is_alive()

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the thread and return its result."""
        if not self._thread.is_alive():
            coroutine.close()
            raise NotConnected("the client is closed")
        future: Future[Result] = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class OutgoingFrames:
    """The published frames of one client, in order, until its thread sends them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: ClientLink) -> None:
        self._loop = loop
        self._link = link
        self._lock = threading.Lock()
        self._frames: list[bytes] = []
        self._is_scheduled = False
        self._waiting: asyncio.Task[None] | None = None  # sends when the router reads again
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether the publisher must wait until the queued frames are sent."""
        return self._size > _MAX_QUEUED

    def put(self, data: bytes) -> None:
        """Pass frames to the client's thread; may be called in any thread."""
        with self._lock:
            self._frames.append(data)
            self._size += len(data)
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            self._loop.call_soon_threadsafe(self._send_some)

    def _send_some(self) -> None:
        """Send the queued frames, now or when the router reads again."""
        with self._lock:
            self._is_scheduled = False
            if self._link.is_writable:
                self._send_queued()
            elif self._waiting is None or self._waiting.done():
                self._waiting = self._loop.create_task(self._send_later())

    async def _send_later(self) -> None:
        with suppress(NetworkError):  # closed, or an hour without connection
            await self.send_all(timeout=3_600)

    async def send_all(self, timeout: float) -> None:
        """Send the queued frames, and wait until they are written to the socket."""
        await self._link.writable(timeout)
        with self._lock:
            self._send_queued()
        await self._link.writable(timeout)

    def _send_queued(self) -> None:
        queued, self._frames, self._size = self._frames, [], 0
        for data in queued:
            self._link.send_bytes(data)


class Client(ClientState):
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
        self._thread = ClientThread()
        try:
            connecting = connect_async(routers, name=name, network=network, timeout=timeout, tls=tls, token=token)
            self._client: AsyncClient = self._thread.call(connecting)
        except BaseException:
            self._thread.stop()
            raise
        self._inbox = self._client._inbox
        self._outgoing = OutgoingFrames(self._thread.loop, self._inbox.link)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    subscribe = _subscribing(AsyncClient.subscribe)
    subscribe_initial = _subscribing(AsyncClient.subscribe_initial)
    publish_durably = _blocking(AsyncClient.publish_durably)
    trace = _blocking(AsyncClient.trace)
    request = _blocking(AsyncClient.request)
    status = _blocking(AsyncClient.status)
    subscriptions = _blocking(AsyncClient.subscriptions)
    durable_subscriptions = _blocking(AsyncClient.durable_subscriptions)
    remove_durable = _blocking(AsyncClient.remove_durable)
    limit_durable = _blocking(AsyncClient.limit_durable)
    peek_durable = _blocking(AsyncClient.peek_durable)
    move_durable = _blocking(AsyncClient.move_durable)
    purge_durable = _blocking(AsyncClient.purge_durable)
    back_up_journal = _blocking(AsyncClient.back_up_journal)
    forget_home = _blocking(AsyncClient.forget_home)
    reload = _blocking(AsyncClient.reload)

    def publish(
        self,
        message: MessageLike,
        payload: bytes = b"",
        *,
        wait: bool = False,
        durable: bool = False,
        timeout: float = TIMEOUT,
        require: Required = (),
    ) -> Receipt | None:
        """Publish a message; the arguments are those of `AsyncClient.publish`.

        Without `wait` or `durable` it is queued for the client's thread, in order; blocks while that queue is full.
        """
        if wait or durable or require:
            self.flush(timeout)
            return self._thread.call(
                self._client.publish(message, payload, wait=wait, durable=durable, timeout=timeout, require=require)
            )
        self._send(encode_publish(0, message, payload, wants_answer=False), timeout)
        return None

    def publish_many(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """Publish messages in order, as `AsyncClient.publish_many` does; fastest for many messages.

        The messages `sent` before a `NotConnected` include those that the client's thread sends when it can.
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
        if not self.is_connected:
            self._thread.call(self._client.connected(timeout))
        if self._outgoing.is_full:
            self.flush(timeout)
        self._outgoing.put(data)

    def flush(self, timeout: float = TIMEOUT) -> None:
        """Wait until all published messages are written to the socket."""
        self._thread.call(self._outgoing.send_all(timeout))

    def offer(
        self,
        predicate: PredicateLike,
        handler: Callable[[Message], Answer],
        *,
        wait: bool = False,
        timeout: float = TIMEOUT,
    ) -> Offer:
        """Answer requests that match a predicate; `handler` returns the item, or None if this client lacks it.

        The handler is called in other threads, concurrently. wait: as in `subscribe`.
        """

        async def answer(request: Message) -> Answer:
            return await self._thread.loop.run_in_executor(None, handler, request)

        return self._registered(Offer, self._client.offer(predicate, answer, wait=wait, timeout=timeout))

    def _registered(self, kind: type[Blocking], registering: Coroutine[Any, Any, Any]) -> Blocking:
        """Return the blocking counterpart of a subscription or an offer, also in an error."""
        try:
            return kind(self._thread, self._thread.call(registering))
        except NotConfirmed as error:
            error.subscription = kind(self._thread, cast(Any, error.subscription))
            raise

    def close(self) -> None:
        """Send the published messages, then close the connection and end all subscriptions."""
        if self._thread.is_alive:
            try:
                if self.is_connected:
                    self.flush()
            finally:
                self._thread.call(self._client.close())
                self._thread.stop()


class _Registration(Generic[Registered]):
    """A subscription or an offer of a `Client`."""

    def __init__(self, thread: ClientThread, registered: Registered) -> None:
        self._thread = thread
        self._registered = registered

    @property
    def predicate(self) -> str:
        """The predicate, as text."""
        return self._registered.predicate

    @property
    def confirmation(self) -> Confirmation:
        """The routers that have it; complete only with `wait`."""
        return self._registered.confirmation


class Subscription(_Registration[AsyncSubscription]):
    """A subscription of a `Client`; iterate over it to receive messages."""

    def __init__(self, thread: ClientThread, registered: AsyncSubscription) -> None:
        super().__init__(thread, registered)
        self._taken: deque[Delivery] = deque()

    @property
    def dropped(self) -> int:
        """Messages dropped because the queue was full."""
        return self._registered.dropped

    def __iter__(self) -> Iterator[Delivery]:
        while (delivery := self.get()) is not None:
            yield delivery

    def batches(self) -> Iterator[list[Delivery]]:
        """Yield lists of all queued messages, each with at least one; fastest for many messages."""
        while batch := self.take():
            yield batch

    def get(self, timeout: float | None = None) -> Delivery | None:
        """Wait for a message and return it; None after the timeout or the end of the subscription."""
        if not self._taken:
            self._taken.extend(self._thread.call(self._registered.take(timeout)))
        return self._taken.popleft() if self._taken else None

    def take(self, timeout: float | None = None) -> list[Delivery]:
        """Wait for messages and return all queued ones; none after the timeout or the end of the subscription."""
        if not self._taken:
            return self._thread.call(self._registered.take(timeout))
        taken = [*self._taken]
        self._taken.clear()
        return taken

    @property
    def lost(self) -> int:
        """Messages that the router dropped because of the limits of a durable subscription, or of its history."""
        return self._registered.lost

    @property
    def waiting(self) -> str:
        """Why a durable subscription gets no messages now: its home is elsewhere, and away; empty if it gets them."""
        return self._registered.waiting

    @property
    def history(self) -> HistorySpan | None:
        """Position in its router's history at which it began; None if it began with new messages, or existed before."""
        return self._registered.history

    def acknowledge_up_to(self, offset: int) -> None:
        """Acknowledge all messages of a durable subscription up to an offset that this client has received."""
        self._registered.acknowledge_up_to(offset)

    def unsubscribe(self) -> None:
        """End the subscription; queued messages can still be received. A durable one keeps storing messages."""
        self._thread.call(self._registered.unsubscribe())


class Offer(_Registration[AsyncOffer]):
    """An offer of a `Client`; as a context manager, it is withdrawn on exit."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.withdraw()

    @property
    def answered(self) -> int:
        """Requests answered with an item."""
        return self._registered.answered

    @property
    def failure(self) -> CbnetError | None:
        """Set if a later router refuses the offer."""
        return self._registered.failure

    def withdraw(self) -> None:
        """Stop answering requests."""
        self._thread.call(self._registered.withdraw())
