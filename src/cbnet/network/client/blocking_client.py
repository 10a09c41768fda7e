"""The blocking client, for programs with or without threads.

It runs an `AsyncClient` in its own thread; every call waits for it. It is thread-safe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from cbnet.errors import CbnetError
from cbnet.language.message import Message
from cbnet.language.relations.covering import PredicateLike
from cbnet.network.client.async_client import AsyncClient, ClientState, connect_async
from cbnet.network.client.async_pull import Answer, AsyncOffer
from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery, HistorySpan
from cbnet.network.client.client_link import TIMEOUT
from cbnet.network.client.client_thread import ClientThread, OutgoingFrames
from cbnet.network.client.durable.durable_publishing import Receipt, Required
from cbnet.network.client.message_encoding import MessageLike, encode_batch, encode_publish
from cbnet.network.errors import NotConfirmed, NotConnected
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS
from cbnet.network.security.tls import Tls

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
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
        try:
            return Subscription(self._thread, self._thread.call(method(self._client, *args, **options)))
        except NotConfirmed as error:
            if isinstance(error.subscription, AsyncSubscription):
                error.subscription = Subscription(self._thread, error.subscription)
            raise

    return call


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
        """Publish a message; wait: return when the router has accepted it.

        durable: return a receipt when every durable subscription that matches has the message on disk; until then it
        is resent, also through another router. Raises `NotStored` if a home does not answer in `timeout` seconds or
        cannot write, or if a subscription of this account refuses it. The receipt counts those of other accounts that
        refuse it, unless they are required, as a list of (account, name), or "all": then it is not stored either.
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

        try:
            return Offer(
                self._thread, self._thread.call(self._client.offer(predicate, answer, wait=wait, timeout=timeout))
            )
        except NotConfirmed as error:
            if isinstance(error.subscription, AsyncOffer):
                error.subscription = Offer(self._thread, error.subscription)
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
