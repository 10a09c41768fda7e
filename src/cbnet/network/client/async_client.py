"""The asyncio client; `client` offers the same to threads.

A client is connected to one router. When the connection closes, it reconnects (`client_link`) to the same router or the
next of its list, and restores its subscriptions and offers. Messages in transit meanwhile are lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count, repeat
from types import TracebackType
from typing import Any, Self, TypeAlias

from cbnet.errors import CbnetError
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.network.client.answered_calls import answered_calls
from cbnet.network.client.async_pull import DEFAULT_HOLDERS, AsyncOffer, Handler, OfferAnswers, Reply, pull, pull_frame
from cbnet.network.client.async_subscription import QUEUE, AsyncSubscription, Delivery, DurableOptions, WhenFull
from cbnet.network.client.async_trace import ClientTraces, Traced
from cbnet.network.client.client_events import ClientEvent, EventHandler, EventKind, Interruption
from cbnet.network.client.client_hello import client_hello
from cbnet.network.client.client_link import Call, ClientLink, Dial
from cbnet.network.client.durable_delivery import DurableDelivery
from cbnet.network.client.durable_publishing import DurablePublishing, Receipt
from cbnet.network.client.history_point import Since, history_start
from cbnet.network.client.message_encoding import MessageLike, encode_batch, encode_publish, encode_trace
from cbnet.network.client.registrations import Registrations
from cbnet.network.errors import NotConnected, TooSlow
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, parse_addresses
from cbnet.network.protocol.durable_frames import DurableLimits
from cbnet.network.protocol.frames import Frame, Status, frame_number
from cbnet.network.protocol.request_codec import RequestLike
from cbnet.network.security.tls import Tls, client_context, dial
from cbnet.network.security.tokens import token_for

_log = logging.getLogger("cbnet.network")
TIMEOUT = 5.0
ACK_WAIT = 30.0
Query: TypeAlias = (
    frames.StatusRequest
    | frames.SubscriptionRequest
    | frames.TableRequest
    | frames.FilterRequest
    | frames.DurableQuery
    | frames.DurableRemove
    | frames.ForgetHome
    | frames.Reload
)


def _ignore(_: int) -> None:
    """Do nothing: what is received of a history is acknowledged by itself."""


async def connect_async(
    routers: str | Iterable[str] = DEFAULT_ADDRESS,
    *,
    name: str = "",
    network: str = "cbnet",
    timeout: float = TIMEOUT,
    tls: Tls | None = None,
    token: str | None = None,
) -> AsyncClient:
    """Connect to the first router of a list that answers, and return the client.

    tls: trust anchors and, if routers require it, the client certificate. token: identifies the client.
    Raises `NotConnected` after the timeout, `NotTrusted` or `Refused` if no router accepts the client.
    """
    client = AsyncClient(routers, name=name, network=network, tls=tls, token=token)
    try:
        await client.connected(timeout)
    except BaseException:
        await client.close()
        raise
    return client


class AsyncClient:
    """A client of a network. Use it only in the event loop in which it was created."""

    def __init__(
        self,
        routers: str | Iterable[str] = DEFAULT_ADDRESS,
        *,
        name: str = "",
        network: str = "cbnet",
        tls: Tls | None = None,
        token: str | None = None,
        dialler: Dial | None = None,
    ) -> None:
        """Start connecting to the first router that answers; `connect_async` also waits until one does.

        dialler: connects to a router without a socket, in the same process.
        """
        addresses = parse_addresses(routers)
        dialled = addresses if dialler is None else []
        sent_token = "" if token is None else token_for(dialled, token, is_encrypted=tls is not None)
        hello = client_hello(name, network, sent_token)
        self.name = hello.name
        self.lost = 0  # messages that a router dropped because this client read too slowly
        self.refused = 0  # messages published without `wait` that the router refused
        self.refusal = ""  # the reason for the last of them
        self.is_held = False  # whether reading is paused because a queue is full
        self.on_event: EventHandler | None = None  # called when the connection ends or is back, or messages are lost
        self._interruption = Interruption()
        self._numbers = count(1)
        self._loop = asyncio.get_running_loop()
        context = None if tls is None else client_context(tls)
        self._link = ClientLink(self, hello, addresses, dialler or partial(dial, context=context))
        self._registered = Registrations(self._link)
        self._traces = ClientTraces(self._link)
        self._answers = OfferAnswers(self._send_answer)
        self._durable = DurablePublishing(self._link)

    # --- public API

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def is_connected(self) -> bool:
        """Whether the client is connected to a router."""
        return self._link.connection is not None

    @property
    def router(self) -> str:
        """The name of the current or last router."""
        return self._link.router

    @property
    def missed(self) -> int:
        """Messages that were published during interruptions and may have been missed, at most, as far as is known."""
        return self._interruption.missed

    @property
    def problem(self) -> str:
        """Why the last connection was closed, or could not be opened."""
        return self._link.problem

    @property
    def reconnects(self) -> int:
        """Number of connections after the first."""
        return self._link.reconnects

    async def connected(self, timeout: float = TIMEOUT) -> None:
        """Wait until the client is connected."""
        await self._link.writable(timeout)

    async def subscribe(
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
    ) -> AsyncSubscription:
        """Subscribe to messages that match a predicate; iterate over the subscription to receive them.

        wait: return when messages of every reachable router arrive; raises `NotConfirmed` after `timeout` seconds,
        and the subscription stays active. Its `confirmation` names the links that have not answered.
        queue: number of messages. when_full: the policy when the queue is full.

        durable: the name of a durable subscription, which this router keeps messages for, also while no client is
        connected. Messages come again until they are acknowledged, after `ack_wait` seconds; several clients share
        them. An empty predicate joins an existing one. limits: what it keeps at most.

        since: begin in the past, with what the router has in its history: a `timedelta`, or a text such as "1h", ago;
        an offset; or "first". New messages follow, without a gap or a repetition. After a reconnection to the same
        router, the subscription goes on after the last message received.
        """
        text = predicate if isinstance(predicate, str) else str(as_predicate(predicate))
        options = DurableOptions(durable, ack_wait, limits) if durable else None
        if text or options is None:
            as_predicate(text)
        start = None if since is None else history_start(since)
        subscription = AsyncSubscription(
            self, next(self._numbers), text, queue, when_full, durable=options, since=start
        )
        await self._registered.subscribe(subscription, timeout, wait=wait)
        return subscription

    async def subscribe_initial(
        self, *, timeout: float = TIMEOUT, queue: int = QUEUE, when_full: WhenFull = "block"
    ) -> AsyncSubscription:
        """Subscribe to the initial predicate of the router's node, in a network made from data.

        The predicate stays when this subscription ends.
        """
        subscription = AsyncSubscription(self, next(self._numbers), "", queue, when_full, is_initial=True)
        await self._registered.subscribe(subscription, timeout, wait=False)
        return subscription

    async def unsubscribe(self, subscription: AsyncSubscription) -> None:
        """End a subscription."""
        if self._registered.subscriptions.pop(subscription.id, None) is None:
            return
        subscription.send_acknowledgements()
        subscription.end()
        self.release()
        if self.is_connected:
            await self._ask(frames.Unsubscribe(subscription.id), subscription.id, TIMEOUT)

    async def publish(
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
        Blocks while the client is disconnected, up to `timeout` seconds, and while the router does not read.
        """
        if durable:
            (receipt,) = await self._durable.publish([message], [payload], timeout)
            return receipt
        number = next(self._numbers) if wait else 0
        data = encode_publish(number, message, payload, wants_answer=wait)
        if wait:
            await self._link.call(frames.Publish, number, lambda: self._link.send_bytes(data), timeout)
        else:
            await self._send(data, timeout)
        return None

    async def publish_durably(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> list[Receipt]:
        """Publish messages in order as `publish` does with `durable`, and return their receipts: fastest for many.

        Raises `NotStored`, with all receipts, if some messages are not stored after `timeout` seconds for each.
        """
        return await self._durable.publish(messages, repeat(b"") if payloads is None else payloads, timeout)

    async def publish_many(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """Publish messages in order, each with its payload, if there are payloads; the fastest way for many.

        All are checked first: if one is invalid, the `InputError` names its index, and nothing is sent. Blocks as
        `publish` does. The `NotConnected` after `timeout` seconds without progress says how many were `sent`.
        """
        chunks = encode_batch(messages, payloads)
        sent = 0
        try:
            for data, end in chunks:
                await self._send(data, timeout)
                sent = end
        except NotConnected as error:
            raise NotConnected(f"{error}; {sent:,} of {chunks[-1].end:,} messages were sent", sent=sent) from None

    async def _send(self, data: bytes, timeout: float) -> None:
        if not self._link.is_writable:
            await self._link.writable(timeout)
        self._link.send_bytes(data)
        connection = self._link.connection
        if connection is not None and connection.has_backlog:
            await asyncio.sleep(0)  # lets the event loop write while a program publishes in a loop

    async def trace(
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
        await self.connected(timeout)
        predicate = "" if of is None else str(as_predicate(of))
        at = (at or self.router) if predicate else ""
        number = next(self._numbers)
        data = encode_trace(number, message, payload, is_dry=is_dry, predicate=predicate, at=at)
        return await self._traces.run(number, data, timeout)

    async def offer(
        self, predicate: PredicateLike, handler: Handler, *, wait: bool = False, timeout: float = TIMEOUT
    ) -> AsyncOffer:
        """Answer requests that match a predicate; `handler` returns the item, or None if this client lacks it.

        wait: as in `subscribe`.
        """
        text = predicate if isinstance(predicate, str) else str(as_predicate(predicate))
        as_predicate(text)
        offer = AsyncOffer(self, next(self._numbers), text, handler)
        await self._registered.offer(offer, timeout, wait=wait)
        return offer

    async def withdraw(self, offer: AsyncOffer) -> None:
        """End an offer."""
        if self._registered.offers.pop(offer.id, None) is not None and self.is_connected:
            await self._ask(frames.Withdraw(offer.id), offer.id, TIMEOUT)

    async def request(
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
        frame = pull_frame(next(self._numbers), request, timeout, max_holders, fresh=fresh, trace=trace)
        return await pull(self._link, frame)

    async def status(self, timeout: float = TIMEOUT, *, at: str = "") -> Status:
        """Return the status of the router, or of another one in the network; that needs the right `watch`."""
        answer: Status = await self.query(frames.StatusRequest, at, timeout=timeout)
        return answer

    async def subscriptions(self, timeout: float = TIMEOUT, *, at: str = "") -> frames.SubscriptionList:
        """Return the first subscriptions of all clients at the router, or at another one; needs the right `watch`."""
        answer: frames.SubscriptionList = await self.query(frames.SubscriptionRequest, at, timeout=timeout)
        return answer

    async def durable_subscriptions(self, timeout: float = TIMEOUT) -> frames.DurableReport:
        """Return the durable subscriptions of the router, and the homes that it knows."""
        report: frames.DurableReport = await self.query(frames.DurableQuery, timeout=timeout)
        return report

    async def remove_durable(self, name: str, timeout: float = TIMEOUT) -> None:
        """Remove a durable subscription of this router and its messages."""
        await self.query(frames.DurableRemove, name, timeout=timeout)

    async def forget_home(self, home: str, timeout: float = TIMEOUT) -> None:
        """Remove the durable subscriptions of a router that will not return: nobody waits for it any more."""
        await self.query(frames.ForgetHome, home, timeout=timeout)

    async def reload(self, timeout: float = TIMEOUT) -> list[str]:
        """Have the router read its configuration again; return the changes, or raise `Refused` with the mistake."""
        answer: frames.Reloaded = await self.query(frames.Reload, timeout=timeout)
        return answer.changes

    async def query(self, kind: type[Query], *members: Any, timeout: float) -> Any:
        """Send a query or an order about the router itself, and return the answer; members: those after the number."""
        frame = kind(next(self._numbers), *members)
        return await self._ask(frame, frame.number, timeout)

    async def _ask(self, frame: Frame, number: int, timeout: float) -> Any:
        """Send a frame and return its answer."""
        return await self._link.call(type(frame), number, lambda: self._link.send(frame), timeout)

    async def close(self) -> None:
        """Close the connection and end all subscriptions and offers."""
        for subscription in self._registered.subscriptions.values():
            subscription.send_acknowledgements()
        self._registered.end_subscriptions()
        self._registered.offers.clear()
        self._durable.fail(NotConnected("the client is closed; no receipt arrived"))
        await self._answers.close()
        await self._link.close()

    # --- encoded frames, for `client`

    @property
    def is_writable(self) -> bool:
        """Whether the client is connected and the router reads."""
        return self._link.is_writable

    async def writable(self, timeout: float) -> None:
        """Wait until the client is connected and the router reads."""
        await self._link.writable(timeout)

    def send_frames(self, all: Iterable[bytes]) -> None:
        """Send encoded frames."""
        for data in all:
            self._link.send_bytes(data)

    # --- deliveries

    def too_slow(self, reason: str = "messages arrived faster than they were read") -> None:
        """End all subscriptions and disconnect: a queue with the policy "disconnect" is full."""
        self._registered.end_subscriptions(TooSlow(reason))
        self._link.give_up("the client was too slow and is disconnected", "too slow", "connect again")

    def release(self) -> None:
        """Resume reading if no queue is full."""
        if self.is_held and not any(each.is_full for each in self._registered.subscriptions.values()):
            self.is_held = False
            self._link.release()

    # --- callbacks of the link

    def received(self, frame: Frame) -> None:
        """Handle a frame from the router."""
        match frame:
            case frames.HolderRequest():
                self._answers.start(frame, self._registered.offers.get(frame.offer))
            case frames.TracedFrame():
                self._traces.add(frame)
            case frames.RefusedFrame():
                self._refused(frame)
            case frames.Lost():
                self._lost(frame)
            case frames.DurableDeliver():
                self._delivered_durable(frame)
            case frames.DurablePublished():
                self._durable.answered(frame)
            case frames.Replaying() if frame.id in self._registered.subscriptions:
                self._registered.subscriptions[frame.id].begins(frame)
            case frames.DurableLost() if frame.id in self._registered.subscriptions:
                self._registered.subscriptions[frame.id].lost += frame.messages
                if frame.cause:
                    self._report(ClientEvent(EventKind.LOST, self.router, frame.cause, frame.messages or None))
            case _:
                for kind, number in answered_calls(frame):
                    self._link.answered(kind, number, frame)

    def delivered(self, batches: Mapping[int, list[Delivery]]) -> None:
        """Queue messages for subscriptions."""
        if self._interruption.is_open:
            self._report_missed(batches)
        self._queue(batches)

    def _queue(self, batches: Mapping[int, list[Delivery]]) -> None:
        found = self._registered.put(batches)
        self.is_held = self.is_held or any(each.is_full for each in found)
        if any(each.is_too_slow for each in found):
            self.too_slow()

    def _delivered_durable(self, frame: frames.DurableDeliver) -> None:
        subscription = self._registered.subscriptions.get(frame.id)
        if subscription is not None:
            acknowledge = _ignore if subscription.is_replay else subscription.acknowledge
            self._queue({frame.id: [DurableDelivery(frame, acknowledge)]})

    def soon(self, call: Callable[[], None]) -> None:
        """Make a call in the event loop of this client; may be called in any thread."""
        self._loop.call_soon_threadsafe(call)

    def acknowledge(self, id: int, offsets: list[int], up_to: int) -> None:
        """Acknowledge messages of a durable subscription; what is not acknowledged comes again."""
        self._link.send(frames.Acknowledge(id, offsets, up_to))

    def connection_changed(self, event: ClientEvent) -> None:
        """Report that the client is disconnected, or connected again; what it missed shows later."""
        self._interruption.begin(self._link.newest, self._loop.time())
        self._report(event)

    def _lost(self, frame: frames.Lost) -> None:
        self.lost += frame.messages
        text = frame.cause or f"{frame.messages:,} messages dropped: they arrived faster than they were read"
        if frame.cause:
            self._interruption.begin(self._link.newest, self._loop.time())
        self._report(ClientEvent(EventKind.LOST, self.router, text, frame.messages or None))

    def _report_missed(self, batches: Mapping[int, list[Delivery]]) -> None:
        for source, most in self._interruption.check(batches, self._loop.time()):
            text = f"{most:,} other messages were published at {source} meanwhile: those that match were missed"
            self._report(ClientEvent(EventKind.MISSED, self.router, text, most))

    def _report(self, event: ClientEvent) -> None:
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:  # a mistake of the program must not end the connection
                _log.exception("the handler of a client's events failed")

    def admitted(self) -> None:
        """Restore subscriptions and offers at a new router, and send durable messages without a receipt again."""
        self._registered.restore()
        self._durable.restore()

    def restored_calls(self) -> set[Call]:
        """Return the calls that are repeated on a new connection: subscriptions and offers."""
        return self._registered.calls()

    def rejected(self, error: CbnetError) -> None:
        """End all subscriptions and offers: no router accepts this client."""
        self._registered.fail(error)
        self._durable.fail(error)

    def _send_answer(self, data: bytes) -> None:
        if self.is_connected:  # otherwise the requester has given up
            self._link.send_bytes(data)

    def _refused(self, frame: frames.RefusedFrame) -> None:
        if self._link.is_refused(frame):
            return
        if frame.frame == frame_number(frames.DurablePublish):
            self._durable.refused(frame.number, frame.reason)
        elif frame.frame == frame_number(frames.Publish):
            self.refused += 1
            self.refusal = frame.reason
        else:
            self._registered.refuse(frame)
