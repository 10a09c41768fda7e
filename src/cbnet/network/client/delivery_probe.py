"""Rehearsal: what does every node of a network get that was made from data? Messages are published, deliveries noted.

At each router a client listens to what is delivered to the loaded predicate of its node, and publishes. A message is
known by its number, which is its payload.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.client.message_encoding import MessageLike
from cbnet.network.errors import Refused
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.event_loop import run

_PATIENCE = 5.0  # seconds without a delivery, after which those that are lacking count as missed
_QUIET = 0.5  # seconds in which what is spurious may still come

DeliveryCounts = Counter[tuple[str, int]]  # router and number of the message: how often it came


def probe_deliveries(
    routers: Mapping[str, Address], messages: Sequence[tuple[str, MessageLike]], expected: int, network: str = "cbnet"
) -> DeliveryCounts:
    """Publish messages, each at a router, and return who got which.

    expected: so many deliveries are waited for; if they do not come, until nothing comes any more.
    """
    return run(_rehearsed(routers, messages, expected, network))


async def _rehearsed(
    routers: Mapping[str, Address], messages: Sequence[tuple[str, MessageLike]], expected: int, network: str
) -> DeliveryCounts:
    received: DeliveryCounts = Counter()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        clients = {
            name: await stack.enter_async_context(await connect_async(str(where), network=network))
            for name, where in routers.items()
        }
        listening = [(name, await _loaded(client)) for name, client in clients.items()]
        tasks = [group.create_task(_note(received, name, each)) for name, each in listening if each is not None]
        for number, (router, message) in enumerate(messages):
            await clients[router].publish(message, str(number).encode())
        await _settled(received, expected)
        for task in tasks:
            task.cancel()
    return received


async def _loaded(client: AsyncClient) -> AsyncSubscription | None:
    """Return what is delivered to a node; None if nothing was loaded there."""
    try:
        return await client.subscribe_loaded()
    except Refused:
        return None


async def _note(received: DeliveryCounts, name: str, subscription: AsyncSubscription) -> None:
    async for delivery in subscription:
        received[name, int(delivery.payload)] += 1


async def _settled(received: DeliveryCounts, expected: int) -> None:
    """Wait until all that is expected has come, or nothing more comes; then a little longer."""
    before, silent = -1, 0.0
    while (count := received.total()) < expected and silent < _PATIENCE:
        silent = 0.0 if count != before else silent + 0.1
        before = count
        await asyncio.sleep(0.1)
    await asyncio.sleep(_QUIET)
