"""A delivery check of a network that starts with initial predicates: publish messages, and count deliveries.

One client per router subscribes to the initial predicate of the router's node, and publishes. The payload of a message
is its number.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.client.message_encoding import MessageLike
from cbnet.network.errors import Refused
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.event_loop import run

_SILENCE = 5.0  # seconds without a delivery, after which missing ones count as missed
_SETTLE = 0.5  # seconds for spurious deliveries to arrive

DeliveryCounts = Counter[tuple[str, int]]  # (router, message number) -> deliveries


@dataclass(frozen=True)
class ProbeResult:
    """Deliveries compared with the expected ones."""

    expected: int
    delivered: int
    missed: int
    spurious: int
    duplicates: int

    @property
    def is_exact(self) -> bool:
        """Whether every expected delivery arrived once, and no other."""
        return self.delivered == self.expected and not (self.missed or self.spurious or self.duplicates)


def compare_deliveries(receivers: Sequence[Sequence[str]], counts: DeliveryCounts) -> ProbeResult:
    """Compare deliveries with the expected receivers of each message."""
    expected = {(router, number) for number, routers in enumerate(receivers) for router in routers}
    delivered = expected & counts.keys()
    return ProbeResult(
        expected=len(expected),
        delivered=len(delivered),
        missed=len(expected - counts.keys()),
        spurious=sum(count for each, count in counts.items() if each not in expected),
        duplicates=sum(counts[each] - 1 for each in delivered),
    )


def probe_deliveries(
    routers: Mapping[str, Address], messages: Sequence[tuple[str, MessageLike]], expected: int, network: str = "cbnet"
) -> DeliveryCounts:
    """Publish messages, each at a router, and return the deliveries.

    expected: number of deliveries to wait for; if fewer arrive, the wait ends when no more come.
    """
    return run(_probe(routers, messages, expected, network))


async def _probe(
    routers: Mapping[str, Address], messages: Sequence[tuple[str, MessageLike]], expected: int, network: str
) -> DeliveryCounts:
    received: DeliveryCounts = Counter()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        clients = {
            name: await stack.enter_async_context(await connect_async(str(address), network=network))
            for name, address in routers.items()
        }
        subscriptions = [(name, await _initial_subscription(client)) for name, client in clients.items()]
        tasks = [group.create_task(_count(received, name, each)) for name, each in subscriptions if each is not None]
        for number, (router, message) in enumerate(messages):
            await clients[router].publish(message, str(number).encode())
        await _settled(received, expected)
        for task in tasks:
            task.cancel()
    return received


async def _initial_subscription(client: AsyncClient) -> AsyncSubscription | None:
    """Subscribe to the initial predicate of the router's node; None if it has none."""
    try:
        return await client.subscribe_initial()
    except Refused:
        return None


async def _count(received: DeliveryCounts, name: str, subscription: AsyncSubscription) -> None:
    async for delivery in subscription:
        received[name, int(delivery.payload)] += 1


async def _settled(received: DeliveryCounts, expected: int) -> None:
    """Wait until the expected deliveries have arrived or no more come, then a little longer."""
    before, silent = -1, 0.0
    while (count := received.total()) < expected and silent < _SILENCE:
        silent = 0.0 if count != before else silent + 0.1
        before = count
        await asyncio.sleep(0.1)
    await asyncio.sleep(_SETTLE)
