"""Async client: how does a program subscribe and publish? With asyncio; `client` is the same for plain threads.

A client has a connection to one router. When that is gone, another is made, to the same router or the next of the list,
and everything is subscribed to and offered again. What was on its way meanwhile is lost.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from itertools import count, cycle
from ssl import SSLError
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from cbnet.errors import CbnetError, InputError
from cbnet.language.covering import PredicateLike, as_predicate
from cbnet.network import frames
from cbnet.network.addresses import DEFAULT, Address, address
from cbnet.network.async_pull import MAX_HOLDERS, Answering, AsyncOffer, Handler, Reply, pull_frame, reply_of
from cbnet.network.async_subscription import QUEUE, AsyncSubscription, Confirmation, Delivery, WhenFull
from cbnet.network.backoff import Backoff
from cbnet.network.connection import Connection
from cbnet.network.failures import NotConfirmed, NotConnected, NotTrusted, Refused, TooSlow
from cbnet.network.frames import Deliver, Frame, Hello, Hop, Status
from cbnet.network.links import HELLO, HIGH, LOW
from cbnet.network.publishing import MessageLike, publish_bytes, trace_bytes
from cbnet.network.requested import RequestLike
from cbnet.network.settings import check_name
from cbnet.network.tls import Tls, client_context, dialled, explained
from cbnet.network.tokens import checked_token
from cbnet.network.waiting import Waiting

TIMEOUT = 5.0
_SILENT, _DEAD = 1.0, 3.5  # seconds, as routers have them
_GRACE = 1.0  # seconds for an answer to come after the time that the router was given
_MOST_WAITING = 1 << 26  # bytes; publishers wait long before that
_LASTING = 3.0  # seconds, after which a connection counts as one that was good
_TAKEN = frames.Ping(1)  # its answer shows that the Hello before was taken; all others have the number 0

_log = logging.getLogger("cbnet.network")


class Traced(NamedTuple):
    """What happened to a message on its way."""

    hops: list[Hop]
    missing: list[str]  # routers that it was sent to and that have not reported


async def connect_async(
    routers: str | Iterable[str] = DEFAULT,
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
        routers: str | Iterable[str] = DEFAULT,
        *,
        name: str = "",
        network: str = "cbnet",
        tls: Tls | None = None,
        token: str | None = None,
    ) -> None:
        """Take the addresses of routers, the first that answers is used; `connect_async` also waits until one does."""
        self._addresses = _addresses(routers)
        self._context = None if tls is None else client_context(tls)
        shown = "" if token is None else _shown(token, self._addresses, tls)
        self._hello = Hello(LOW, HIGH, "client", name or f"client-{secrets.token_hex(3)}", network, 0, "", shown)
        check_name("client", self._hello.name)
        check_name("network", network)
        self.router = ""  # the name of the router that it is or was connected to
        self.lost = 0  # messages that a router dropped because they were read too slowly
        self.refused = 0  # messages that were published without waiting, and the router did not take
        self.refusal = ""  # why it did not take the last of them
        self.reconnects = 0
        self.is_held = False  # whether nothing is read because a queue is full
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._subscriptions: dict[int, AsyncSubscription] = {}
        self._offers: dict[int, AsyncOffer] = {}
        self._answering = Answering(self._send_answer)
        self._requests: dict[tuple[int, int], asyncio.Future[Any]] = {}  # by the frame's tag and number
        self._hops: dict[int, list[Hop]] = {}
        self._deadlines: dict[int, float] = {}  # of subscriptions and offers that all routers shall have
        self._connection: Connection | None = None  # one over which a Hello has come
        self._refusal: CbnetError | None = None  # of the router that is being connected to
        self._heard = 0.0
        self._problem = "nothing was tried"
        self._fault: CbnetError | None = None  # why no attempt can succeed
        self._refusals: dict[Address, CbnetError] = {}  # of routers that do not let it in
        self._changed = asyncio.Event()
        self._is_closed = False
        self._tasks = [self._loop.create_task(task) for task in (self._keep(), self._watch())]

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
        return self._connection is not None

    async def connected(self, timeout: float = TIMEOUT) -> None:
        """Wait until there is a connection to a router."""
        await self.writable(timeout)

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
            answer: frames.Subscribed | frames.Offered = await self._answer(
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
        connection = self._connection
        if connection is not None:
            frame = frames.Unsubscribe(subscription.id)
            await self._answer(frames.Unsubscribe, subscription.id, lambda: self._send(frame), TIMEOUT)

    async def publish(
        self, message: MessageLike, payload: bytes = b"", *, wait: bool = False, timeout: float = TIMEOUT
    ) -> None:
        """Publish a message; wait: return when the router has it.

        Waits while there is no connection, up to `timeout` seconds, and while the router does not read.
        """
        number = next(self._numbers) if wait else 0
        data = publish_bytes(number, message, payload, wants_answer=wait)
        if wait:
            await self._answer(frames.Publish, number, lambda: self._send_bytes(data), timeout)
            return
        if self._connection is None or self._connection.is_paused:
            await self.writable(timeout)
        self._send_bytes(data)
        if self._connection is not None and self._connection.is_loaded:
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
        data = trace_bytes(number, message, payload, is_dry=is_dry, predicate=predicate, at=where)
        try:
            end: frames.TraceEnd = await self._answer(frames.Trace, number, lambda: self._send_bytes(data), timeout)
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
        if self._offers.pop(offer.id, None) is not None and self._connection is not None:
            frame = frames.Withdraw(offer.id)
            await self._answer(frames.Withdraw, offer.id, lambda: self._send(frame), TIMEOUT)

    async def request(
        self,
        request: RequestLike,
        *,
        timeout: float = TIMEOUT,
        max_holders: int = MAX_HOLDERS,
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
            self._send(msgspec.structs.replace(frame, timeout=max(0.001, end - self._loop.time())))

        return reply_of(await self._answer(frames.Pull, number, send, timeout), timeout)

    async def status(self, timeout: float = TIMEOUT) -> Status:
        """Return how the router is."""
        number = next(self._numbers)
        ask = frames.AskStatus(number)
        answer: Status = await self._answer(frames.AskStatus, number, lambda: self._send(ask), timeout)
        return answer

    async def close(self) -> None:
        """End the connection and all subscriptions."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        connection = self._connection
        self._disconnected("the client is closed")
        for subscription in list(self._subscriptions.values()):
            subscription.end()
        self._subscriptions.clear()
        self._offers.clear()
        await self._answering.close()
        if connection is not None:
            connection.close("the client ends")
            await connection.gone(_GRACE)

    # --- what happens to its connection

    def opened(self, connection: Connection) -> None:
        """Say who this is, and ask whether that is taken."""
        connection.send(self._hello)
        connection.send(_TAKEN)

    def received(self, connection: Connection, frames: list[Frame]) -> None:
        """Take frames."""
        self._heard = self._loop.time()
        for frame in frames:
            if type(frame) is Deliver:
                self._deliver(frame)
            else:
                self._take(connection, frame)
        if self.is_held:
            self._hold()

    def failed(self, connection: Connection, reason: str) -> None:
        """Give up a connection over which something came that is no frame."""
        self._problem = reason
        connection.close(reason)
        self.closed(connection)

    def closed(self, connection: Connection) -> None:
        """Take note that a connection is gone."""
        if connection is self._connection:
            self._disconnected(f"the connection to {self.router} has ended")

    def dropped(self, connection: Connection, count: int) -> None:
        """Nothing that a client sends is dropped."""

    def overflowed(self, connection: Connection) -> None:
        """Give up a connection on which far too much waits."""
        self.failed(connection, "the router does not read")

    def relieved(self, _: Connection) -> None:
        """Let those go on who wait to send."""
        self._changed.set()

    # --- messages that come

    def _deliver(self, frame: Deliver) -> None:
        message = {**frame.attributes, "#": frame.tags} if frame.tags else frame.attributes
        delivery = Delivery(message, frame.payload, frame.source, (frame.source, frame.life, frame.number))
        for id in frame.subscriptions:
            subscription = self._subscriptions.get(id)
            if subscription is not None and subscription.put(delivery):
                if subscription.is_too_slow:
                    self._too_slow()
                    return
                self.is_held = subscription.is_full or self.is_held

    def _too_slow(self, reason: str = "messages came faster than they were taken") -> None:
        """End everything because a queue is full, and that was to be so."""
        for subscription in self._subscriptions.values():
            subscription.end(TooSlow(reason))
        self._subscriptions.clear()
        self._fault = InputError("the client is disconnected", hint="connect again")
        connection = self._connection
        self._disconnected("the client is disconnected: it was too slow")
        if connection is not None:
            connection.close("too slow")

    def _hold(self) -> None:
        """Read nothing for now, unless an answer is awaited: it comes after the messages."""
        if self._connection is not None and not self._requests:
            self._connection.hold()

    def release(self) -> None:
        """Read again if no queue is full."""
        if self.is_held and not any(each.is_full for each in self._subscriptions.values()):
            self.is_held = False
            self._heard = self._loop.time()
            if self._connection is not None:
                self._connection.release()

    # --- other frames that come

    def _take(self, connection: Connection, frame: Frame) -> None:
        match frame:
            case frames.Ping():
                connection.send(frames.Pong(frame.number))
            case frames.Subscribed():
                self._done(frames.Subscribe, frame.id, frame)
            case frames.Unsubscribed():
                self._done(frames.Unsubscribe, frame.id, frame)
            case frames.Offered():
                self._done(frames.Offer, frame.id, frame)
            case frames.Withdrawn():
                self._done(frames.Withdraw, frame.id, frame)
            case frames.Asked():
                self._answering.asked(frame, self._offers.get(frame.offer))
            case frames.Replied() | frames.NotReplied():
                self._done(frames.Pull, frame.number, frame)
            case frames.Published():
                self._done(frames.Publish, frame.number, frame)
            case frames.Status():
                self._done(frames.AskStatus, frame.number, frame)
            case frames.Traced():
                self._hops.get(frame.number, []).append(frame.hop)
            case frames.TraceEnd():
                self._done(frames.Trace, frame.number, frame)
            case frames.Refused():
                self._refused(frame)
            case frames.Lost():
                self.lost += frame.messages
            case frames.Pong() if frame.number == _TAKEN.number:
                self._admitted(connection)
            case Hello():
                self._greeted(connection, frame)
            case frames.Close():
                self._problem = frame.reason
                if "too slowly" in frame.reason:
                    self._too_slow(frame.reason)
                elif connection is self._connection:  # what was published is still taken
                    self._disconnected(f"{self.router} has closed the connection: {frame.reason}")
                    connection.finish()

    def _greeted(self, connection: Connection, hello: Hello) -> None:
        if hello.network != self._hello.network:
            self._fault = InputError(
                f"{connection.other_side} is a router of the network {hello.network!r}",
                hint=f"say that name (network=, --network-name), or dial a router of {self._hello.network!r}",
            )
            connection.close("another network")
            self._changed.set()
            return
        self.router = hello.name

    def _admitted(self, connection: Connection) -> None:
        """Begin to use a connection to a router that has taken the Hello."""
        self._connection = connection
        self._refusals.clear()
        if any(each.when_full == "disconnect" for each in self._subscriptions.values()):
            connection.send(frames.IfSlow("disconnect"))
        for subscription in self._subscriptions.values():
            self._send_subscribe(subscription)
        for offer in self._offers.values():
            self._send_offer(offer)
        self._changed.set()

    def _send_subscribe(self, subscription: AsyncSubscription) -> None:
        if subscription.when_full == "disconnect":
            self._send(frames.IfSlow("disconnect"))
        wait = self._wait(subscription.id)
        self._send(frames.Subscribe(subscription.id, subscription.predicate, wait, subscription.is_loaded))

    def _send_offer(self, offer: AsyncOffer) -> None:
        self._send(frames.Offer(offer.id, offer.predicate, self._wait(offer.id)))

    def _wait(self, id: int) -> float:
        """Return for how many seconds it is to be waited until all routers have a subscription or an offer."""
        deadline = self._deadlines.get(id)
        return 0.0 if deadline is None else max(0.001, deadline - self._loop.time())

    def _send_answer(self, data: bytes) -> None:
        if self._connection is not None:  # else nobody waits for it any longer
            self._connection.send_bytes(data)

    def _refused(self, frame: frames.Refused) -> None:
        future = self._requests.get((frame.frame, frame.number))
        if frame.frame == HELLO:
            self._refusal = Refused(f"{self.router} does not let this client in: {frame.reason}")
        elif future is not None and not future.done():
            future.set_exception(Refused(frame.reason))
        elif frame.frame == _tag(frames.Publish):
            self.refused += 1
            self.refusal = frame.reason
        elif frame.frame == _tag(frames.Subscribe) and (gone := self._subscriptions.pop(frame.number, None)):
            gone.end(Refused(frame.reason))  # taken before, and not by the router that it is connected to now
        elif frame.frame == _tag(frames.Offer) and frame.number in self._offers:
            del self._offers[frame.number]
            _log.warning("%s refuses an offer that was taken before: %s", self.router, frame.reason)

    # --- requests and their answers

    async def _answer(
        self, kind: type[Frame], number: int, send: Callable[[], None], timeout: float, *, is_kept: bool = False
    ) -> Any:
        """Send something and return the answer; is_kept: it is sent again after a new connection."""
        end = self._loop.time() + timeout
        key = _tag(kind), number
        if not is_kept or self._connection is None:
            await self.writable(timeout)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._requests[key] = future
        if self._connection is not None and self.is_held:
            self._connection.release()
        try:
            send()
            async with asyncio.timeout(max(0.0, end - self._loop.time()) + _GRACE):
                return await future
        except TimeoutError:
            raise NotConnected(f"no answer from {self.router} in {timeout:g} s") from None
        finally:
            del self._requests[key]
            if self.is_held:
                self._hold()

    def _done(self, kind: type[Frame], number: int, answer: Frame) -> None:
        future = self._requests.get((_tag(kind), number))
        if future is not None and not future.done():
            future.set_result(answer)

    def _send(self, frame: Frame) -> None:
        if self._connection is not None:
            self._connection.send(frame)

    def _send_bytes(self, data: bytes) -> None:
        if self._connection is None:
            raise NotConnected(f"the connection to {self.router} has ended")
        self._connection.send_bytes(data)

    @property
    def is_writable(self) -> bool:
        """Whether there is a connection, and the router reads."""
        return self._connection is not None and not self._connection.is_paused

    def send_frames(self, frames: Iterable[bytes]) -> None:
        """Send frames that are bytes already."""
        for data in frames:
            self._send_bytes(data)

    async def writable(self, timeout: float) -> None:
        """Wait until there is a connection, and the router reads."""
        end = self._loop.time() + timeout
        while self._connection is None or self._connection.is_paused:
            if self._fault is not None:
                raise self._fault
            if self._is_closed:
                raise NotConnected("the client is closed")
            self._changed.clear()
            try:
                async with asyncio.timeout_at(end):
                    await self._changed.wait()
            except TimeoutError:
                raise NotConnected(self._why_not(timeout)) from None

    def _why_not(self, timeout: float) -> str:
        if self._connection is not None:
            return f"the router {self.router} has not read for {timeout:g} s"
        where = ", ".join(map(str, self._addresses))
        return f"no router could be reached at {where} in {timeout:g} s: {self._problem}"

    # --- the connection

    def _disconnected(self, why: str) -> None:
        self._connection = None
        self.is_held = False
        for (tag, number), future in self._requests.items():
            if not future.done() and (self._is_closed or (tag, number) not in self._kept()):
                future.set_exception(NotConnected(f"{why}, and no answer had come"))
        self._changed.set()

    def _kept(self) -> set[tuple[int, int]]:
        offers = {(_tag(frames.Offer), id) for id in self._offers}
        return offers | {(_tag(frames.Subscribe), id) for id in self._subscriptions}

    async def _keep(self) -> None:
        """Keep a connection: when it ends, make another."""
        backoff = Backoff()
        for turn, where in enumerate(cycle(self._addresses)):
            if self._fault is not None:
                return
            began = self._loop.time()
            try:
                async with asyncio.timeout(_DEAD):
                    connection = await dialled(self._new_connection, where, self._context)
                self._heard = self._loop.time()
                self.reconnects += turn > 0
                try:
                    await asyncio.wait([connection.ended])
                finally:
                    if connection is not self._connection:  # no Hello has come, and nobody else ends it
                        connection.abort()
                if not connection.traffic.received:
                    self._problem = connection.ending
                if isinstance(connection.error, SSLError):
                    self._refusal = NotTrusted(explained(connection.error, str(where)))
            except NotTrusted as error:
                self._refusal = error
            except OSError as error:
                self._problem = error.strerror or str(error) or "no answer"
            self._judge(where)
            if self._loop.time() - began > _LASTING:
                backoff.reset()
            if (turn + 1) % len(self._addresses) == 0 or self._loop.time() - began > _LASTING:
                await asyncio.sleep(backoff.next())

    def _judge(self, where: Address) -> None:
        """Give up if no router lets this client in."""
        refusal, self._refusal = self._refusal, None
        if refusal is None:
            return
        self._problem = str(refusal)
        self._refusals[where] = refusal
        if len(self._refusals) == len(set(self._addresses)):
            self._fault = refusal
            for subscription in self._subscriptions.values():
                subscription.end(refusal)
            self._disconnected(self._problem)

    def _new_connection(self) -> Connection:
        return Connection(self, Waiting(_MOST_WAITING, _MOST_WAITING))

    async def _watch(self) -> None:
        """Ask a silent router whether it is there; give up one that does not answer."""
        sent = 0
        while True:
            await asyncio.sleep(_SILENT / 2)
            connection = self._connection
            if connection is None:
                continue
            silence = self._loop.time() - self._heard
            if silence > _SILENT or connection.traffic.sent == sent:  # the router may wait for a sign too
                connection.send(frames.Ping(0))
            sent = connection.traffic.sent
            if silence > _DEAD and not self.is_held:
                self.failed(connection, "the router is silent")


def _addresses(routers: str | Iterable[str]) -> Sequence[Address]:
    said = [routers] if isinstance(routers, str) else list(routers)
    if not said:
        raise InputError("no router is named", hint=f"give an address such as {DEFAULT}")
    return [address(each) for each in said]


def _shown(token: str, routers: Iterable[Address], tls: Tls | None) -> str:
    """Return a token that may be sent to routers, or refuse to send it where others can read it."""
    open_ones = [str(where) for where in routers if not where.is_loopback]
    if tls is None and open_ones:
        raise InputError(
            f"the token would go to {open_ones[0]} without TLS, where others can read it",
            hint="name the authority that the router is trusted by (tls=, --tls-authority)",
        )
    return checked_token(token)


def _tag(kind: type[Any]) -> int:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int)
    return tag
