"""Subscriptions of an asyncio client: a bounded queue of deliveries.

Policy when the queue is full:

    block          stop reading from the router until there is room; messages then queue at the router, which drops the
                   oldest beyond its limit and reports their number (`lost` of the client)
    drop oldest    drop the oldest message in the queue, and count it (`dropped`)
    disconnect     close the client; the subscription raises `TooSlow` after its last message
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from msgspec.msgpack import Decoder

from cbnet._kernels.delivery import Delivery as Delivery  # public
from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.network.client.subscription_options import DurableOptions
from cbnet.network.protocol.fields import MAX_ENTRIES
from cbnet.network.protocol.frames import DurableDeliver, HistoryStart, Replaying

if TYPE_CHECKING:
    from cbnet.network.client.client_inbox import ClientInbox

WhenFull: TypeAlias = Literal["block", "drop oldest", "disconnect"]
_POLICIES = ("block", "drop oldest", "disconnect")
QUEUE = 1_000
_decode = Decoder(tuple[dict[str, Any], list[str], bytes]).decode


class DurableDelivery(Delivery):
    """A message with an offset; until it is acknowledged, it may be redelivered."""

    def __init__(self, frame: DurableDeliver, acknowledge: Callable[[int], None]) -> None:
        message, tags, payload = _decode(frame.content)
        if tags:
            message[RESERVED_NAME] = tags
        super().__init__(message, payload, frame.source, (frame.source, frame.incarnation, frame.number))
        self.offset = frame.offset
        self.deliveries = frame.deliveries  # how often it was sent since the router started
        self._acknowledge = acknowledge

    def acknowledge(self) -> None:
        """Acknowledge the message, so that it is not redelivered; may be called in any thread."""
        self._acknowledge(self.offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return Delivery, (self.message, self.payload, self.source, self.id)


class Confirmation(NamedTuple):
    """Whether a subscription or an offer has reached every router that needs it."""

    is_confirmed: bool  # for all reachable routers; also False without `wait`
    routers: int  # reachable routers
    missing: list[str]  # links that have not acknowledged it, such as r1→r2, and known routers that are unreachable


class HistorySpan(NamedTuple):
    """The position in its router's history at which a subscription began."""

    first: int  # offset
    next: int  # offset of the first message that was not in the history then


