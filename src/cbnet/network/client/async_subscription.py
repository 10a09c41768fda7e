"""Subscriptions of an asyncio client: their options, and a bounded queue of deliveries.

Policy when the queue is full:

    block          stop reading from the router until there is room; messages then queue at the router, which drops the
                   oldest beyond its limit and reports their number (`lost` of the client)
    drop oldest    drop the oldest message in the queue, and count it (`dropped`)
    disconnect     close the client; the subscription raises `TooSlow` after its last message
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from msgspec.msgpack import Decoder

from cbnet._kernels.delivery import Delivery as Delivery  # public
from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.network.protocol.durable_frames import MAX_ACK_WAIT, MAX_HISTORY_AGE, DurableLimits, HistoryStart
from cbnet.network.protocol.fields import MAX_ENTRIES, MAX_INT, check_name
from cbnet.network.protocol.frames import Acknowledge, DurableDeliver, Replaying

if TYPE_CHECKING:
    from cbnet.network.client.client_inbox import ClientInbox

WhenFull: TypeAlias = Literal["block", "drop oldest", "disconnect"]
_POLICIES = ("block", "drop oldest", "disconnect")
QUEUE = 1_000
ACK_WAIT: Final = 30.0  # seconds
Since: TypeAlias = int | timedelta | str
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_DIGITS: Final = len(str(MAX_INT)) + 1  # any number of more digits is too large; Python reads at most 4,300
_HINT: Final = "use an offset, a time such as 90s, 15m, 1h or 2d, or first"
_decode = Decoder(tuple[dict[str, Any], list[str], bytes]).decode


def decoded_content(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return message and payload of a stored message."""
    message, tags, payload = _decode(content)
    if tags:
        message[RESERVED_NAME] = tags
    return message, payload


class DurableDelivery(Delivery):
    """A message with an offset; until it is acknowledged, it may be redelivered."""

    def __init__(self, frame: DurableDeliver, acknowledge: Callable[[int], None]) -> None:
        message, payload = decoded_content(frame.content)
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


class DurableOptions(NamedTuple):
    """Name and limits of a durable subscription, and the seconds before an unacknowledged message is redelivered."""

    name: str
    ack_wait: float
    limits: DurableLimits | None


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
        group: str = "",  # queue group
    ) -> None:
        if queue < 1:
            raise InputError(f"invalid queue size {queue}", hint="use at least 1")
        if when_full not in _POLICIES:
            raise InputError(f"unknown policy {when_full!r}", hint="use one of " + ", ".join(_POLICIES))
        if when_full != "block" and (durable is not None or since is not None):
            hint = "leave `when_full` out: the router keeps what was not received"
            what = "durable subscription" if durable is not None else "subscription that begins in the past"
            raise InputError(f"a {what} cannot have the policy {when_full!r}", hint=hint)
        _check_group(group, durable, since)
        self.predicate = predicate
        self.group = group
        self.is_initial = is_initial
        self.durable = durable
        self.since = since  # advances with the messages received, unless it is durable
        self.history: HistorySpan | None = None
        self.lost = 0  # messages that the router dropped because of the limits of a durable subscription or its history
        self.confirmation = Confirmation(False, 0, [])
        self.is_registered = False  # whether a router has accepted it
        self.waiting = ""  # why a durable one gets nothing now: its home is elsewhere; empty: it does
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
        if self._inbox.link.is_held:
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
        if self._inbox.link.is_held:
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
            self._inbox.loop.call_soon_threadsafe(self.send_acknowledgements)

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
            self._inbox.link.send(Acknowledge(self.id, some, up_to))
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


# --- options


def _check_group(group: str, durable: DurableOptions | None, since: HistoryStart | None) -> None:
    """Raise an `InputError` unless a subscription may be in a queue group."""
    if not group:
        return
    check_name("queue group", group)
    if durable is not None:
        hint = "leave `group` out: the clients of a durable subscription share its messages"
        raise InputError("a durable subscription has no queue group", hint=hint)
    if since is not None:
        raise InputError("a subscription that begins in the past has no queue group", hint="make it durable instead")


def durable_options(name: str, ack_wait: float | None, limits: DurableLimits | None) -> DurableOptions | None:
    """Return the options of a durable subscription; None without a name, which allows no other options."""
    if not name:
        for option, value in (("ack_wait", ack_wait), ("limits", limits)):
            if value is not None:
                raise InputError(f"`{option}` needs a durable subscription", hint='add durable="NAME", or leave it out')
        return None
    check_name("durable subscription", name)
    if limits is not None:
        limits.check_dead_letter()
    if ack_wait is not None and not 0 < ack_wait <= MAX_ACK_WAIT:
        raise InputError(f"invalid ack_wait {ack_wait:g}", hint=f"use more than 0 and at most {MAX_ACK_WAIT:,} seconds")
    return DurableOptions(name, ACK_WAIT if ack_wait is None else ack_wait, limits)


def history_start(since: Since) -> HistoryStart:
    """Return the starting point of a subscription: an offset, an age, or, for `first`, the oldest message."""
    if isinstance(since, timedelta):
        return _ago(since.total_seconds(), since)
    if isinstance(since, str):
        return _from_text(since.strip())
    if type(since) is not int:
        raise InputError(f"invalid start {since!r}", hint="use an offset, a timedelta, or a text such as 1h or first")
    if not 1 <= since <= MAX_INT:
        raise InputError(f"invalid offset {since}", hint=f"use a number from 1 to {MAX_INT:,}")
    return HistoryStart(offset=since)


def _from_text(text: str) -> HistoryStart:
    if text == "first":
        return HistoryStart()
    if text.isascii() and text.isdigit():
        return history_start(int(text[:_DIGITS]))
    duration = _DURATION.fullmatch(text)
    if duration is None:
        raise InputError(f"invalid start {text!r}", hint=_HINT)
    return _ago(float(duration[1]) * _SECONDS[duration[2]], text)


def _ago(seconds: float, source: object) -> HistoryStart:
    if not 0 <= seconds <= MAX_HISTORY_AGE:
        raise InputError(f"invalid start {str(source)!r}", hint="use a time in the past")
    return HistoryStart(age=seconds)
