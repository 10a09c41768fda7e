"""The asyncio client; `blocking_client` has its blocking counterpart.

A client is connected to one router. When the connection closes, it reconnects (`client_link`) to the same router or the
next in its list, and restores its subscriptions and offers. Messages in transit meanwhile are lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from itertools import count, repeat
from typing import Any, Self

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.network.client.async_pull import DEFAULT_HOLDERS, AsyncOffer, Handler, Reply, pull, pull_frame
from cbnet.network.client.async_subscription import (
    QUEUE,
    AsyncSubscription,
    Since,
    WhenFull,
    durable_options,
    history_start,
)
from cbnet.network.client.client_events import EventHandler
from cbnet.network.client.client_inbox import ClientInbox, Traced
from cbnet.network.client.client_link import TIMEOUT, Dial, client_hello
from cbnet.network.client.durable.durable_messages import MessageSelection, PeekedMessage, peek, take
from cbnet.network.client.durable.durable_publishing import DurablePublisher, Receipt, Required, new_publisher
from cbnet.network.client.message_encoding import (
    MessageLike,
    check_payload,
    encode_batch,
    encode_checked,
    encode_publish,
    message_content,
)
from cbnet.network.errors import NotConnected
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, parse_addresses
from cbnet.network.protocol.durable_frames import DurableLimits, Policy
from cbnet.network.protocol.fields import NumberedFrame
from cbnet.network.protocol.frames import Status
from cbnet.network.protocol.predicate_texts import filters_of
from cbnet.network.protocol.request_codec import RequestLike
from cbnet.network.security.tls import Tls, client_context, dial
from cbnet.network.security.tokens import token_for


async def connect_async(
    routers: str | Iterable[str] = DEFAULT_ADDRESS,
    *,
    name: str = "",
    network: str = "cbnet",
    timeout: float = TIMEOUT,
    tls: Tls | None = None,
    token: str | None = None,
) -> AsyncClient:
    """Connect to the first router of a list that answers, as `connect` does, and return the client."""
    client = AsyncClient(routers, name=name, network=network, tls=tls, token=token)
    try:
        await client.connected(timeout)
    except BaseException:
        await client.close()
        raise
    return client


def _checked_text(predicate: PredicateLike) -> str:
    """Return the text of a predicate; raise an `InputError` if it is not valid."""
    text = predicate if isinstance(predicate, str) else str(as_predicate(predicate))
    filters_of(text)
    return text


class ClientState:
    """The state of a client's connection, and the messages that it missed."""

    _inbox: ClientInbox

    @property
    def is_connected(self) -> bool:
        """Whether the client is connected to a router."""
        return self._inbox.link.connection is not None

    @property
    def router(self) -> str:
        """The name of the current or last router."""
        return self._inbox.link.router

    @property
    def lost(self) -> int:
        """Messages that a router dropped because this client read too slowly."""
        return self._inbox.lost

    @property
    def refused(self) -> int:
        """Messages published without `wait` that a router refused, for instance for lack of rights."""
        return self._inbox.refused

    @property
    def refusal(self) -> str:
        """The reason for the last refused message."""
        return self._inbox.refusal

    @property
    def on_event(self) -> EventHandler | None:
        """Handler called, in the thread of the client, when the connection ends or is restored, or messages are lost.

        It may be set.
        """
        return self._inbox.on_event

    @on_event.setter
    def on_event(self, handler: EventHandler | None) -> None:
        self._inbox.on_event = handler

    @property
    def missed(self) -> int:
        """Maximum number of messages missed during interruptions, as far as is known."""
        return self._inbox.interruption.missed

    @property
    def reconnects(self) -> int:
        """Number of connections after the first."""
        return self._inbox.link.reconnects


