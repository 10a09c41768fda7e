"""Many messages in one call: published at once, received in lists, in order, with back-pressure."""

import signal
import threading

import pytest

from cbnet import InputError
from cbnet.network import NotConnected, ProcessNetwork, Settings, connect, connect_async
from cbnet.network.transport.event_loop import run

COUNT = 20_000
MESSAGES = [
    {"x": x, "#": ["even"]} if x % 2 == 0 else {"x": x, "nested": {"x": [x]}} if x % 101 == 0 else {"x": x}
    for x in range(COUNT)
]  # a mixture of those that the kernels handle, and others
PAYLOADS = [x.to_bytes(4) for x in range(COUNT)]


@pytest.fixture(scope="module")
def network():
    with ProcessNetwork([Settings("a")], []) as network:
        yield network


@pytest.fixture
def address(network):
    return str(network.addresses["a"])


def contents(batches, count):
    """Return the messages and payloads of batches, up to a number of them."""
    received = []
    for batch in batches:
        assert batch
        received += [(each.message, each.payload) for each in batch]
        if len(received) >= count:
            return received
    return received


def test_batches_have_what_was_published_in_order(address):
    with connect(address) as publisher, connect(address) as subscriber:
        subscription = subscriber.subscribe("x >= 0", wait=True, queue=500)
        publishing = threading.Thread(target=publisher.publish_many, args=(MESSAGES, PAYLOADS))
        publishing.start()
        first = subscription.get(timeout=60)
        received = [(first.message, first.payload), *contents(subscription.batches(), COUNT - 1)]
        publishing.join()
        assert received == [*zip(MESSAGES, PAYLOADS, strict=True)]
        assert (subscriber.lost, publisher.refused) == (0, 0)
        subscription.unsubscribe()
        assert subscription.take() == []


def test_asyncio_client_publishes_and_receives_batches(address):
    async def main():
        async with await connect_async(address) as client:
            subscription = await client.subscribe("x >= 0", wait=True, queue=COUNT)
            await client.publish_many(iter(MESSAGES))
            received = []
            async for batch in subscription.batches():
                received += [each.message for each in batch]
                if len(received) >= COUNT:
                    await subscription.unsubscribe()
            return received

    assert run(main()) == MESSAGES


def test_nothing_is_sent_of_a_batch_with_an_invalid_message(address):
    async def main():
        async with await connect_async(address) as client:
            subscription = await client.subscribe("exists x", wait=True)
            with pytest.raises(InputError, match=r"^messages\[2\]: x: NaN is not a value"):
                await client.publish_many([{"x": 1}, {"x": 2}, {"x": float("nan")}])
            await client.publish({"x": 4}, wait=True)
            return [each.message async for each in _first(subscription)]

    assert run(main()) == [{"x": 4}]


async def _first(subscription):
    yield await anext(subscription)


def test_publish_many_waits_while_the_router_does_not_read(network, address):
    payloads = [bytes(2_000)] * COUNT  # 40 MB: more than the sockets hold

    async def main():
        async with await connect_async(address) as client:
            network.signal("a", signal.SIGSTOP)
            try:
                with pytest.raises(NotConnected, match=r"has not read for 0.5 s; .* of 20,000 messages") as error:
                    await client.publish_many(MESSAGES, payloads, timeout=0.5)
            finally:
                network.signal("a", signal.SIGCONT)
            sent = error.value.sent
            assert 0 < sent < COUNT
            await client.connected(10)
            subscription = await client.subscribe("x >= 0", wait=True, timeout=60, queue=COUNT)
            await client.publish_many(MESSAGES[sent:], timeout=60)
            received = []
            async for batch in subscription.batches():
                received += [each.message for each in batch]
                if len(received) >= COUNT - sent:
                    return received == MESSAGES[sent:]

    assert run(main())
