"""The queue of a subscription: messages in batches, one by one, and the policies when it is full."""

import asyncio
from types import SimpleNamespace

import pytest

from cbnet._kernels.delivery import Delivery
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.errors import TooSlow
from cbnet.network.protocol.frames import Acknowledge

MESSAGES = [Delivery({"n": n}, b"", "r", ("r", 1, n)) for n in range(12)]


class Inbox(SimpleNamespace):
    """The inbox of a subscription: whether it is held, and how often it was released."""

    releases = 0

    def __init__(self, **members):
        super().__init__(link=SimpleNamespace(is_held=False), **members)

    def release(self):
        self.releases += 1


def subscription(when_full="block", queue=5):
    return AsyncSubscription(Inbox(), 1, "true", queue, when_full)


def state(subscription):
    return [*subscription._queue], subscription.dropped, subscription.is_full, subscription.is_too_slow


def numbers(deliveries):
    return [each.message["n"] for each in deliveries]


@pytest.mark.parametrize(
    ("when_full", "size", "queued", "dropped", "is_full", "is_too_slow"),
    [
        ("block", 4, range(4), 0, False, False),
        ("block", 12, range(12), 0, True, False),  # what was read before is kept
        ("drop oldest", 5, range(5), 0, False, False),
        ("drop oldest", 12, range(7, 12), 7, False, False),
        ("disconnect", 5, range(5), 0, False, False),
        ("disconnect", 12, range(6), 0, False, True),
    ],
)
def test_policy_is_the_same_for_one_batch_and_for_single_messages(
    when_full, size, queued, dropped, is_full, is_too_slow
):
    in_batch, one_by_one = subscription(when_full), subscription(when_full)
    in_batch.put(MESSAGES[:size])
    for message in MESSAGES[:size]:
        one_by_one.put([message])
    assert state(in_batch) == state(one_by_one) == ([MESSAGES[n] for n in queued], dropped, is_full, is_too_slow)


def test_batches_give_the_messages_that_iteration_gives():
    async def run():
        batches, single = subscription(queue=100), subscription(queue=100)
        received = []

        async def receive():
            async for batch in batches.batches():
                received.append(numbers(batch))

        task = asyncio.create_task(receive())
        for start, end in ((0, 3), (3, 4), (4, 12)):
            batches.put(MESSAGES[start:end])
            single.put(MESSAGES[start:end])
            await asyncio.sleep(0.01)
        batches.end()
        single.end()
        await task
        return received, numbers([each async for each in single])

    assert asyncio.run(run()) == ([[0, 1, 2], [3], [4, 5, 6, 7, 8, 9, 10, 11]], [*range(12)])


def test_batches_end_with_the_error_of_the_subscription():
    async def run():
        ended = subscription("disconnect")
        ended.put(MESSAGES)
        ended.end(TooSlow("slow"))
        batches = aiter(ended.batches())
        assert numbers(await anext(batches)) == [*range(6)]
        with pytest.raises(TooSlow):
            await anext(batches)

    asyncio.run(run())


def test_a_held_client_is_released_when_a_batch_is_taken():
    async def run():
        full = subscription()
        full.put(MESSAGES)
        full._inbox.link.is_held = True
        async for _ in full.batches():
            return full._inbox.releases

    assert asyncio.run(run()) == 1


def test_acknowledgements_are_sent_before_the_subscription_ends():
    sent, later = [], []
    inbox = Inbox(loop=SimpleNamespace(call_soon_threadsafe=later.append))
    inbox.link.send = sent.append
    acknowledged = AsyncSubscription(inbox, 1, "true", 5, "block")
    acknowledged.acknowledge(9)
    acknowledged.acknowledge_up_to(4)
    acknowledged.acknowledge_up_to(3)
    assert (len(later), sent) == (1, [])
    acknowledged.send_acknowledgements()  # as `unsubscribe` and `close` do
    assert sent == [Acknowledge(1, [9], 4)]
    later[0]()
    assert sent == [Acknowledge(1, [9], 4)]
