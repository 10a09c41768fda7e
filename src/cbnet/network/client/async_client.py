"""Async client: how does a program subscribe and publish? With asyncio; `client` is the same for plain threads.

A client has a connection to one router. When that is gone, another is made (`client_link`), to the same router or the
next of the list, and everything is subscribed to and offered again. What was on its way meanwhile is lost.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from cbnet.errors import CbnetError, InputError
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.network.client.async_pull import DEFAULT_HOLDERS, Answering, AsyncOffer, Handler, Reply, pull_frame, reply_of
from cbnet.network.client.async_subscription import QUEUE, AsyncSubscription, Confirmation, Delivery, WhenFull
from cbnet.network.client.client_link import ClientLink, Question
from cbnet.network.client.message_encoding import MessageLike, encode_publish, encode_trace
from cbnet.network.errors import NotConfirmed, Refused, TooSlow
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, Address, parse_address
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.frames import Deliver, Frame, Hello, Hop, Status, tag_of
from cbnet.network.protocol.request_codec import RequestLike
from cbnet.network.protocol.wire import MAX_VERSION, MIN_VERSION
from cbnet.network.security.tls import Tls, client_context
from cbnet.network.security.tokens import parse_token

TIMEOUT = 5.0

_log = logging.getLogger("cbnet.network")


class Traced(NamedTuple):
    """What happened to a message on its way."""

    hops: list[Hop]
    missing: list[str]  # routers that it was sent to and that have not reported


async def connect_async(
    routers: str | Iterable[str] = DEFAULT_ADDRESS,
    *,
    name: str = "",
    network: str = "cbnet",
    timeout: float = TIMEOUT,
    tls: Tls | None = None,
    token: str | None = None,
) -> AsyncClient:
    """Return a client that is connected to the first router of a list that answers.

    tls: whom it trusts and, if the router wants that, the certificate that it shows. token: what shows who it is.
    `NotTrusted` or `Refused` says that no router lets it in, and why.
    """
    client = AsyncClient(routers, name=name, network=network, tls=tls, token=token)
    try:
        await client.connected(timeout)
    except BaseException:
        await client.close()
        raise
    return client


class AsyncClient:
    """A client of a network. All its calls are made in the event loop where it was made."""

    def __init__(
        self,
        routers: str | Iterable[str] = DEFAULT_ADDRESS,
        *,
        name: str = "",
        network: str = "cbnet",
        tls: Tls | None = None,
        token: str | None = None,
    ) -> None:
        """Take the addresses of routers, the first that answers is used; `connect_async` also waits until one does."""
        addresses = _addresses(routers)
        context = None if tls is None else client_context(tls)
        shown = "" if token is None else _shown(token, addresses, tls)
        hello = Hello(
            low=MIN_VERSION,
            high=MAX_VERSION,
            role="client",
            name=name or f"client-{secrets.token_hex(3)}",
            network=network,
            life=0,
            scheme="",
            token=shown,
        )
        check_name("client", hello.name)
        check_name("network", network)
        self.lost = 0  # messages that a router dropped because they were read too slowly
        self.refused = 0  # messages that were published without waiting, and the router did not take
        self.refusal = ""  # why it did not take the last of them
        self.is_held = False  # whether nothing is read because a queue is full
        self._numbers = count(1)
        self._subscriptions: dict[int, AsyncSubscription] = {}
        self._offers: dict[int, AsyncOffer] = {}
        self._hops: dict[int, list[Hop]] = {}  # of messages that are traced
        self._deadlines: dict[int, float] = {}  # of subscriptions and offers that all routers shall have
        self._loop = asyncio.get_running_loop()
        self._link = ClientLink(self, hello, addresses, context)
        self._answering = Answering(self._send_answer)

    # --- what a program does with it

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to a router now."""
        return self._link.connection is not None

    @property
    def router(self) -> str:
        """The name of the router that it is or was connected to."""
        return self._link.router

    @property
    def reconnects(self) -> int:
        """How many connections were made after the first."""
        return self._link.reconnects

    async def connected(self, timeout: float = TIMEOUT) -> None:
        """Wait until there is a connection to a router."""
        await self._link.writable(timeout)

    async def subscribe(
        self,
        predicate: PredicateLike,
        *,
        wait: bool = False,
        timeout: float = TIMEOUT,
        queue: int = QUEUE,
        when_full: WhenFull = "block",
    ) -> AsyncSubscription:
        """Subscribe to what a predicate matches; iterate over what is returned to take the messages.

        wait: return when every router that can be reached has the subscription; `NotConfirmed` if that takes longer
        than `timeout` seconds, and then the subscription goes on nevertheless. Which routers have it, and which are
        known and cannot be reached, is in its `confirmation`.
        """
        text = predicate if isinstance(predicate, str) else str(as_predicate(predicate))
        as_predicate(text)
        subscription = AsyncSubscription(self, next(self._numbers), text, queue, when_full)
        return await self._subscribed(subscription, timeout, wait=wait)

    async def _subscribed(
        self, subscription: AsyncSubscription, timeout: float, *, wait: bool = False
    ) -> AsyncSubscription:
        self._subscriptions[subscription.id] = subscription
        try:
            await self._register(
                frames.Subscribe, subscription, lambda: self._send_subscribe(subscription), timeout, wait=wait
            )
        except NotConfirmed:
            raise
        except BaseException:
            self._subscriptions.pop(subscription.id, None)
            raise
        return subscription

    async def subscribe_loaded(
        self, *, timeout: float = TIMEOUT, queue: int = QUEUE, when_full: WhenFull = "block"
    ) -> AsyncSubscription:
        """Take part in what is delivered to the loaded predicate of the router's node.

        That is what the node wants in a network that was made from data. It stays when this subscription ends.
        """
        subscription = AsyncSubscription(self, next(self._numbers), "", queue, when_full, is_loaded=True)
        return await self._subscribed(subscription, timeout)

    async def _register(
        self,
        kind: type[Frame],
        registered: AsyncSubscription | AsyncOffer,
        send: Callable[[], None],
        timeout: float,
        *,
        wait: bool,
    ) -> None:
        """Tell the router of a subscription or an offer, and wait for its answer."""
        if wait:
            self._deadlines[registered.id] = self._loop.time() + timeout
        try:
            answer: frames.Subscribed | frames.Offered = await self._link.answer(
                kind, registered.id, send, timeout, is_kept=True
            )
        finally:
            self._deadlines.pop(registered.id, None)
        registered.confirmation = Confirmation(answer.is_confirmed, answer.routers, answer.missing)
        if wait and not answer.is_confirmed:
            raise NotConfirmed(registered, answer.routers, answer.missing, timeout)

    async def unsubscribe(self, subscription: AsyncSubscription) -> None:
        """End a subscription."""
        if self._subscriptions.pop(subscription.id, None) is None:
            return
        subscription.end()
        self.release()
        if self.is_connected:
            frame = frames.Unsubscribe(subscription.id)
            await self._link.answer(frames.Unsubscribe, subscription.id, lambda: self._link.send(frame), TIMEOUT)

    async def publish(
        self, message: MessageLike, payload: bytes = b"", *, wait: bool = False, timeout: float = TIMEOUT
    ) -> None:
        """Publish a message; wait: return when the router has it.

        Waits while there is no connection, up to `timeout` seconds, and while the router does not read.
        """
        number = next(self._numbers) if wait else 0
        data = encode_publish(number, message, payload, wants_answer=wait)
        if wait:
            await self._link.answer(frames.Publish, number, lambda: self._link.send_bytes(data), timeout)
            return
        if not self._link.is_writable:
            await self._link.writable(timeout)
        self._link.send_bytes(data)
        connection = self._link.connection
        if connection is not None and connection.is_loaded:
            await asyncio.sleep(0)  # what is published in a loop must leave now and then

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
        """Publish a message and return what every router did with it; is_dry: nothing is delivered.

        of, at: what would happen if somebody with this predicate were at this router; by default, at the router of
        this client.
        """
        await self.connected(timeout)
        predicate = "" if of is None else str(as_predicate(of))
        where = (at or self.router) if predicate else ""
        number = next(self._numbers)
        self._hops[number] = []
        data = encode_trace(number, message, payload, is_dry=is_dry, predicate=predicate, at=where)
        try:
            end: frames.TraceEnd = await self._link.answer(
                frames.Trace, number, lambda: self._link.send_bytes(data), timeout
            )
            return Traced(self._hops[number], end.missing)
        finally:
            del self._hops[number]

    async def offer(
        self, predicate: PredicateLike, handler: Handler, *, wait: bool = False, timeout: float = TIMEOUT
    ) -> AsyncOffer:
        """Answer requests that match a predicate: `handler` returns the item, or None if this client has not got it.

        wait: as in `subscribe`.
        """
        text = predicate if isinstance(predicate, str) else str(as_predicate(predicate))
        as_predicate(text)
        offer = AsyncOffer(self, next(self._numbers), text, handler)
        self._offers[offer.id] = offer
        try:
            await self._register(frames.Offer, offer, lambda: self._send_offer(offer), timeout, wait=wait)
        except NotConfirmed:
            raise
        except BaseException:
            self._offers.pop(offer.id, None)
            raise
        return offer

    async def withdraw(self, offer: AsyncOffer) -> None:
        """End an offer."""
        if self._offers.pop(offer.id, None) is not None and self.is_connected:
            frame = frames.Withdraw(offer.id)
            await self._link.answer(frames.Withdraw, offer.id, lambda: self._link.send(frame), TIMEOUT)

    async def request(
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
        number = next(self._numbers)
        frame = pull_frame(number, request, timeout, max_holders, fresh=fresh, trace=trace)
        end = self._loop.time() + timeout

        def send() -> None:
            self._link.send(msgspec.structs.replace(frame, timeout=max(0.001, end - self._loop.time())))

        return reply_of(await self._link.answer(frames.Pull, number, send, timeout), timeout)

    async def status(self, timeout: float = TIMEOUT) -> Status:
        """Return how the router is."""
        number = next(self._numbers)
        ask = frames.AskStatus(number)
        answer: Status = await self._link.answer(frames.AskStatus, number, lambda: self._link.send(ask), timeout)
        return answer

    async def close(self) -> None:
        """End the connection and all subscriptions."""
        for subscription in list(self._subscriptions.values()):
            subscription.end()
        self._subscriptions.clear()
        self._offers.clear()
        await self._answering.close()
        await self._link.close()

    # --- what is sent by others who have it as bytes

    @property
    def is_writable(self) -> bool:
        """Whether there is a connection, and the router reads."""
        return self._link.is_writable

    async def writable(self, timeout: float) -> None:
        """Wait until there is a connection, and the router reads."""
        await self._link.writable(timeout)

    def send_frames(self, all: Iterable[bytes]) -> None:
        """Send frames that are bytes already."""
        for data in all:
            self._link.send_bytes(data)

    # --- messages that come

    def _deliver(self, frame: Deliver) -> None:
        message = {**frame.attributes, "#": frame.tags} if frame.tags else frame.attributes
        delivery = Delivery(message, frame.payload, frame.source, (frame.source, frame.life, frame.number))
        for id in frame.subscriptions:
            subscription = self._subscriptions.get(id)
            if subscription is not None and subscription.put(delivery):
                if subscription.is_too_slow:
                    self.too_slow()
                    return
                self.is_held = subscription.is_full or self.is_held

    def too_slow(self, reason: str = "messages came faster than they were taken") -> None:
        """End everything because a queue is full, and that was to be so."""
        for subscription in self._subscriptions.values():
            subscription.end(TooSlow(reason))
        self._subscriptions.clear()
        self._link.give_up("the client is disconnected: it was too slow", "too slow", "connect again")

    def release(self) -> None:
        """Read again if no queue is full."""
        if self.is_held and not any(each.is_full for each in self._subscriptions.values()):
            self.is_held = False
            self._link.release()

    # --- what the link tells

    def taken(self, frame: Frame) -> None:
        """Take a frame of the router."""
        match frame:
            case Deliver():
                self._deliver(frame)
            case frames.Subscribed():
                self._link.answered(frames.Subscribe, frame.id, frame)
            case frames.Unsubscribed():
                self._link.answered(frames.Unsubscribe, frame.id, frame)
            case frames.Offered():
                self._link.answered(frames.Offer, frame.id, frame)
            case frames.Withdrawn():
                self._link.answered(frames.Withdraw, frame.id, frame)
            case frames.Asked():
                self._answering.asked(frame, self._offers.get(frame.offer))
            case frames.Replied() | frames.NotReplied():
                self._link.answered(frames.Pull, frame.number, frame)
            case frames.Published():
                self._link.answered(frames.Publish, frame.number, frame)
            case frames.Status():
                self._link.answered(frames.AskStatus, frame.number, frame)
            case frames.Traced():
                self._hops.get(frame.number, []).append(frame.hop)
            case frames.TraceEnd():
                self._link.answered(frames.Trace, frame.number, frame)
            case frames.Refused():
                self._refused(frame)
            case frames.Lost():
                self.lost += frame.messages

    def admitted(self) -> None:
        """Subscribe and offer again, as a new router has taken the Hello."""
        if any(each.when_full == "disconnect" for each in self._subscriptions.values()):
            self._link.send(frames.IfSlow("disconnect"))
        for subscription in self._subscriptions.values():
            self._send_subscribe(subscription)
        for offer in self._offers.values():
            self._send_offer(offer)

    def kept(self) -> set[Question]:
        """Return what is asked again after a new connection: subscriptions and offers."""
        offers = {(tag_of(frames.Offer), id) for id in self._offers}
        return offers | {(tag_of(frames.Subscribe), id) for id in self._subscriptions}

    def shut_out(self, error: CbnetError) -> None:
        """End all subscriptions and offers, as no router lets this client in."""
        for subscription in self._subscriptions.values():
            subscription.end(error)
        for offer in self._offers.values():
            offer.failure = error

    def _send_subscribe(self, subscription: AsyncSubscription) -> None:
        if subscription.when_full == "disconnect":
            self._link.send(frames.IfSlow("disconnect"))
        wait = self._wait(subscription.id)
        self._link.send(frames.Subscribe(subscription.id, subscription.predicate, wait, subscription.is_loaded))

    def _send_offer(self, offer: AsyncOffer) -> None:
        self._link.send(frames.Offer(offer.id, offer.predicate, self._wait(offer.id)))

    def _wait(self, id: int) -> float:
        """Return for how many seconds it is to be waited until all routers have a subscription or an offer."""
        deadline = self._deadlines.get(id)
        return 0.0 if deadline is None else max(0.001, deadline - self._loop.time())

    def _send_answer(self, data: bytes) -> None:
        if self.is_connected:  # else nobody waits for it any longer
            self._link.send_bytes(data)

    def _refused(self, frame: frames.Refused) -> None:
        if self._link.is_refused(frame):
            return
        if frame.frame == tag_of(frames.Publish):
            self.refused += 1
            self.refusal = frame.reason
        elif frame.frame == tag_of(frames.Subscribe) and (gone := self._subscriptions.pop(frame.number, None)):
            gone.end(Refused(frame.reason))  # taken before, and not by the router that it is connected to now
        elif frame.frame == tag_of(frames.Offer) and frame.number in self._offers:
            self._offers.pop(frame.number).failure = Refused(frame.reason)
            _log.warning("%s refuses an offer that was taken before: %s", self.router, frame.reason)


def _addresses(routers: str | Iterable[str]) -> Sequence[Address]:
    said = [routers] if isinstance(routers, str) else list(routers)
    if not said:
        raise InputError("no router is named", hint=f"give an address such as {DEFAULT_ADDRESS}")
    return [parse_address(each) for each in said]


def _shown(token: str, routers: Iterable[Address], tls: Tls | None) -> str:
    """Return a token that may be sent to routers, or refuse to send it where others can read it."""
    open_ones = [str(where) for where in routers if not where.is_loopback]
    if tls is None and open_ones:
        raise InputError(
            f"the token would go to {open_ones[0]} without TLS, where others can read it",
            hint="name the authority that the router is trusted by (tls=, --tls-authority)",
        )
    return parse_token(token)
