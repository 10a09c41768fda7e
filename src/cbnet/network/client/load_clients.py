"""Load: how is a network put under load? Clients that publish as fast as they may, and clients that note what comes.

Every payload begins with a number and the time at which it was sent, by the one clock of this machine:

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
_TIMEOUT = 600.0  # seconds for a subscription to be known to all routers
_QUEUE = 100_000  # messages that wait for their receiver
_SILENCE = 0.01  # seconds between two looks at what is asked next
_STEP = 0.002  # seconds, the shortest wait at a rate: to wait for each message would take a processor of its own
_FULL = 0.001  # seconds to wait while as much is under way as may be
_PATIENCE = 10.0  # seconds without a delivery, after which what is under way counts as lost

Asked = Callable[[], Any]  # what is asked next; None if nothing is


@dataclass(frozen=True)
class Order:
    """Publish these messages: those with the numbers from `first` on."""

    first: int
    count: int
    rate: float | None = None  # messages in a second; None: as fast as they go
    window: int = 0  # deliveries that may be under way, if there is no rate


class DeliveryCount:
    """How many deliveries have come, told by those who receive to those who send, in memory that they share."""

    def __init__(self, shared: MutableSequence[int]) -> None:
        """Take a number for each process that receives."""
        self._shared = shared

    def add(self, process: int, count: int) -> None:
        """Tell that more have come to one process."""
        self._shared[process] += count

    def total(self) -> int:
        """Return how many have come to all."""
        return sum(self._shared)


@dataclass
class Deliveries:
    """What has come: to whom, which message, and how long it took."""

    subscribers: array[int] = field(default_factory=lambda: array("I"))
    numbers: array[int] = field(default_factory=lambda: array("I"))
    nanoseconds: array[int] = field(default_factory=lambda: array("q"))
    at: array[int] = field(default_factory=lambda: array("q"))  # when, in ns
    lost: int = 0  # deliveries that a router dropped because they were read too slowly
    reconnects: int = 0  # of clients: what was on its way is lost

    def note(self, subscriber: int, payload: bytes, now: int) -> None:
        """Take one delivery."""
        number, sent = STAMP.unpack_from(payload)
        self.subscribers.append(subscriber)
        self.numbers.append(number)
        self.nanoseconds.append(now - sent)
        self.at.append(now)


@dataclass(frozen=True)
class PublishTiming:
    """When an order was carried out, in ns, and how late the latest message was."""

    began: int
    ended: int
    late: float  # seconds behind the rate
    reconnects: int = 0  # of clients since the order came: what was on its way is lost


class Pace:
    """When may the next message be sent?"""

    def __init__(self, order: Order, deliveries_of: Sequence[int], tally: DeliveryCount) -> None:
        """Take how many deliveries each message causes, in turn."""
        self._order = order
        self._deliveries_of = deliveries_of
        self._tally = tally
        self._before = tally.total()
        self._caused = 0
        self._seen = 0
        self._seen_at = self._began = time.perf_counter()
        self.late = 0.0

    def wait(self, number: int) -> float:
        """Return the seconds to wait before a message; 0 if it may be sent now."""
        if self._order.rate is not None:
            ahead = self._began + (number - self._order.first) / self._order.rate - time.perf_counter()
            self.late = max(self.late, -ahead)
            return max(_STEP, ahead) if ahead > 0 else 0.0
        came = self._tally.total() - self._before
        if came != self._seen:
            self._seen, self._seen_at = came, time.perf_counter()
        is_full = self._caused - came >= self._order.window
        if is_full and time.perf_counter() - self._seen_at < _PATIENCE:
            return _FULL
        self._caused += self._deliveries_of[number % len(self._deliveries_of)]
        return 0.0


async def publish(
    routers: Sequence[str],
    contents: Sequence[dict[str, Any]],
    deliveries_of: Sequence[int],
    payload: int,
    tally: DeliveryCount,
    asked: Asked,
    answer: Callable[[Any], None],
) -> None:
    """Publish what is ordered, in turn at each router; until None is ordered as the last."""
    clients = [await connect_async(router, name=f"publisher-{n}", timeout=_TIMEOUT) for n, router in enumerate(routers)]
    answer("ready")
    try:
        while isinstance(order := await _next(asked), Order):
            answer(await _carry_out(order, clients, contents, payload, Pace(order, deliveries_of, tally)))
    finally:
        for client in clients:
            await client.close()


async def _carry_out(
    order: Order, clients: Sequence[AsyncClient], contents: Sequence[dict[str, Any]], payload: int, pace: Pace
) -> PublishTiming:
    padding = bytes(max(0, payload - STAMP.size))
    before = _reconnects(clients)
    began = time.monotonic_ns()
    for number in range(order.first, order.first + order.count):
        while (seconds := pace.wait(number)) > 0:
            await asyncio.sleep(seconds)
        stamp = STAMP.pack(number, time.monotonic_ns())
        await clients[number % len(clients)].publish(
            contents[number % len(contents)], stamp + padding, timeout=_TIMEOUT
        )
    return PublishTiming(began, time.monotonic_ns(), pace.late, _reconnects(clients) - before)


async def receive(
    subscribers: Sequence[tuple[int, str, Sequence[str]]],
    process: int,
    tally: DeliveryCount,
    asked: Asked,
    answer: Callable[[Any], None],
) -> None:
    """Let subscribers receive, each known by a number, at a router, with some predicates; tell what came when asked."""
    came = Deliveries()
    lost = reconnects = 0
    clients: list[AsyncClient] = []
    tasks: list[asyncio.Task[None]] = []

    async def take(subscriber: int, subscription: AsyncSubscription) -> None:
        while True:
            taken = await subscription.take()
            now = time.monotonic_ns()
            for delivery in taken:
                came.note(subscriber, delivery.payload, now)
            tally.add(process, len(taken))

    async def begin(number: int, router: str, predicates: Sequence[str]) -> None:
        client = await connect_async(router, name=f"subscriber-{number}", timeout=_TIMEOUT)
        clients.append(client)
        for place, predicate in enumerate(predicates, 1):  # who has the last has all
            subscription = await client.subscribe(
                predicate, wait=place == len(predicates), timeout=_TIMEOUT, queue=_QUEUE
            )
            tasks.append(asyncio.create_task(take(number, subscription)))

    try:
        await asyncio.gather(*(begin(*subscriber) for subscriber in subscribers))
        answer("ready")
        while await _next(asked) is not None:
            came.lost = sum(client.lost for client in clients) - lost
            came.reconnects = _reconnects(clients) - reconnects
            answer(came)
            lost, reconnects, came = lost + came.lost, reconnects + came.reconnects, Deliveries()
    finally:
        for task in tasks:
            task.cancel()
        for client in clients:
            await client.close()


def _reconnects(clients: Sequence[AsyncClient]) -> int:
    return sum(client.reconnects for client in clients)


async def _next(asked: Asked) -> Any:
    """Return what is asked next; the clients go on meanwhile."""
    while (said := asked()) is None:
        await asyncio.sleep(_SILENCE)
    return said if said != "end" else None
