"""A slow consumer uses bounded memory, its losses are counted, and no other client is affected."""

import asyncio
import signal
import time
from contextlib import asynccontextmanager

import pytest
from support.waiting import wait_until_async

from cbnet import parse, parse_filter
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network import ProcessNetwork, Settings, TcpRouter, TooSlow, connect, connect_async
from cbnet.network.link.link import session_id
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import (
    Announce,
    Close,
    Credit,
    Deliver,
    Hello,
    LinkField,
    LinkRecord,
    Lost,
    Packet,
    Ping,
    Pong,
    SlowPolicy,
    StreamChange,
    Subscribe,
    Subscribed,
)
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet.network.security.access import OPEN_POLICY, Access, Account, SecurityPolicy
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token
from cbnet.network.transport import connection
from cbnet.network.transport import tcp_router as tcp
from cbnet.network.transport.event_loop import run

SMALL = 1 << 16


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(tcp, "MAX_QUEUED_MESSAGES", 6 * SMALL)  # more than the packets of one read, 4 * SMALL bytes
    monkeypatch.setattr(tcp, "MAX_QUEUED_FOR_CLIENT", 8 * SMALL)
    monkeypatch.setattr(tcp, "MAX_QUEUED_PACKETS", 6 * SMALL)
    monkeypatch.setattr(tcp, "WINDOW", SMALL)
    monkeypatch.setattr(tcp, "MARK", SMALL)
    monkeypatch.setattr(connection, "_LINGER", 60)  # seconds for a slow reader to reach the last frame


@asynccontextmanager
async def router(*, security=OPEN_POLICY, **settings):
    running = TcpRouter(Settings("a", **settings), Address("127.0.0.1", 0), {}, security)
    await running.start()
    try:
        yield running
    finally:
        await running.stop()