class AsyncClient(ClientState):
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
        publisher: DurablePublisher | None = None,
    ) -> None:
        """Start connecting to the first router that answers; `connect_async` also waits until one does.

        dialler: connects to a router without a socket, in the same process. publisher: numbers the durable messages,
        continuing after those of a closed client.
        """
        addresses = parse_addresses(routers)
        dialled = addresses if dialler is None else []
        sent_token = "" if token is None else token_for(dialled, token, is_encrypted=tls is not None)
        hello = client_hello(name, network, sent_token)
        self.name = hello.name
        self._numbers = count(1)
        connect = dialler or partial(dial, context=None if tls is None else client_context(tls))
        numbered = new_publisher() if publisher is None else publisher
        self._inbox = ClientInbox(hello, addresses, connect, numbered, follows=dialler is None)
        self._link = self._inbox.link

    # --- public API

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def is_held(self) -> bool:
        """Whether reading is paused because a queue is full."""
        return self._link.is_held

    @property
    def problem(self) -> str:
        """Why the last connection was closed, or could not be opened."""
        return self._link.problem

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
        ack_wait: float | None = None,
        limits: DurableLimits | None = None,
        since: Since | None = None,
        group: str = "",
    ) -> AsyncSubscription:
        """Subscribe to messages that match a predicate; iterate over the subscription to receive them.

        wait: return when the subscription is in effect at every reachable router; raises `NotConfirmed` after `timeout`
        seconds, and the subscription stays active. Its `confirmation` names the links that have not answered.
        queue: maximum number of queued messages. when_full: the policy when the queue is full.

        durable: the name of a durable subscription, for which this router stores messages even while no client is
        connected. An unacknowledged message is redelivered after `ack_wait` seconds (30); several clients share the
        messages. An empty predicate joins an existing durable subscription. limits: of the stored messages; a request
        with other limits than those of an existing subscription is refused, and `limit_durable` changes them.

        since: start in the past, with the messages in the router's history: at an age (a `timedelta`, or a text such as
        "1h"), at an offset, or at "first". New messages follow, without gaps or duplicates. After a reconnection to the
        same router, the subscription resumes after the last message received.

        group: the name of a queue group. Each message goes to one of its members, the subscriptions of this account
        with the same group and predicate, at whichever routers they are.
        """
        options = durable_options(durable, ack_wait, limits)
        text = "" if predicate == "" and options is not None else _checked_text(predicate)
        start = None if since is None else history_start(since)
        subscription = AsyncSubscription(
            self._inbox, next(self._numbers), text, queue, when_full, durable=options, since=start, group=group
        )
        await self._inbox.register(subscription, timeout, wait=wait)
        return subscription

    async def subscribe_initial(
        self, *, timeout: float = TIMEOUT, queue: int = QUEUE, when_full: WhenFull = "block"
    ) -> AsyncSubscription:
        """Subscribe to the initial predicate of the router's node, in a network made from data.

        The predicate remains when this subscription ends.
        """
        subscription = AsyncSubscription(self._inbox, next(self._numbers), "", queue, when_full, is_initial=True)
        await self._inbox.register(subscription, timeout, wait=False)
        return subscription

    async def unsubscribe(self, subscription: AsyncSubscription) -> None:
        """End a subscription."""
        await self._inbox.unsubscribe(subscription)

    async def publish(
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
        Blocks while the client is disconnected, up to `timeout` seconds, and while the router does not read.
        """
        if durable:
            (receipt,) = await self._inbox.durable.publish([message], [payload], timeout, require)
            return receipt
        if require:
            raise InputError("require needs durable=True", hint="add it, or leave `require` out")
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
        require: Required = (),
    ) -> list[Receipt]:
        """Publish messages durably (see `publish`), in order, and return their receipts; fastest for many messages.

        Raises `NotStored`, with all receipts, if some messages are not stored within `timeout` seconds each.
        """
        data = repeat(b"") if payloads is None else payloads
        return await self._inbox.durable.publish(messages, data, timeout, require)

    async def publish_many(
        self,
        messages: Iterable[MessageLike],
        payloads: Iterable[bytes] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """Publish messages in order, each with its payload if there are payloads; fastest for many messages.

        All are checked first: if one is invalid, the `InputError` names its index, and nothing is sent. Blocks as
        `publish` does. The `NotConnected` after `timeout` seconds without progress has the number of messages `sent`.
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
        predicate = "" if of is None else _checked_text(of)
        at = (at or self.router) if predicate else ""
        number = next(self._numbers)
        frame = frames.Trace(number, *message_content(message), check_payload(payload), is_dry, predicate, at)
        return await self._inbox.trace(number, encode_checked(frame, message), timeout)

    async def offer(
        self, predicate: PredicateLike, handler: Handler, *, wait: bool = False, timeout: float = TIMEOUT
    ) -> AsyncOffer:
        """Answer requests that match a predicate; `handler` returns the item, or None if this client lacks it.

        wait: as in `subscribe`.
        """
        text = _checked_text(predicate)
        offer = AsyncOffer(self._inbox, next(self._numbers), text, handler)
        await self._inbox.register(offer, timeout, wait=wait)
        return offer

    async def withdraw(self, offer: AsyncOffer) -> None:
        """End an offer."""
        await self._inbox.withdraw(offer)

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
        """Return the status of the router, or of router `at`, which needs the right `watch`."""
        answer: Status = await self.query(frames.StatusRequest, at, timeout=timeout)
        return answer

    async def subscriptions(self, timeout: float = TIMEOUT, *, at: str = "") -> frames.SubscriptionList:
        """Return the first subscriptions of all clients of the router, or of router `at`; needs the right `watch`."""
        answer: frames.SubscriptionList = await self.query(frames.SubscriptionRequest, at, timeout=timeout)
        return answer

    async def durable_subscriptions(self, timeout: float = TIMEOUT) -> frames.DurableReport:
        """Return the durable subscriptions of the router, and the homes that it knows.

        Without the right `watch` or `manage`, these are the subscriptions of the own account only.
        """
        report: frames.DurableReport = await self.query(frames.DurableQuery, ("", ""), timeout=timeout)
        while report.rest:
            last = report.subscriptions[-1]
            more: frames.DurableReport = await self.query(
                frames.DurableQuery, (last.account, last.name), timeout=timeout
            )
            former = sorted({*report.former_accounts, *more.former_accounts})
            accounts = {each.account: each for each in (*report.accounts, *more.accounts)}
            report = replace(
                more,
                subscriptions=report.subscriptions + more.subscriptions,
                former_accounts=former,
                accounts=[accounts[name] for name in sorted(accounts)],
            )
        return report

    async def remove_durable(self, name: str, *, account: str | None = None, timeout: float = TIMEOUT) -> int:
        """Remove a durable subscription of this router; return the number of unacknowledged messages removed with it.

        account: the owner, if it is another account, which may no longer exist; needs the right `manage`.
        """
        removed: frames.DurableRemoved = await self.query(frames.DurableRemove, name, account, timeout=timeout)
        return removed.messages

    async def limit_durable(
        self,
        name: str,
        *,
        messages: int | None = None,
        bytes: int | None = None,
        age: float | None = None,
        policy: Policy | None = None,
        max_deliveries: int | None = None,
        dead_letter: str | None = None,
        account: str | None = None,
        timeout: float = TIMEOUT,
    ) -> DurableLimits:
        """Change limits of a durable subscription of this router, for the next messages; return all its limits.

        None: no change. 0: no limit. Messages above a new limit stay, unless the policy drops them for a new message.
        dead_letter: "" for none. account: the owner, as in `remove_durable`.
        """
        # raises an error if one is invalid
        DurableLimits(messages or 0, bytes or 0, age or 0.0, policy or "refuse", max_deliveries or 0)
        limits = (messages, bytes, age, policy, account, max_deliveries, dead_letter)
        answer: frames.DurableLimited = await self.query(frames.DurableLimit, name, *limits, timeout=timeout)
        return answer.limits

    async def peek_durable(
        self,
        name: str,
        predicate: PredicateLike = "",
        *,
        first: int = 1,
        count: int | None = None,
        account: str | None = None,
        timeout: float = TIMEOUT,
    ) -> list[PeekedMessage]:
        """Return messages that a durable subscription of this router keeps, without acknowledging them.

        predicate: only those that match; "" for all. first: from this offset on. count: at most so many. account: the
        owner, as in `remove_durable`. timeout: of each request; there are several for many messages.
        """
        chosen = MessageSelection(name, account, predicate, first, count)
        return await peek(partial(self.query, timeout=timeout), chosen)

    async def move_durable(
        self,
        name: str,
        to: str,
        predicate: PredicateLike = "",
        *,
        first: int = 1,
        count: int | None = None,
        account: str | None = None,
        timeout: float = TIMEOUT,
    ) -> int:
        """Move messages of a durable subscription to another one of the same router and account; return their number.

        They lose the attribute `dead_letter`. The other arguments are those of `peek_durable`. If the other one has no
        room, raises `Refused`; what was moved before stays there.
        """
        chosen = MessageSelection(name, account, predicate, first, count)
        return await take(partial(self.query, timeout=timeout), frames.DurableMove, chosen, to)

    async def purge_durable(
        self,
        name: str,
        predicate: PredicateLike = "",
        *,
        first: int = 1,
        count: int | None = None,
        account: str | None = None,
        timeout: float = TIMEOUT,
    ) -> int:
        """Remove messages of a durable subscription of this router; return their number.

        The arguments are those of `peek_durable`.
        """
        chosen = MessageSelection(name, account, predicate, first, count)
        return await take(partial(self.query, timeout=timeout), frames.DurablePurge, chosen)

    async def forget_home(self, home: str, timeout: float = TIMEOUT) -> None:
        """Remove the durable subscriptions of a router that will not return: publishers stop waiting for it.

        Needs the right `manage`.
        """
        await self.query(frames.ForgetHome, home, timeout=timeout)

    async def back_up_journal(self, name: str, *, timeout: float = 600.0) -> str:
        """Make a backup of the router's journal, and return its file, in the folder `backups` of the journal there.

        name: of the file, without `.sqlite`. Needs the right `manage`.
        """
        answer: frames.JournalBackedUp = await self.query(frames.JournalBackup, name, timeout=timeout)
        return answer.file

    async def reload(self, router: str, *, timeout: float = TIMEOUT) -> list[str]:
        """Make the router reload its configuration; return the changes, or raise `Refused` with the error.

        router: its name, as a confirmation. Needs the right `manage`.
        """
        answer: frames.Reloaded = await self.query(frames.Reload, router, timeout=timeout)
        return answer.changes

    async def query(self, kind: type[NumberedFrame], *members: Any, timeout: float) -> Any:
        """Send a query or command about the router itself, and return the answer; members: those after the number."""
        frame = kind(next(self._numbers), *members)
        return await self._link.ask(frame, frame.number, timeout)

    async def close(self) -> None:
        """Close the connection and end all subscriptions and offers."""
        await self._inbox.close()
