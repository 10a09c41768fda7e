"""Connections in memory."""

import asyncio

from cbnet.network.transport.memory_transport import connect_in_memory


class End(asyncio.BufferedProtocol):
    """One end, with a small buffer."""

    def __init__(self):
        self.buffer = bytearray(10)
        self.received = []
        self.calls = []

    def connection_made(self, transport):
        self.transport = transport

    def get_buffer(self, _):
        return self.buffer

    def buffer_updated(self, count):
        self.received.append(bytes(self.buffer[:count]))

    def pause_writing(self):
        self.calls.append("pause")

    def resume_writing(self):
        self.calls.append("resume")

    def connection_lost(self, error):
        self.calls.append(("lost", error))


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


async def pair():
    client, server = End(), End()
    connect_in_memory(client, server, {"peername": ("::1", 7)}.get)
    return client, server


def test_bytes_arrive_in_order_in_parts_that_fit_the_buffer():
    async def story():
        client, server = await pair()
        client.transport.write(b"0123456789abc")
        assert server.received == []  # not within the call
        await turns()
        assert server.received == [b"0123456789", b"abc"]
        server.transport.write(b"back")
        await turns()
        assert client.received == [b"back"]

    asyncio.run(story())


def test_writer_is_paused_while_the_other_end_does_not_read():
    async def story():
        client, server = await pair()
        client.transport.set_write_buffer_limits(20, 5)
        server.transport.pause_reading()
        client.transport.write(b"x" * 20)
        await turns()
        assert (client.calls, client.transport.get_write_buffer_size()) == ([], 20)
        client.transport.write(b"y")
        assert client.calls == ["pause"]
        server.transport.resume_reading()
        await turns()
        assert (client.calls, client.transport.get_write_buffer_size()) == (["pause", "resume"], 0)
        assert b"".join(server.received) == b"x" * 20 + b"y"

    asyncio.run(story())


def test_closed_end_delivers_what_waits_first():
    async def story():
        client, server = await pair()
        client.transport.write(b"z" * 25)
        client.transport.close()
        client.transport.write(b"too late")
        await turns()
        assert b"".join(server.received) == b"z" * 25
        assert client.calls == server.calls == [("lost", None)]

    asyncio.run(story())


def test_abort_discards_what_waits():
    async def story():
        client, server = await pair()
        client.transport.write(b"z")
        client.transport.abort()
        await turns()
        assert server.received == []
        assert client.calls == server.calls == [("lost", None)]
        assert client.transport.is_closing()
        assert server.transport.is_closing()

    asyncio.run(story())


def test_server_knows_the_peer_behind_the_client():
    async def story():
        client, server = await pair()
        assert server.transport.get_extra_info("peername") == ("::1", 7)
        assert server.transport.get_extra_info("ssl_object") is None
        assert client.transport.get_extra_info("peername", "none") == "none"

    asyncio.run(story())