class AsyncSubscription:
    """A subscription of an `AsyncClient`; iterate over it to receive messages."""

    def __init__(
        self,
        inbox: ClientInbox,
        id: int,
        predicate: str,
        queue: int,
        when_full: WhenFull,
        *,
        is_initial: bool = False,  # to the initial predicate of the router's node
        durable: DurableOptions | None = None,
        since: HistoryStart | None = None,  # start in the past
    ) -> None:
        if queue < 1:
            raise InputError(f"invalid queue size {queue}", hint="use at least 1")
        if when_full not in _POLICIES:
            raise InputError(f"unknown policy {when_full!r}", hint="use one of " + ", ".join(_POLICIES))
        if when_full != "block" and (durable is not None or since is not None):
            hint = "leave `when_full` out: the router keeps what was not received"
            what = "durable subscription" if durable is not None else "subscription that begins in the past"
            raise InputError(f"a {what} cannot have the policy {when_full!r}", hint=hint)
        self.predicate = predicate
        self.is_initial = is_initial
        self.durable = durable
        self.since = since  # advances with the messages received, unless it is durable
        self.history: HistorySpan | None = None
        self.lost = 0  # messages that the router dropped because of the limits of a durable subscription or its history
        self.confirmation = Confirmation(False, 0, [])
        self.is_registered = False  # whether a router has accepted it
        self.dropped = 0  # messages dropped because the queue was full
        self.id = id
        self.when_full = when_full
        self._inbox = inbox
        self._max_size = queue
        self._queue: deque[Delivery] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._has_ended = False
        self._offsets: deque[int] = deque()  # acknowledged; not yet sent
        self._up_to: deque[int] = deque()  # the same, each with all earlier messages
        self._is_sending = False

    # --- receiving

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        if not self._queue:
            await self._filled()
        if not self._queue:
            raise StopAsyncIteration
        delivery = self._queue.popleft()
        if self.is_replay:
            self._received([delivery])
        if self._inbox.is_held:
            self._inbox.release()
        return delivery

    async def batches(self) -> AsyncIterator[list[Delivery]]:
        """Yield lists of all queued messages, each with at least one; fastest for many messages."""
        while batch := await self.take():
            yield batch

    async def take(self, timeout: float | None = None) -> list[Delivery]:
        """Wait for messages and return all queued ones; none after the timeout or the end of the subscription."""
        if not self._queue:
            try:
                async with asyncio.timeout(timeout):
                    await self._filled()
            except TimeoutError:
                return []
        taken = list(self._queue)
        self._queue.clear()
        if self.is_replay:
            self._received(taken)
        if self._inbox.is_held:
            self._inbox.release()
        return taken

    def acknowledge(self, offset: int) -> None:
        """Acknowledge a message of a durable subscription; may be called in any thread."""
        self._offsets.append(offset)
        self._send_soon()

    def acknowledge_up_to(self, offset: int) -> None:
        """Acknowledge all messages up to an offset that this client has received; may be called in any thread."""
        self._up_to.append(offset)
        self._send_soon()

    def _send_soon(self) -> None:
        if not self._is_sending:
            self._is_sending = True
            self._inbox.soon(self.send_acknowledgements)

    async def unsubscribe(self) -> None:
        """End the subscription; queued messages can still be received. A durable one keeps storing messages."""
        await self._inbox.unsubscribe(self)

    @property
    def has_ended(self) -> bool:
        """Whether no more messages will arrive."""
        return self._has_ended and not self._queue

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_replay(self) -> bool:
        """Whether the subscription starts in the past and is not durable: receiving a message then acknowledges it."""
        return self.since is not None and self.durable is None

    # --- called by the client

    def begins(self, frame: Replaying) -> None:
        """Handle the confirmation that the subscription starts in the past."""
        self.history = self.history or HistorySpan(frame.first, frame.next)
        if self.is_replay:
            self.since = HistoryStart(frame.first, journal=frame.journal)

    @property
    def window(self) -> int:
        """Maximum number of unacknowledged messages that the router may send for a durable subscription."""
        return min(self._max_size, MAX_ENTRIES)

    def send_acknowledgements(self) -> None:
        """Send the acknowledgements since the last call, together."""
        self._is_sending = False
        up_to = max([self._up_to.popleft() for _ in range(len(self._up_to))], default=0)
        while self._offsets or up_to:
            some = [self._offsets.popleft() for _ in range(min(len(self._offsets), MAX_ENTRIES))]
            self._inbox.acknowledge(self.id, some, up_to)
            up_to = 0

    def clear(self) -> None:
        """Discard the queued messages: a new router sends them again."""
        self._queue.clear()

    @property
    def is_full(self) -> bool:
        """Whether the client must stop reading for now."""
        return len(self._queue) >= self._max_size and self.when_full == "block" and not self.is_replay

    @property
    def is_too_slow(self) -> bool:
        """Whether the client must be closed."""
        return len(self._queue) > self._max_size and self.when_full == "disconnect"

    def put(self, deliveries: Sequence[Delivery]) -> None:
        """Queue messages; check `is_full` and `is_too_slow` afterwards."""
        queue = self._queue
        queue.extend(deliveries)
        if self._waiter is not None:
            self._wake()
        if len(queue) > self._max_size and self.when_full != "block":
            self._cut()

    def end(self, error: Exception | None = None) -> None:
        """End the subscription; the error, if any, is raised after the last queued message."""
        if not self._has_ended:
            self._has_ended, self._error = True, error
            self._wake()

    # --- internals

    def _received(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge messages of a replay; on a new connection, the replay resumes after them."""
        assert self.since is not None
        for offset in (each.offset for each in deliveries if isinstance(each, DurableDelivery)):
            self.acknowledge(offset)
            self.since = HistoryStart(offset + 1, journal=self.since.journal)

    def _cut(self) -> None:
        """Drop the oldest messages beyond the size of the queue, or, if the client will be closed, the newest."""
        if self.when_full == "drop oldest":
            while len(self._queue) > self._max_size:
                self._queue.popleft()
                self.dropped += 1
        else:
            while len(self._queue) > self._max_size + 1:  # one above shows that it was too slow
                self._queue.pop()

    async def _filled(self) -> None:
        """Wait until a message is queued or the subscription has ended."""
        while not self._queue and not self._has_ended:
            self._waiter = self._waiter or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiter)
        if not self._queue and self._error is not None:
            raise self._error

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