class Raw:
    """A peer that reads only on request."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.frames = FrameReader()
        self.got = []
        self.handled = 0  # bytes of packets, all of one class

    @classmethod
    async def dial(cls, running, *frames):
        reader, writer = await asyncio.open_connection(*running.address, limit=1 << 12)
        raw = cls(reader, writer)
        raw.send(*frames)
        return raw

    def send(self, *frames):
        self.writer.write(b"".join(map(encode, frames)))

    async def read(self, until):
        """Read until a condition holds, for at most 30 seconds."""
        async with asyncio.timeout(30):
            while not until(self.got):
                if not await self.read_once():
                    break
        return self.got

    async def read_once(self):
        """Read some bytes; grant credit for the packets, and answer pings. Return whether there were any bytes."""
        data = await self.reader.read(1 << 16)
        frames = list(self.frames.feed(data))
        self.got += frames
        self.handled += sum(len(encode(frame)) for frame in of(Packet, frames))
        if of(Packet, frames):
            self.send(Credit(of(Packet, frames)[0].hops, self.handled + tcp.WINDOW))
        self.send(*(Pong(frame.number) for frame in of(Ping, frames)))
        return bool(data)


def client_hello(name="slow"):
    return Hello(low=5, high=5, role="client", name=name, network="cbnet", incarnation=0, link=0, scheme="")


def of(kind, frames):
    return [frame for frame in frames if isinstance(frame, kind)]


async def flooded(publisher, total, size=1_000):
    for number in range(total):
        await publisher.publish({"x": 1}, number.to_bytes(4) + bytes(size), timeout=60)
    await publisher.status(timeout=60)


def test_client_that_does_not_read_loses_the_oldest_messages_and_learns_their_number():
    async def main():
        async with router() as running, await connect_async(str(running.address)) as publisher:
            raw = await Raw.dial(running, client_hello(), Subscribe(1, "x = 1", 0))
            await raw.read(lambda got: of(Subscribed, got))
            keeping_alive = asyncio.create_task(pings(raw))
            total = 20_000  # 20 MB: more than the sockets and the router buffer
            await flooded(publisher, total)
            peers = {peer.name: peer for peer in (await publisher.status()).peers}
            assert 0 < peers["slow"].waiting <= 6 * SMALL
            await publisher.publish({"x": 1}, b"last", wait=True)
            got = await raw.read(lambda got: of(Deliver, got) and of(Deliver, got)[-1].payload == b"last")
            keeping_alive.cancel()
            lost = sum(frame.messages for frame in of(Lost, got))
            if not lost:  # it follows the last message
                lost = sum(frame.messages for frame in of(Lost, await raw.read(lambda got: of(Lost, got))))
            numbers = [int.from_bytes(frame.payload[:4]) for frame in of(Deliver, got) if frame.payload != b"last"]
            assert numbers == sorted(set(numbers))
            assert numbers[-1] == total - 1  # the newest are kept
            assert len(numbers) + lost == total
            status = await publisher.status()
            assert status.counters["dropped.client_queue_full"] == lost > 0
            raw.writer.close()

    run(main())


def test_slow_clients_together_stay_within_the_budget_of_the_router():
    async def main():
        budget = 28 * SMALL  # 4 write buffers of 4 * SMALL bytes, and 12 * SMALL in queues
        async with router(queue_bytes=budget) as running, await connect_async(str(running.address)) as publisher:
            slow = [await Raw.dial(running, client_hello(f"slow{n}"), Subscribe(1, "x = 1", 0)) for n in range(4)]
            keeping_alive = [asyncio.create_task(pings(raw)) for raw in slow]
            for raw in slow:
                await raw.read(lambda got: of(Subscribed, got))
            await flooded(publisher, 20_000)
            links = running.router.links
            await wait_until_async(lambda: sum(link.traffic.waiting for link in links.all()) <= 14 * SMALL)
            waiting = {peer.name: peer.waiting for peer in (await publisher.status()).peers if peer.waiting}
            assert waiting.keys() == {f"slow{n}" for n in range(4)}  # alone, each may have 6 * SMALL
            assert running.router.counters["dropped.client_queue_full"] > 0
            for raw in slow:
                raw.writer.close()
            await wait_until_async(lambda: not any(link.traffic.waiting for link in running.router.links.all()))
            for task in keeping_alive:
                task.cancel()

    run(main())


def test_slow_clients_of_one_account_together_stay_within_its_budget(monkeypatch):
    budget = 28 * SMALL  # as above
    monkeypatch.setattr(tcp, "MAX_QUEUED_FOR_ACCOUNT", budget)
    tokens = {name: new_token(name) for name in ("slow", "other")}
    rights = Rights(publish=parse("true"), subscribe=parse("true"))
    access = Access({name: Account(rights, token.hash) for name, token in tokens.items()})

    def queued(running, account):
        return [link.traffic.waiting for link in running.router.links.all() if link.account == account]

    async def main():
        async with (
            router(security=SecurityPolicy(access)) as running,
            await connect_async(str(running.address), token=tokens["other"].token) as publisher,
        ):
            raws = []
            for name in ("slow", "slow", "slow", "slow", "other"):
                own = client_hello(name)
                own.token = tokens[name].token
                raws.append(await Raw.dial(running, own, Subscribe(1, "x = 1", 0)))
            keeping_alive = [asyncio.create_task(pings(raw)) for raw in raws]
            for raw in raws:
                await raw.read(lambda got: of(Subscribed, got))
            await flooded(publisher, 20_000)
            await wait_until_async(lambda: sum(queued(running, "slow")) <= 14 * SMALL)
            assert all(queued(running, "slow"))  # alone, each may have 6 * SMALL
            assert max(queued(running, "other")) > 14 * SMALL / 4
            for raw in raws:
                raw.writer.close()
            for task in keeping_alive:
                task.cancel()

    run(main())


async def pings(raw):
    while True:
        raw.send(Ping(0))
        await asyncio.sleep(0.5)


def test_client_with_the_policy_disconnect_is_disconnected_when_it_does_not_read():
    async def main():
        async with router() as running, await connect_async(str(running.address)) as publisher:
            raw = await Raw.dial(running, client_hello(), SlowPolicy("disconnect"), Subscribe(1, "x = 1", 0))
            await raw.read(lambda got: of(Subscribed, got))
            await flooded(publisher, 20_000)
            got = await raw.read(lambda got: of(Close, got))
            assert [frame.reason for frame in of(Close, got)] == ["the peer reads too slowly"]
            numbers = [int.from_bytes(frame.payload[:4]) for frame in of(Deliver, got)]
            assert numbers == list(range(len(numbers)))  # nothing is lost before
            status = await publisher.status()
            assert status.counters["links_too_slow"] == 1
            assert status.subscriptions == 0
            raw.writer.close()

    run(main())


async def linked(running, name, incarnation):
    """Return a neighbour that has no other neighbour, when the router has adopted its record."""
    hello = Hello(
        low=5, high=5, role="router", name=name, network="cbnet", incarnation=incarnation, link=1, scheme="multitree:1"
    )  # fmt: skip
    raw = await Raw.dial(running, hello)
    (own,) = of(Hello, await raw.read(lambda got: of(Hello, got)))
    raw.session = session_id((own.incarnation, own.link), (incarnation, 1))
    raw.send(LinkRecord(name, incarnation, 1, 1, 0, {"a": LinkField(1, [raw.session])}))
    await wait_until_async(lambda: name in running.router.version.names)
    return raw


async def neighbour(running):
    """Return a linked neighbour that receives everything."""
    interest = filter_to_bytes(parse_filter("x = 1"))
    raw = await linked(running, "b", 7)
    side = running.router.version.trees[0].links["b"].far_key
    opening = StreamChange(number=1, sequence=1, side=side, base=0, added=[0], removed=[], is_last=True)
    raw.send(Announce([interest], [], [opening], []))
    await wait_until_async(lambda: running.router.version.complete is not None)
    return raw


def test_slow_neighbour_blocks_publishers_and_nothing_is_lost():
    async def main():
        async with router(dead=30.0, silence=60.0) as running, await connect_async(str(running.address)) as publisher:
            raw = await neighbour(running)
            total = 20_000
            flooding = asyncio.create_task(flooded(publisher, total))
            keeping_alive = asyncio.create_task(pings(raw))
            await asyncio.sleep(5.0)  # longer than the 3.5 s after which a client gives up a silent router
            assert not flooding.done()
            got = await raw.read(lambda got: len(of(Packet, got)) == total)
            await flooding
            keeping_alive.cancel()
            assert [int.from_bytes(frame.payload[:4]) for frame in of(Packet, got)] == list(range(total))
            assert publisher.reconnects == 0
            raw.writer.close()

    run(main())


async def read_slowly(raw):
    while True:
        await raw.read_once()  # some kilobytes
        await asyncio.sleep(0.1)


def test_slow_but_steady_neighbour_stays_linked_and_stops_only_those_who_send_to_it():
    async def main():
        async with (
            router(heartbeat=0.2, dead=0.8, silence=2.0) as running,
            await connect_async(str(running.address)) as publisher,
            await connect_async(str(running.address)) as other,
            await connect_async(str(running.address)) as subscriber,
        ):
            subscription = await subscriber.subscribe("y >= 0", wait=True, queue=5_000)
            raw = await neighbour(running)
            reading = asyncio.create_task(read_slowly(raw))
            flooding = asyncio.create_task(flooded(publisher, 6_000))
            began = time.monotonic()
            await wait_until_async(lambda: any(link.is_blocked for link in running.router.links.all()))
            for number in range(2_000):  # not for the neighbour
                await other.publish({"y": number}, bytes(1_000), timeout=60)
            got = 0
            while got < 2_000:
                got += len(await subscription.take(timeout=60))
            assert not flooding.done()
            await asyncio.sleep(4.0 - (time.monotonic() - began))  # 5 times as long as a neighbour may be silent
            assert not flooding.done()
            reading.cancel()
            got = await raw.read(lambda got: len(of(Packet, got)) == 6_000)
            await flooding
            assert [int.from_bytes(frame.payload[:4]) for frame in of(Packet, got)] == list(range(6_000))
            status = await other.status()
            assert list(status.neighbours) == ["b"]
            assert "links_too_slow" not in status.counters
            assert publisher.reconnects == 0
            raw.writer.close()

    run(main())


def test_link_to_a_neighbour_that_reads_nothing_is_closed_and_publishers_continue():
    async def main():
        async with (
            router(heartbeat=0.2, dead=0.8, silence=1.0) as running,
            await connect_async(str(running.address)) as publisher,
        ):
            raw = await neighbour(running)
            keeping_alive = asyncio.create_task(pings(raw))
            for number in range(20_000):  # a publish that is never released fails
                await publisher.publish({"x": 1}, number.to_bytes(4) + bytes(1_000), timeout=60)
            status = await publisher.status(timeout=60)
            assert status.neighbours == {}
            assert status.counters["links_too_slow"] == 1
            keeping_alive.cancel()
            raw.writer.close()

    run(main())


def receive_slowly(when_full, queue, total):
    """Return the messages that a small queue keeps, the subscription, and the messages lost or the error."""

    async def main():
        async with (
            router() as running,
            await connect_async(str(running.address)) as publisher,
            await connect_async(str(running.address)) as subscriber,
        ):
            subscription = await subscriber.subscribe("x = 1", wait=True, queue=queue, when_full=when_full)
            await flooded(publisher, total, size=10)
            await wait_until_async(
                lambda: (
                    subscriber.is_held
                    or not subscriber.is_connected
                    or subscription.dropped + len(subscription) == total
                )
            )
            got = []
            try:
                while len(got) < total and (deliveries := await subscription.take(timeout=0.5)):
                    got += [int.from_bytes(delivery.payload[:4]) for delivery in deliveries]
            except TooSlow as error:
                return got, subscription, error
            return got, subscription, subscriber.lost

    return run(main())


def test_policy_block_queues_messages_at_the_router_and_loses_none():
    got, subscription, lost = receive_slowly("block", queue=5, total=3_000)
    assert got == list(range(3_000))
    assert (subscription.dropped, lost) == (0, 0)


def test_policy_drop_oldest_keeps_the_newest_and_counts_the_others():
    got, subscription, lost = receive_slowly("drop oldest", queue=5, total=3_000)
    assert got == list(range(2_995, 3_000))
    assert (subscription.dropped, lost) == (2_995, 0)


def test_policy_disconnect_ends_the_subscription_with_an_error():
    got, subscription, error = receive_slowly("disconnect", queue=5, total=3_000)
    assert isinstance(error, TooSlow)
    assert got == list(range(6))  # the queue, and the message that did not fit
    assert subscription.dropped == 0


def test_call_inside_the_receive_loop_does_not_deadlock():
    async def main():
        async with router() as running, await connect_async(str(running.address)) as client:
            subscription = await client.subscribe("x = 1", wait=True, queue=2)
            for number in range(500):
                await client.publish({"x": 1}, number.to_bytes(4))
            await wait_until_async(lambda: client.is_held)
            got = []
            async for delivery in subscription:
                await client.publish({"y": 1}, wait=True, timeout=60)
                got.append(int.from_bytes(delivery.payload))
                if len(got) == 500:
                    return got

    assert run(main()) == list(range(500))


def test_client_that_blocks_for_long_stays_connected():
    async def main():
        async with router(heartbeat=0.5, dead=2.0) as running, await connect_async(str(running.address)) as client:
            subscription = await client.subscribe("x = 1", wait=True, queue=2)
            for _ in range(100):
                await client.publish({"x": 1})
            await asyncio.sleep(5.0)  # longer than both sides tolerate silence
            count = 0
            async for _ in subscription:
                count += 1
                if count == 100:
                    break
            return client.reconnects

    assert run(main()) == 0


def test_packets_of_a_neighbour_that_ignores_its_credit_are_dropped_but_records_are_not():
    async def main():
        async with router(dead=60.0, silence=120.0) as running:
            slow = await neighbour(running)
            keeping_alive = asyncio.create_task(pings(slow))
            sender = await linked(running, "c", 9)
            side = running.router.version.trees[0].links["c"].near
            total = 15_000  # 15 MB: more than the sockets and the router buffer
            for number in range(total):
                sender.send(
                    Packet(
                        source="c",
                        incarnation=9,
                        number=number,
                        hops=1,
                        tree=0,
                        side=side,
                        tries=0,
                        attributes={"x": 1},
                        tags=[],
                        payload=bytes(1_000),
                    )
                )
                await sender.writer.drain()
            links = {"a": LinkField(1, [sender.session]), "z": LinkField(1, [5])}
            sender.send(LinkRecord("c", 9, 2, 2, 0, links))  # after all packets
            await wait_until_async(lambda: running.router.counters["dropped.neighbour_queue_full"])
            got = await slow.read(
                lambda got: any(isinstance(frame, LinkRecord) and "z" in frame.neighbours for frame in got)
            )
            assert len(of(Packet, got)) < total  # the record does not wait for them
            dropped = running.router.counters["dropped.neighbour_queue_full"]
            got = await slow.read(lambda got: len(of(Packet, got)) + dropped == total)
            keeping_alive.cancel()
            assert [frame.number for frame in of(Packet, got)][-1] == total - 1  # the oldest were dropped
            sender.writer.close()
            slow.writer.close()

    run(main())


def test_blocking_client_sends_when_the_router_reads_again():
    with (
        ProcessNetwork([Settings("a")], []) as network,
        connect(str(network.addresses["a"])) as publisher,
        connect(str(network.addresses["a"])) as subscriber,
    ):
        subscription = subscriber.subscribe("x >= 0", wait=True, queue=100_000)
        network.signal("a", signal.SIGSTOP)
        count = 0
        while publisher._inbox.link.is_writable:
            publisher.publish({"x": count}, bytes(50_000))
            count += 1
            time.sleep(0.0002)  # lets the client's thread send it and learn whether the router reads
        publisher.publish({"x": count})  # is buffered in this process
        network.signal("a", signal.SIGCONT)
        got = [subscription.get(timeout=60).message["x"] for _ in range(count + 1)]
        assert got == list(range(count + 1))
