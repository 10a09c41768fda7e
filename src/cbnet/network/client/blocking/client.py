"""The blocking client, for programs with or without threads.

It runs an `AsyncClient` in its own thread; every call waits for it. It is thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from cbnet.language.message import Message
from cbnet.language.relations.covering import PredicateLike
from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.client.async_pull import DEFAULT_HOLDERS, Answer, AsyncOffer, Reply
from cbnet.network.client.async_subscription import (
    QUEUE,
    AsyncSubscription,
    WhenFull,
)
from cbnet.network.client.async_trace import Traced
from cbnet.network.client.blocking.client_thread import ClientThread
from cbnet.network.client.blocking.offer import Offer
from cbnet.network.client.blocking.outgoing_frames import OutgoingFrames
from cbnet.network.client.blocking.subscription import Subscription
from cbnet.network.client.client_events import EventHandler
from cbnet.network.client.client_link import TIMEOUT
from cbnet.network.client.durable.durable_publishing import Receipt
from cbnet.network.client.durable.history_point import Since
from cbnet.network.client.messages.message_encoding import MessageLike, encode_batch, encode_publish
from cbnet.network.errors import NotConfirmed, NotConnected
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS
from cbnet.network.protocol.durable_frames import DurableLimits, DurableReport, Policy
from cbnet.network.protocol.frames import Status, SubscriptionList
from cbnet.network.protocol.request_codec import RequestLike
from cbnet.network.security.tls import Tls


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
        self._thread = ClientThread()
        self._outgoing = OutgoingFrames(self._thread.loop)
        try:
            connecting = connect_async(routers, name=name, network=network, timeout=timeout, tls=tls, token=token)
            self._client: AsyncClient = self._thread.call(connecting)
        except BaseException:
            self._thread.stop()
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
        """Maximum number of messages missed during interruptions, as far as is known."""
        return self._client.missed

    @property
    def on_event(self) -> EventHandler | None:
        """Handler called in the client's thread when the connection ends or is restored, or messages are lost.

        It may be set.
        """
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
        ack_wait: float | None = None,
        limits: DurableLimits | None = None,
        since: Since | None = None,
    ) -> Subscription:
        """Subscribe to messages that match a predicate; iterate over the subscription to receive them.

        wait: return when the subscription is in effect at every reachable router; raises `NotConfirmed` after `timeout`
        seconds, and the subscription stays active.
        queue: maximum number of queued messages. when_full: the policy when the queue is full.

        durable: the name of a durable subscription, for which this router stores messages even while no client is
        connected. An unacknowledged message is redelivered after `ack_wait` seconds (30); several clients share the
        messages. An empty predicate joins an existing durable subscription. limits: of the stored messages; a request
        with other limits than those of an existing subscription is refused, and `limit_durable` changes them.

        since: start in the past, with the messages in the router's history: at an age (a `timedelta`, or a text such as
        "1h"), at an offset, or at "first". New messages follow, without gaps or duplicates. After a reconnection to the
        same router, the subscription resumes after the last message received.
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
            return Subscription(self._thread, self._thread.call(subscribing))
        except NotConfirmed as error:
            if isinstance(error.subscription, AsyncSubscription):
                error.subscription = Subscription(self._thread, error.subscription)
            raise

    def subscribe_initial(
        self, *, timeout: float = TIMEOUT, queue: int = QUEUE, when_full: WhenFull = "block"
    ) -> Subscription:
        """Subscribe to the initial predicate of the router's node, which remains when this subscription ends."""
        subscribing = self._client.subscribe_initial(timeout=timeout, queue=queue, when_full=when_full)
        return Subscription(self._thread, self._thread.call(subscribing))

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
        is resent, also through another router. Raises `NotStored` if some do not have it after `timeout` seconds.
        Without `wait` or `durable` it is queued for the client's thread, in order; blocks while that queue is full.
        """
        if wait or durable:
            self._thread.call(self._flush(timeout))
            return self._thread.call(
                self._client.publish(message, payload, wait=wait, durable=durable, timeout=timeout)
            )
        self._send(encode_publish(0, message, payload, wants_answer=False), timeout)
        return None

    def publish_durably(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> list[Receipt]:
        """Publish messages durably (see `publish`), in order, and return their receipts; fastest for many messages.

        Raises `NotStored`, with all receipts, if some messages are not stored within `timeout` seconds each.
        """
        return self._thread.call(self._client.publish_durably(messages, payloads, timeout=timeout))

    def publish_many(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """Publish messages in order, each with its payload if there are payloads; fastest for many messages.

        All are checked first: if one is invalid, the `InputError` names its index, and nothing is sent. Blocks as
        `publish` does. The `NotConnected` after `timeout` seconds without progress has the number of messages `sent`,
        or passed to the client's thread, which sends them when it can.
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
            self._thread.call(self._client.connected(timeout))
        if self._outgoing.is_full:
            self.flush(timeout)
        self._outgoing.put(data, self._client)

    def flush(self, timeout: float = TIMEOUT) -> None:
        """Wait until all published messages are written to the socket."""
        self._thread.call(self._flush(timeout))

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
        return self._thread.call(self._client.trace(message, payload, is_dry=is_dry, of=of, at=at, timeout=timeout))

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

        try:
            return Offer(
                self._thread, self._thread.call(self._client.offer(predicate, answer, wait=wait, timeout=timeout))
            )
        except NotConfirmed as error:
            if isinstance(error.subscription, AsyncOffer):
                error.subscription = Offer(self._thread, error.subscription)
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
        return self._thread.call(requesting)

    def status(self, timeout: float = TIMEOUT, *, at: str = "") -> Status:
        """Return the status of the router, or of router `at`, which needs the right `watch`."""
        return self._thread.call(self._client.status(timeout, at=at))

    def subscriptions(self, timeout: float = TIMEOUT, *, at: str = "") -> SubscriptionList:
        """Return the first subscriptions of all clients of the router, or of router `at`; needs the right `watch`."""
        return self._thread.call(self._client.subscriptions(timeout, at=at))

    def durable_subscriptions(self, timeout: float = TIMEOUT) -> DurableReport:
        """Return the durable subscriptions of the router, and the homes that it knows."""
        return self._thread.call(self._client.durable_subscriptions(timeout))

    def remove_durable(self, name: str, timeout: float = TIMEOUT) -> None:
        """Remove a durable subscription of this router and its messages."""
        self._thread.call(self._client.remove_durable(name, timeout))

    def limit_durable(
        self,
        name: str,
        *,
        messages: int | None = None,
        bytes: int | None = None,
        age: float | None = None,
        policy: Policy | None = None,
        timeout: float = TIMEOUT,
    ) -> DurableLimits:
        """Change limits of a durable subscription of this router, for the next messages; return all its limits.

        None: no change. 0: no limit. Messages above a new limit stay, unless the policy drops them for a new message.
        """
        return self._thread.call(
            self._client.limit_durable(name, messages=messages, bytes=bytes, age=age, policy=policy, timeout=timeout)
        )

    def forget_home(self, home: str, timeout: float = TIMEOUT) -> None:
        """Remove the durable subscriptions of a router that will not return: publishers stop waiting for it."""
        self._thread.call(self._client.forget_home(home, timeout))

    def reload(self, timeout: float = TIMEOUT) -> list[str]:
        """Make the router reload its configuration; return the changes, or raise `Refused` with the error."""
        return self._thread.call(self._client.reload(timeout))

    def close(self) -> None:
        """Send the published messages, then close the connection and end all subscriptions."""
        if self._thread.is_alive:
            try:
                if self.is_connected:
                    self._thread.call(self._flush(TIMEOUT))
            finally:
                self._thread.call(self._client.close())
                self._thread.stop()

    async def _flush(self, timeout: float) -> None:
        await self._outgoing.send_all(self._client, timeout)
