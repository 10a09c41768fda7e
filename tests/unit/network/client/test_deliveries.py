"""A client takes a message once, whichever routers deliver it."""

import asyncio

from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.protocol.frames import Deliver


def deliver(number, subscriptions=(1,), life=7):
    return Deliver(list(subscriptions), "r1", life, number, {"k": number}, [], b"")


def received(*frames):
    """Return the numbers that two subscriptions of a client get out of some frames."""

    async def run():
        client = AsyncClient("127.0.0.1:1")
        try:
            queues = {id: AsyncSubscription(client, id, "true", 100, "block") for id in (1, 2)}
            client._registered.subscriptions.update(queues)
            for frame in frames:
                client.received(frame)
            return [[delivery.message["k"] for delivery in queue._queue] for queue in queues.values()]
        finally:
            client._registered.subscriptions.clear()
            await client.close()

    return asyncio.run(run())


def test_message_delivered_again_after_a_restart_is_dropped():
    assert received(deliver(1), deliver(2), deliver(1), deliver(3)) == [[1, 2, 3], []]


def test_last_message_delivered_again_is_dropped():
    assert received(deliver(1), deliver(1), deliver(1, [2]), deliver(1, [2])) == [[1], [1]]


def test_number_of_another_life_is_another_message():
    assert received(deliver(1), deliver(1, life=8)) == [[1, 1], []]


def test_message_for_very_many_subscriptions_comes_in_several_frames():
    assert received(deliver(1, [1]), deliver(1, [2])) == [[1], [1]]


def test_late_message_of_a_slow_tree_is_not_refused():
    assert received(deliver(20_000), deliver(1)) == [[20_000, 1], []]
