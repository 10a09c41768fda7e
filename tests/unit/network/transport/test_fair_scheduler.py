"""Peers that send much are served in time slices, in order, and nothing is lost."""

import asyncio

import pytest
from support.waiting import wait_until_async

from cbnet.network.protocol.frames import Ping, Publish, StatusRequest, Subscribe
from cbnet.network.transport import fair_scheduler as module
from cbnet.network.transport.fair_scheduler import FairScheduler

SLOW = [*(Subscribe(number, "x = 1", 0) for number in range(3)), StatusRequest(3)]
FAST = [Ping(number) for number in range(4)]


class FakeConnection:
    """A connection that records whether it is read."""

    is_read = True
    has_nested = False

    def __init__(self, client=None):
        self.client = client or self

    def pause_reading(self):
        self.is_read = False

    def resume_reading(self):
        self.is_read = True


class FakeRouter:
    """A router that takes a fixed time for every frame."""

    def __init__(self, monkeypatch, seconds):
        self.now = 0.0
        self.calls = []
        self.closed = []
        self.closing = None
        self._seconds = seconds
        monkeypatch.setattr(module, "thread_time", lambda: self.now)
        self.scheduler = FairScheduler(self.process, self.closed.append, lambda connection: connection.client)

    def process(self, connection, frames):
        self.now += self._seconds * len(frames)
        self.calls.append((connection, list(frames)))
        if self.closing in frames:
            self.scheduler.forget(connection)
            return False
        return True

    def frames(self, connection):
        return [frame for each, frames in self.calls if each is connection for frame in frames]


@pytest.fixture
def router(monkeypatch):
    def run(story, seconds):
        async def main():
            await story(FakeRouter(monkeypatch, seconds))

        asyncio.run(main())

    return run


def test_fast_frames_are_processed_at_once(router):
    async def story(router):
        one = FakeConnection()
        router.scheduler.add(one, FAST)
        assert len(router.calls) == 1
        router.scheduler.add(one, FAST * 100)
        assert router.frames(one) == FAST * 101
        assert one.is_read
        assert not router.scheduler.waiting

    router(story, seconds=0.00001)


def test_long_batch_continues_as_soon_as_other_connections_are_served(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        router.scheduler.add(one, FAST * 10)
        assert router.frames(one) == FAST * 4  # one batch, which took longer than a time slice
        assert not one.is_read
        router.scheduler.add(other, FAST)
        assert router.frames(other) == FAST
        began = asyncio.get_running_loop().time()
        while router.scheduler.waiting:
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().time() - began < 0.5  # the 40 frames would take 40 s
        assert router.frames(one) == FAST * 10
        assert one.is_read

    router(story, seconds=1.0)


def test_nested_messages_are_processed_one_by_one(router):
    async def story(router):
        one = FakeConnection()
        one.has_nested = True
        router.scheduler.add(one, FAST)
        assert router.frames(one) == FAST[:1]  # it took longer than a time slice
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == FAST

    router(story, seconds=0.5)


def test_all_links_of_a_client_share_a_time_slice(router):
    async def story(router):
        one, two, other = FakeConnection("evil"), FakeConnection("evil"), FakeConnection()
        router.scheduler.add(one, SLOW)
        router.scheduler.add(two, SLOW)
        assert (router.frames(one), router.frames(two)) == (SLOW[:1], [])
        router.scheduler.add(two, FAST)  # after the queued frames
        router.scheduler.add(other, SLOW[:1])
        assert router.frames(other) == SLOW[:1]
        began = asyncio.get_running_loop().time()
        while len(router.frames(one) + router.frames(two)) < 5:
            await asyncio.sleep(0.001)
        assert asyncio.get_running_loop().time() - began >= 0.9 * 4 * 0.03  # on either link
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert (router.frames(one), router.frames(two)) == (SLOW, [*SLOW, *FAST])

    router(story, seconds=0.03)


def test_slow_frames_are_processed_in_order_while_others_are_served(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        router.scheduler.add(one, [*SLOW, *FAST])
        assert router.frames(one) == SLOW[:1]  # it took 0.03 s
        assert not one.is_read
        router.scheduler.add(other, FAST)
        assert router.frames(other) == FAST
        assert list(router.scheduler.waiting) == [one]
        router.scheduler.add(one, [Ping(9)])  # already in transit
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == [*SLOW, *FAST, Ping(9)]
        assert one.is_read
        assert not router.scheduler.waiting

    router(story, seconds=0.03)


def test_client_gets_at_most_half_of_the_time(router):
    async def story(router):
        one = FakeConnection()
        began = asyncio.get_running_loop().time()
        router.scheduler.add(one, SLOW)
        while len(router.frames(one)) < len(SLOW):
            await asyncio.sleep(0.005)
        assert asyncio.get_running_loop().time() - began >= 3 * 0.05  # after each but the last it paused as long

    router(story, seconds=0.05)


def test_frames_sent_before_the_close_are_processed(router):
    async def story(router):
        one = FakeConnection()
        router.scheduler.add(one, [*SLOW, Publish(1, {}, [], b"", False)])
        assert router.scheduler.defer_close(one)
        assert router.closed == []
        await wait_until_async(lambda: router.closed)
        assert len(router.frames(one)) == 5
        assert router.closed == [one]
        assert not router.scheduler.defer_close(FakeConnection())

    router(story, seconds=0.03)


def test_no_frame_is_processed_after_the_router_closed_the_connection(router):
    async def story(router):
        one = FakeConnection()
        router.closing = SLOW[1]
        router.scheduler.add(one, SLOW)
        await wait_until_async(lambda: len(router.frames(one)) == 2)
        await asyncio.sleep(0.1)  # more than a pause: a third frame would be processed in it
        assert router.frames(one) == SLOW[:2]
        assert router.closed == []

    router(story, seconds=0.03)
