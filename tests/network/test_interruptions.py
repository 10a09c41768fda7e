"""What a subscriber learns when its router, or another one, goes and returns."""

import asyncio
import sys

from support.waiting import wait_until_async

from cbnet.network import Settings, connect_async
from cbnet.network.client.client_events import EventKind
from cbnet.network.protocol.addresses import Address
from cbnet.network.transport.tcp_router import TcpRouter

HERE = "127.0.0.1"


async def started(name, address=Address(HERE, 0), neighbours=()):  # noqa: B008
    router = TcpRouter(Settings(name, settle=0.01, overlap=0.1), address, dict(neighbours))
    await router.start()
    return router


async def is_delivered(publisher, subscription):
    await publisher.publish({"x": 1})
    return await subscription.take(timeout=0.1)


async def until_delivered(publisher, subscription):
    while not await is_delivered(publisher, subscription):
        pass


def test_subscriber_learns_that_its_router_was_gone_and_what_it_may_have_missed():
    async def story():
        b = await started("b")
        a = await started("a", neighbours={"b": b.address})
        address = a.address
        events = []
        async with await connect_async(str(address)) as subscriber, await connect_async(str(b.address)) as publisher:
            subscriber.on_event = events.append
            subscription = await subscriber.subscribe("x = 1", wait=True)
            await until_delivered(publisher, subscription)
            assert events == []
            await a.stop()
            await wait_until_async(lambda: not subscriber.is_connected)
            for _ in range(5):
                await publisher.publish({"x": 1}, wait=True)
            a = await started("a", address, {"b": b.address})
            await wait_until_async(lambda: subscriber.is_connected)
            await until_delivered(publisher, subscription)
            await a.stop()
        await b.stop()
        return events, subscriber.missed

    events, missed = asyncio.run(story())
    gone, back, bound = events[:3]
    assert (gone.kind, gone.router, gone.text) == ("disconnected", "a", "a closed the connection: the router stops")
    assert (back.kind, back.router) == (EventKind.CONNECTED, "a")
    assert back.seconds > 0
    assert bound.kind is EventKind.MISSED
    assert bound.messages == missed >= 5  # and those before b knew of the subscription
    assert bound.text.endswith("other messages were published at b meanwhile: those that match were missed")


def test_subscriber_learns_that_another_router_failed():
    async def story():
        c = await started("c")
        b = await started("b", neighbours={"c": c.address})
        a = await started("a", neighbours={"b": b.address})
        events = []
        async with await connect_async(str(a.address)) as subscriber, await connect_async(str(c.address)) as publisher:
            subscriber.on_event = events.append
            subscription = await subscriber.subscribe("x = 1", wait=True)
            await until_delivered(publisher, subscription)
            await wait_until_async(lambda: {*a.router._losses._incarnations} == {"a", "b", "c"})
            b._acceptor.close()  # as if it were killed: neighbours cannot connect again either
            for connection in list(b._connections.values()):
                connection.abort()
            await b.stop()
            await wait_until_async(lambda: events)
            assert subscriber.is_connected
        await a.stop()
        await c.stop()
        return events

    (event,) = asyncio.run(story())
    assert (event.kind, event.messages) == (EventKind.LOST, None)
    assert event.text == "b, c cannot be reached: messages from there, or on the way through it, may be lost"


def test_failing_handler_does_not_end_the_connection(caplog):
    async def story():
        a = await started("a")
        async with await connect_async(str(a.address)) as subscriber:

            def fail(_):
                raise RuntimeError("a mistake of the program")

            subscriber.on_event = fail
            address = a.address
            await a.stop()
            a = await started("a", address)
            await wait_until_async(lambda: subscriber.is_connected and subscriber.reconnects)
            await subscriber.publish({"x": 1}, wait=True)
        await a.stop()

    asyncio.run(story())
    assert "the handler of a client's events failed" in caplog.text


def test_sub_says_that_its_router_goes_and_returns():
    async def story():
        b = await started("b")
        a = await started("a", neighbours={"b": b.address})
        address = a.address
        command = [sys.executable, "-m", "cbnet", "sub", "x = 1", "--wait", "--count", "2", "--router", str(address)]
        pipe = asyncio.subprocess.PIPE
        sub = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        async with await connect_async(str(b.address)) as publisher:
            assert b"subscribed at a" in await sub.stderr.readline()
            await publisher.publish({"x": 1})
            await sub.stdout.readline()
            await a.stop()
            assert await sub.stderr.readline() == b"a closed the connection: the router stops\n"
            await publisher.publish({"x": 1}, wait=True)
            a = await started("a", address, {"b": b.address})
            back = await sub.stderr.readline()
            while sub.returncode is None:
                await publisher.publish({"x": 1})
                await asyncio.sleep(0.05)
            missed = await sub.stderr.read()
        await a.stop()
        await b.stop()
        return back.decode(), missed.decode()

    back, missed = asyncio.run(story())
    assert back.startswith("connected to a after ")
    assert back.endswith(" s, in which no messages arrived\n")
    assert "other messages were published at b meanwhile: those that match were missed" in missed
