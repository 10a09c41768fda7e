"""Connections whose peers have not identified themselves are limited, in all and by address."""

import asyncio
import logging
import socket

import pytest
from support.certificates import Authority
from support.waiting import wait_until_async

from cbnet.network import Settings, connect_async
from cbnet.network.errors import NotConnected
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import SecurityPolicy
from cbnet.network.transport import acceptor
from cbnet.network.transport.tcp_router import TcpRouter

HERE = "127.0.0.1"


@pytest.fixture(params=["plain", "tls"])
def security(request, tmp_path):
    if request.param == "plain":
        return SecurityPolicy()
    return SecurityPolicy(tls=Authority(tmp_path, "ours").tls(HERE, "a"))


def run(security, story, **settings):
    async def main():
        router = TcpRouter(Settings("a", **settings), Address(HERE, 0), {}, security)
        await router.start()
        try:
            await story(router)
        finally:
            await router.stop()

    asyncio.run(main())


async def silent(router, host):
    """Connect from an address of this machine and say nothing."""
    reader, writer = await asyncio.open_connection(*router.address, local_addr=(host, 0))
    await asyncio.sleep(0.02)
    return reader, writer


async def is_closed(connection, timeout=60):
    """Return whether the router closes a connection within a time."""
    reader, _ = connection
    try:
        async with asyncio.timeout(timeout):
            while await reader.read(1_000):  # the Hello
                pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


async def is_open(connection):
    return not await is_closed(connection, 0.05)


def client(router, security):
    return connect_async(str(router.address), tls=security.tls, timeout=60)


def test_small_frames_are_sent_at_once_on_accepted_connections():
    delays = []

    class Peer(asyncio.Protocol):
        def connection_made(self, transport):
            link = transport.get_extra_info("socket")
            delays.append(not link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def story():
        accepting = acceptor.Acceptor(Peer, lambda *_: True, lambda *_: None)
        accepting.most = accepting.most_per_address = 1
        address = await accepting.listen(Address(HERE, 0))
        reader, writer = await asyncio.open_connection(*address)
        assert await reader.read() == b""
        writer.close()
        accepting.close()

    asyncio.run(story())
    assert delays == [False]


def test_an_address_with_too_many_is_refused_and_others_are_not(security, monkeypatch, caplog):
    monkeypatch.setattr(acceptor, "_is_loopback", lambda _: False)

    async def story(router):
        held = [await silent(router, "127.0.0.2") for _ in range(5)]
        assert [await is_closed(each) for each in held[3:]] == [True] * 2
        assert [await is_open(each) for each in held[:3]] == [True] * 3
        async with await client(router, security) as other:
            await other.publish({"x": 1}, wait=True)
        held[0][1].close()
        await wait_until_async(lambda: router._acceptor._count == 2)
        held.append(await silent(router, "127.0.0.2"))
        assert await is_open(held[-1])
        for _, writer in held:
            writer.transport.abort()

    with caplog.at_level(logging.WARNING):
        run(security, story, handshakes_per_address=3)
    reasons = [record.members["reason"] for record in caplog.records if "reason" in getattr(record, "members", {})]
    assert reasons.count("too many unidentified connections of this address") == 2


def test_known_peers_do_not_count(security, monkeypatch):
    monkeypatch.setattr(acceptor, "_is_loopback", lambda _: False)

    async def story(router):
        clients = [await client(router, security) for _ in range(5)]
        for each in clients:
            await each.publish({"x": 1}, wait=True)
            await each.close()

    run(security, story, handshakes_per_address=1)


def test_of_too_many_in_all_the_address_with_the_most_loses_its_oldest(security):
    async def story(router):
        flood = [await silent(router, "127.0.0.2") for _ in range(3)]
        quiet = await silent(router, "127.0.0.3")
        late = await silent(router, "127.0.0.4")
        assert await is_closed(flood[0])
        assert [await is_open(each) for each in (*flood[1:], quiet, late)] == [True, True, True, True]
        for _, writer in (*flood, quiet, late):
            writer.transport.abort()

    run(security, story, handshakes=4)


def test_address_in_use_is_reported(security):
    async def story(router):
        with pytest.raises(ValueError, match=r"cannot listen on .*: Address already in use; choose another port"):
            await TcpRouter(Settings("b"), router.address, {}, security).start()

    run(security, story)


def test_router_that_does_not_accept_any_more_keeps_its_clients(security):
    async def story(router):
        async with await client(router, security) as kept:
            router._acceptor.close()
            await kept.publish({"x": 1}, wait=True)
            with pytest.raises(NotConnected):
                await client(router, security)

    run(security, story)
