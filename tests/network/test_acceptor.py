"""Connections whose peers have not identified themselves are limited, in all and by address, and so is their memory."""

import asyncio
import gc
import logging
import socket
import ssl
import tracemalloc
from contextlib import suppress
from functools import partial

import pytest
from support.certificates import Authority
from support.waiting import wait_until_async

from cbnet.network import Settings, connect_async
from cbnet.network.client.client_link import client_hello
from cbnet.network.errors import NotConnected
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.wire import encode
from cbnet.network.security.access import Access, SecurityPolicy
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


# --- memory

COUNT = 50


def begun(security, how):
    """Return the first bytes of a connection that ends before its client is admitted."""
    if security.tls is None:
        return {"nothing": b"", "part": encode(client_hello("x", "cbnet", ""))[:-1], "malformed": b"\xff" * 8}[how]
    if how == "malformed":
        return b"\x16\x03\x01\x00\x04\x07\x00\x00\x00"  # a handshake cannot begin with this message
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context(cafile=security.tls.authority)
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=HERE).do_handshake()
    return outgoing.read() if how == "part" else b""


def opened(router, data, context=None):
    """Return connections, each of which has sent some bytes; context: to finish the TLS handshake before."""
    sockets = [socket.create_connection(tuple(router.address)) for _ in range(COUNT)]
    if context is not None:
        sockets = [context.wrap_socket(each, server_hostname=HERE) for each in sockets]
    for each in sockets:
        each.sendall(data)
    return sockets


def wait_closed(sockets):
    """Wait until the router has closed connections."""
    for each in sockets:
        with suppress(ConnectionError):
            while each.recv(65_536):
                pass


@pytest.mark.parametrize("how", ["nothing", "part", "malformed", "silent"])
def test_memory_of_connections_that_end_does_not_wait_for_a_garbage_collection(security, how):
    data, context = (b"", client_tls(security)) if how == "silent" else (begun(security, how), None)

    accepted = 0

    def count(create):
        nonlocal accepted
        accepted += 1
        return create()

    async def story(router):
        router._acceptor._protocol = partial(count, router._acceptor._protocol)
        sockets = await asyncio.to_thread(opened, router, data, context)
        await wait_until_async(lambda: accepted == COUNT)
        if how == "malformed":
            await asyncio.to_thread(wait_closed, sockets)
        for each in sockets:
            each.close()
        await wait_until_async(lambda: not router._acceptor._count and not router._connections)
        while router._acceptor._tasks:
            await asyncio.wait(router._acceptor._tasks)
        await asyncio.sleep(0)

    async def main():
        router = TcpRouter(Settings("a"), Address(HERE, 0), {}, security)
        await router.start()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await story(router)
            gc.collect()
            kinds = {type(each).__name__ for each in gc.garbage}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
            await router.stop()
        assert kinds.isdisjoint({"Connection", "LinkOutput", "TlsProtocol", "_SelectorSocketTransport", "SSLError"})

    asyncio.run(main())


def test_connection_of_an_unknown_peer_takes_few_objects(security):
    data = begun(security, "part")

    async def story(router):
        tracemalloc.start()
        try:
            sockets = opened(router, data)
            await wait_until_async(lambda: len(router._acceptor._by_connection) == COUNT)
            size, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        for each in sockets:
            each.close()
        assert size < COUNT * 32_768  # without the memory of OpenSSL; asyncio allocates 262,144 for its buffer alone

    run(security, story)


def test_little_is_read_at_once_before_the_hello(security):
    async def story(router):
        reader, writer = await asyncio.open_connection(*router.address, ssl=client_tls(security))
        await wait_until_async(lambda: router._connections)
        (connection,) = router._connections.values()
        connection.pause_reading()  # as while other connections of the payer are served
        writer.write(encode(client_hello("x", "cbnet", "")) + bytes(1 << 20))
        sent = 0
        while (left := writer.transport.get_write_buffer_size()) != sent:  # until the system takes no more
            sent = left
            await asyncio.sleep(0.1)
        assert len(connection.get_buffer(-1)) == 4_096
        if security.tls is not None:
            assert connection._transport._ssl_protocol._get_read_buffer_size() <= 8_192
        writer.transport.abort()
        assert reader

    run(security, story)


def client_tls(security):
    return None if security.tls is None else ssl.create_default_context(cafile=security.tls.authority)


def test_hello_must_be_complete_in_time(security):
    async def story(router):
        reader, writer = await asyncio.open_connection(*router.address, ssl=client_tls(security))
        hello = encode(client_hello("x" * 64, "cbnet", "y" * 1_000))
        for byte in hello:  # takes a minute
            if writer.is_closing() or reader.at_eof():
                break
            with suppress(OSError):
                writer.write(bytes([byte]))
                await writer.drain()
            with suppress(TimeoutError, OSError):
                await asyncio.wait_for(reader.read(1_000), 0.05)
        else:
            raise AssertionError("the router waits for every byte")
        writer.transport.abort()

    run(security, story, dead=0.5, heartbeat=0.2)


def test_refused_connections_count_until_they_have_ended(security):
    access = Access({}, frozenset())  # nobody is admitted

    async def story(router):
        sockets = [await asyncio.to_thread(refused, router, security) for _ in range(3)]
        await wait_until_async(lambda: not router._connections)
        if security.tls is not None:  # the router waits for the end of TLS
            assert router._acceptor._count == 3
        for each in sockets:
            each.close()
        await wait_until_async(lambda: router._acceptor._count == 0)

    run(SecurityPolicy(access, security.tls), story)


def refused(router, security):
    """Connect with a Hello that is refused; return the socket when the router has said so, and leave it open."""
    link = socket.create_connection(tuple(router.address))
    context = client_tls(security)
    if context is not None:
        link = context.wrap_socket(link, server_hostname=HERE)
    link.sendall(encode(client_hello("x", "cbnet", "")))
    while b"token" not in link.recv(65_536):
        pass
    return link
