"""Publishers and subscribers of a load test.

Every payload begins with a number and the time at which it was sent, by the monotonic clock of this machine:

    ┌───────────────┬───────────────┬─────────┐
    │ number, 8     │ ns, 8 bytes   │ zeros   │
    └───────────────┴───────────────┴─────────┘
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.client.async_subscription import AsyncSubscription

STAMP = Struct(">QQ")
_TIMEOUT = 600.0  # seconds for a subscription to be confirmed
_QUEUE = 100_000  # messages
_BATCH = 200  # messages published together, at most
_POLL = 0.01  # seconds between polls for the next command
_MIN_WAIT = 0.002  # seconds at a fixed rate: a wait per message would use a whole processor
_WINDOW_WAIT = 0.001  # seconds to wait while the window is full
_LOST_AFTER = 10.0  # seconds without a delivery, after which messages in transit count as lost

NextCommand = Callable[[], Any]  # the next command; None if there is none yet


@dataclass(frozen=True)
class Order:
    """A command to publish `count` messages, numbered from `first` on."""

    first: int
    count: int
    rate: float | None = None  # messages per second; None: as fast as possible
    window: int = 0  # deliveries that may be in transit, if there is no rate


class DeliveryCount:
    """The number of deliveries, in memory shared by subscribers and publishers."""

    def __init__(self, shared: MutableSequence[int]) -> None:
        """Initialise with one counter per subscriber process."""
        self._shared = shared

    def add(self, process: int, count: int) -> None:
        """Add deliveries of one process."""
        self._shared[process] += count

    def total(self) -> int:
        """Return the deliveries of all processes."""
        return sum(self._shared)


@dataclass
class Deliveries:
    """Deliveries: subscriber, stamp and time."""

    subscribers: array[int] = field(default_factory=lambda: array("I"))
    stamps: bytearray = field(default_factory=bytearray)  # of their payloads
    at: array[int] = field(default_factory=lambda: array("q"))  # time of arrival, ns
    lost: int = 0  # deliveries that a router dropped because a client read too slowly
    reconnects: int = 0  # of clients: messages in transit were lost

    def note(self, subscriber: int, payloads: Sequence[bytes], now: int) -> None:
        """Record deliveries to one subscriber that arrived together."""
        self.subscribers.extend([subscriber] * len(payloads))
        self.stamps += b"".join([payload[: STAMP.size] for payload in payloads])
        self.at.extend([now] * len(payloads))


@dataclass(frozen=True)
class PublishTiming:
    """Start and end of an order, in ns, and the greatest lag of the publisher."""

    began: int
    ended: int
    late: float  # seconds behind the rate
    reconnects: int = 0  # of clients during the order: messages in transit were lost


class Pace:
    """The pace of a publisher: a fixed rate, or a window of deliveries in transit."""

    def __init__(self, order: Order, deliveries_of: Sequence[int], tally: DeliveryCount) -> None:
        """Initialise; deliveries_of: number of deliveries of each message, repeated cyclically."""
        self._order = order
        self._deliveries_of = deliveries_of
        self._tally = tally
        self._before = tally.total()
        self._caused = 0
        self._seen = 0
        self._seen_at = self._began = time.perf_counter()
        self.late = 0.0

    def wait(self, number: int) -> float:
        """Return the seconds to wait before sending a message; 0 to send it now."""
        if self._order.rate is not None:
            ahead = self._began + (number - self._order.first) / self._order.rate - time.perf_counter()
            self.late = max(self.late, -ahead)
            return max(_MIN_WAIT, ahead) if ahead > 0 else 0.0
        arrived = self._tally.total() - self._before
        if arrived != self._seen:
            self._seen, self._seen_at = arrived, time.perf_counter()
        is_full = self._caused - arrived >= self._order.window
        if is_full and time.perf_counter() - self._seen_at < _LOST_AFTER:
            return _WINDOW_WAIT
        self._caused += self._deliveries_of[number % len(self._deliveries_of)]
        return 0.0


async def publish(
    routers: Sequence[str],
    contents: Sequence[dict[str, Any]],
    deliveries_of: Sequence[int],
    payload: int,
    tally: DeliveryCount,
    next_command: NextCommand,
    answer: Callable[[Any], None],
) -> None:
    """Carry out orders until the command "end", publishing at each router in turn."""
    clients = [await connect_async(router, name=f"publisher-{n}", timeout=_TIMEOUT) for n, router in enumerate(routers)]
    answer("ready")
    try:
        while isinstance(order := await _next(next_command), Order):
            answer(await _carry_out(order, clients, contents, payload, Pace(order, deliveries_of, tally)))
    finally:
        for client in clients:
            await client.close()


async def _carry_out(
    order: Order, clients: Sequence[AsyncClient], contents: Sequence[dict[str, Any]], payload: int, pace: Pace
) -> PublishTiming:
    """Publish messages in batches as the pace allows, each message at the router that its number selects."""
    padding = bytes(max(0, payload - STAMP.size))
    before = _reconnects(clients)
    began = time.monotonic_ns()
    number, end = order.first, order.first + order.count
    while number < end:
        first, limit, seconds = number, min(end, number + _BATCH), 0.0
        while number < limit and (seconds := pace.wait(number)) <= 0:
            number += 1
        for turn in range(min(len(clients), number - first)):
            own = range(first + turn, number, len(clients))
            now = time.monotonic_ns()
            await clients[own[0] % len(clients)].publish_many(
                [contents[each % len(contents)] for each in own],
                [STAMP.pack(each, now) + padding for each in own],
                timeout=_TIMEOUT,
            )
        if seconds > 0:
            await asyncio.sleep(seconds)
    return PublishTiming(began, time.monotonic_ns(), pace.late, _reconnects(clients) - before)


async def receive(
    subscribers: Sequence[tuple[int, str, Sequence[str]]],
    process: int,
    tally: DeliveryCount,
    next_command: NextCommand,
    answer: Callable[[Any], None],
) -> None:
    """Run subscribers (number, router, predicates); answer each command with the deliveries since the last one."""
    deliveries = Deliveries()
    lost = reconnects = 0
    clients: list[AsyncClient] = []
    tasks: list[asyncio.Task[None]] = []

    async def take(subscriber: int, subscription: AsyncSubscription) -> None:
        while True:
            taken = await subscription.take()
            now = time.monotonic_ns()
            deliveries.note(subscriber, [delivery.payload for delivery in taken], now)
            tally.add(process, len(taken))

    async def begin(number: int, router: str, predicates: Sequence[str]) -> None:
        client = await connect_async(router, name=f"subscriber-{number}", timeout=_TIMEOUT)
        clients.append(client)
        for index, predicate in enumerate(predicates, 1):  # confirmation of the last one confirms all
            subscription = await client.subscribe(
                predicate, wait=index == len(predicates), timeout=_TIMEOUT, queue=_QUEUE
            )
            tasks.append(asyncio.create_task(take(number, subscription)))

    try:
        await asyncio.gather(*(begin(*subscriber) for subscriber in subscribers))
        answer("ready")
        while await _next(next_command) is not None:
            deliveries.lost = sum(client.lost for client in clients) - lost
            deliveries.reconnects = _reconnects(clients) - reconnects
            answer(deliveries)
            lost, reconnects, deliveries = lost + deliveries.lost, reconnects + deliveries.reconnects, Deliveries()
    finally:
        for task in tasks:
            task.cancel()
        for client in clients:
            await client.close()


def _reconnects(clients: Sequence[AsyncClient]) -> int:
    return sum(client.reconnects for client in clients)


async def _next(next_command: NextCommand) -> Any:
    """Wait for the next command; None for "end". The clients run meanwhile."""
    while (command := next_command()) is None:
        await asyncio.sleep(_POLL)
    return command if command != "end" else None
