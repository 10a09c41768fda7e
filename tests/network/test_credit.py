"""Saturated networks with tiny windows and queues: everything arrives, in order per publisher, and nothing is dropped."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from random import Random

import pytest
from support.waiting import wait_until_async

from cbnet.network import Settings, TcpRouter, connect_async
from cbnet.network.link.counters import DropReason
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport import tcp_router as tcp
from cbnet.network.transport.event_loop import run

LOCAL = Address("127.0.0.1", 0)
PAYLOAD = bytes(500)


@pytest.fixture(autouse=True)
def tiny_limits(monkeypatch):
    monkeypatch.setattr(tcp, "WINDOW", 1 << 12)
    monkeypatch.setattr(tcp, "MARK", 1 << 13)


async def started(stack, links, **settings):
    """Return running routers with these links, when they know each other."""
    names = sorted({name for link in links for name in link})
    routers = {}
    for name in names:
        neighbours = [a for a, b in links if b == name if a in routers] + [
            b for a, b in links if a == name if b in routers
        ]
        addresses = {neighbour: routers[neighbour].address for neighbour in neighbours}
        routers[name] = TcpRouter(Settings(name, **settings), LOCAL, addresses)
        await routers[name].start()
        stack.push_async_callback(routers[name].stop)
    await wait_until_async(
        lambda: all(
            each.router.is_settled and len(each.router.version.names) == len(names) for each in routers.values()
        ),
        timeout=60,
    )
    return routers


async def saturated(links, count, **settings):
    """Let a client at each router publish to all; return what each received by publisher, and all routers' counters."""
    async with AsyncExitStack() as stack:
        routers = await started(stack, links, **settings)
        clients, subscriptions = {}, {}
        for name, router in routers.items():
            clients[name] = await stack.enter_async_context(await connect_async(str(router.address), name=f"c{name}"))
            subscriptions[name] = await clients[name].subscribe("x >= 0", wait=True, queue=10 * count * len(links))

        async def publish(name):
            for number in range(count):
                await clients[name].publish({"x": number, "from": name}, PAYLOAD, timeout=60)

        async def receive(name):
            got = {each: [] for each in routers}
            while sum(map(len, got.values())) < count * len(routers):
                deliveries = await subscriptions[name].take(timeout=60)
                assert deliveries, {each: len(numbers) for each, numbers in got.items()}
                for delivery in deliveries:
                    got[delivery.message["from"]].append(delivery.message["x"])
            return got

        *_, got = await asyncio.gather(*map(publish, routers), asyncio.gather(*map(receive, routers)))
        assert all(link.traffic.waiting == 0 for each in routers.values() for link in each.router.links.all())
        return got, [Counter(router.router.counters) for router in routers.values()]


def check(got, counters, count):
    for received in got:
        assert all(numbers == list(range(count)) for numbers in received.values())
    allowed = {DropReason.DUPLICATE.key}
    assert not [key for each in counters for key in each if key.startswith("dropped.") and key not in allowed]
    assert not any(each["links_too_slow"] or each["links_failed"] for each in counters)


def ring(size):
    names = [f"r{number}" for number in range(size)]
    return list(zip(names, names[1:] + names[:1], strict=True))


@pytest.mark.parametrize("trees", [1, 9])
def test_ring_saturated_in_both_directions(trees):
    got, counters = run(saturated(ring(9), 200, trees=trees))
    check(got, counters, 200)


def test_two_routers_that_saturate_each_other():
    got, counters = run(saturated([("a", "b")], 3_000))
    check(got, counters, 3_000)


@pytest.mark.parametrize("seed", range(3))
def test_random_graph(seed):
    random = Random(seed)
    names = [f"r{number}" for number in range(8)]
    links = {(random.choice(names[:number]), names[number]) for number in range(1, 8)}
    links |= {tuple(sorted(random.sample(names, 2))) for _ in range(6)}
    got, counters = run(saturated(sorted(links), 150, trees=4))
    check(got, counters, 150)


def test_packets_that_wait_for_credit_of_a_link_that_dies_take_another_path():
    async def main():
        async with AsyncExitStack() as stack:
            routers = await started(stack, ring(4))
            near = await stack.enter_async_context(await connect_async(str(routers["r0"].address)))
            far = await stack.enter_async_context(await connect_async(str(routers["r1"].address)))
            subscription = await far.subscribe("x >= 0", wait=True, queue=10_000)

            async def publish():
                for number in range(3_000):
                    await near.publish({"x": number}, PAYLOAD, timeout=60)

            for link in routers["r1"].router.links.all():
                link.output.withhold(1, True)
            publishing = asyncio.create_task(publish())
            connections = routers["r0"]._connections
            full = await wait_until_async(lambda: [each for each in connections.values() if each.output.queued_packets])
            await asyncio.sleep(0.5)  # meanwhile the neighbour answers pings
            full[0].abort()
            routers["r0"].closed(full[0])
            got = set()
            while len(got) < 3_000:
                deliveries = await subscription.take(timeout=60)
                assert deliveries, len(got)
                got |= {delivery.message["x"] for delivery in deliveries}
            await publishing

    run(main())
