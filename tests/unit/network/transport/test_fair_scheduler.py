"""Peers that send much are served in time slices, in order, and nothing is lost."""

import asyncio
import threading
from types import SimpleNamespace

import pytest
from support.waiting import wait_until_async

from cbnet._kernels.fast_path import DONE, LATE, PYTHON
from cbnet._kernels.link_output import LinkOutput
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.language.syntax.parser import parse_filter
from cbnet.network.forwarding.fast_forwarding import Progress
from cbnet.network.protocol.frames import (
    Announce,
    DurableQuery,
    DurableRemove,
    DurableSubscribe,
    Hello,
    HistoryStart,
    Inquiry,
    Packet,
    Ping,
    Publish,
    Replay,
    StatusRequest,
    StreamChange,
    Subscribe,
    TableRequest,
)
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet.network.security.rights import ALL_RIGHTS
from cbnet.network.transport import fair_scheduler as module
from cbnet.network.transport.fair_scheduler import FairScheduler
from cbnet.network.transport.processor_turns import ProcessorTurns

HELLO = Hello(4, 4, "client", "c", "cbnet", 0, 0, "")
SLOW = [*(Subscribe(number, "x = 1", 0) for number in range(3)), StatusRequest(3)]
FAST = [Ping(number) for number in range(4)]
PLAIN = [Publish(number, {}, [], b"", False) for number in range(40)]


class FakeConnection:
    """A connection that records whether it is read."""

    is_read = True

    def __init__(self, payer="", weight=1):
        payer = payer or f"host {id(self)}"
        self.link = SimpleNamespace(
            payer=payer,
            account="",
            processor_weight=weight,
            is_open=True,
            is_blocked=False,
            steps=None,
            rights=ALL_RIGHTS,
            is_router=payer.startswith("router "),
        )
        self.output = LinkOutput(1, 1)
        self.reader = FrameReader()
        list(self.reader.feed(encode(HELLO)))

    def pause_reading(self):
        self.is_read = False

    def resume_reading(self):
        self.is_read = True


class FakeRouter:
    """A router, and the rates of its clients, that takes a fixed time for every frame, and none for plain messages."""

    is_announcing = False

    def __init__(self, monkeypatch, seconds):
        self.now = 0.0
        self.calls = []
        self.ended = []
        self.errors = []
        self.closing = None
        self.steps = None  # of each subscription, after the first
        self.pauses = []  # seconds, for each time that the scheduler asks
        self._seconds = seconds
        monkeypatch.setattr(module, "thread_time", lambda: self.now)
        self.scheduler = FairScheduler(self, self, ProcessorTurns())

    def add(self, connection, frames):
        self.scheduler.add(connection, b"".join(map(encode, frames)))

    def forward(self, connection, data, start, _):
        """Handle plain messages, at most 16 in a time slice."""
        for _ in range(16):
            end = connection.reader.end_of(data, start)
            if end == start:
                return Progress(start, DONE)
            if data[start + 5] != 22:
                return Progress(start, PYTHON)
            self.calls.append((connection, [connection.reader.read(data, start, end)]))
            start = end
        return Progress(start, LATE)

    def allowed(self, *_):
        return 16

    def pause(self, *_):
        return self.pauses.pop(0) if self.pauses else 0.0

    def process(self, connection, frames):
        link = connection.link
        if link.steps:
            assert frames == []
            frames = ["step"]
            link.steps = link.steps - 1 or None
        elif any(isinstance(frame, Subscribe) for frame in frames):
            link.steps = self.steps
        self.now += self._seconds * len(frames)
        self.calls.append((connection, list(frames)))
        if self.closing in frames:
            self.scheduler.forget(connection)
            return False
        return True

    def failed(self, connection, reason):
        self.errors.append((connection, reason))

    def closed(self, connection):
        self.ended.append(connection)

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
        router.add(one, FAST)
        assert len(router.calls) == 1
        router.add(one, FAST * 100)
        assert router.frames(one) == FAST * 101
        assert one.is_read
        assert not router.scheduler.waiting

    router(story, seconds=0.00001)


def test_long_batch_continues_as_soon_as_other_connections_are_served(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        router.add(one, FAST * 10)
        assert router.frames(one) == FAST * 4  # one batch, which took longer than a time slice
        assert not one.is_read
        router.add(other, FAST)
        assert router.frames(other) == FAST
        began = asyncio.get_running_loop().time()
        while router.scheduler.waiting:
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().time() - began < 0.5  # the 40 frames would take 40 s
        assert router.frames(one) == FAST * 10
        assert one.is_read

    router(story, seconds=1.0)


def test_client_above_its_rate_is_not_read_until_its_pause_is_over(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        router.pauses = [0.05]
        router.add(one, FAST)
        assert (router.frames(one), one.is_read) == ([], False)
        router.add(other, FAST)
        assert router.frames(other) == FAST
        began = asyncio.get_running_loop().time()
        while router.scheduler.waiting:
            await asyncio.sleep(0.001)
        assert asyncio.get_running_loop().time() - began >= 0.04
        assert (router.frames(one), one.is_read) == (FAST, True)

    router(story, seconds=0.00001)


def test_blocked_client_waits_until_it_is_released(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        one.link.is_blocked = True
        router.add(one, PLAIN)
        router.add(one, FAST)
        assert router.frames(one) == PLAIN[:16]  # what was handled when it was blocked
        router.add(other, PLAIN[:5])
        assert router.frames(other) == PLAIN[:5]
        await asyncio.sleep(0.05)
        assert (one.is_read, list(router.scheduler.waiting)) == (False, [one])
        one.link.is_blocked = False
        router.scheduler.release(one)
        router.scheduler.release(one)
        router.scheduler.release(other)
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == PLAIN + FAST
        assert one.is_read

    router(story, seconds=0.00001)


def test_inquiries_are_processed_one_by_one(router):
    async def story(router):
        one = FakeConnection()
        inquiries = [Inquiry("a", 0, "b", number, "subscriptions") for number in range(3)]
        router.add(one, inquiries)
        assert router.frames(one) == inquiries[:1]  # it took longer than a time slice
        assert not one.is_read
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == inquiries

    router(story, seconds=0.05)


def test_nested_messages_are_processed_one_by_one(router):
    async def story(router):
        one = FakeConnection()
        one.reader.has_nested = True
        router.add(one, FAST)
        assert router.frames(one) == FAST[:1]  # it took longer than a time slice
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == FAST

    router(story, seconds=0.5)


def test_all_links_of_a_client_share_a_time_slice(router):
    async def story(router):
        one, two, other = FakeConnection("evil"), FakeConnection("evil"), FakeConnection()
        router.add(one, SLOW)
        router.add(two, SLOW)
        assert (router.frames(one), router.frames(two)) == (SLOW[:1], [])
        router.add(two, FAST)  # after the queued frames
        router.add(other, SLOW[:1])
        assert router.frames(other) == SLOW[:1]
        began = asyncio.get_running_loop().time()
        while len(router.frames(one) + router.frames(two)) < 5:
            await asyncio.sleep(0.001)
        assert asyncio.get_running_loop().time() - began >= 0.9 * 4 * 0.03  # on either link
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert (router.frames(one), router.frames(two)) == (SLOW, [*SLOW, *FAST])

    router(story, seconds=0.03)


def long_predicate(name):
    """Return a predicate that is read in a thread."""
    return f"{name} = 1".ljust(module.LONG)


def test_long_predicate_is_read_in_a_thread_while_others_are_served(router, monkeypatch):
    reading, may_end = [], threading.Event()

    def read(text, *, is_compared):
        assert not is_compared  # the client has no account
        reading.append((text, threading.current_thread() is threading.main_thread()))
        may_end.wait()
        return 0.0

    monkeypatch.setattr(module, "read_ahead", read)

    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        frames = [Subscribe(1, long_predicate("x"), 0), *FAST]
        router.add(one, frames)
        await wait_until_async(lambda: reading)
        assert reading == [(long_predicate("x"), False)]
        router.add(other, FAST)
        router.add(other, [Subscribe(1, "x = 1", 0)])
        assert router.frames(other) == [*FAST, Subscribe(1, "x = 1", 0)]
        assert router.frames(one) == []
        assert not one.is_read
        may_end.set()
        await wait_until_async(lambda: router.frames(one) == frames)
        assert len(reading) == 1
        assert one.is_read

    router(story, seconds=0.00001)


def test_predicates_of_one_payer_are_read_one_at_a_time(router, monkeypatch):
    reading = []
    monkeypatch.setattr(module, "read_ahead", lambda text, **_: reading.append(text[0]) or 0.0)

    async def story(router):
        many, other = [FakeConnection("evil") for _ in range(3)], FakeConnection("good")
        for link in many:
            router.add(link, [Subscribe(1, long_predicate("e"), 0)])
        router.add(other, [Subscribe(1, long_predicate("g"), 0)])
        await wait_until_async(lambda: all(map(router.frames, [*many, other])))
        assert reading == ["e", "g", "e", "e"]

    router(story, seconds=0.00001)


def test_predicate_of_a_closed_connection_is_dropped(router, monkeypatch):
    may_end = threading.Event()
    monkeypatch.setattr(module, "read_ahead", lambda *_, **__: may_end.wait() and 0.0)

    async def story(router):
        one = FakeConnection()
        router.add(one, [Subscribe(1, long_predicate("x"), 0)])
        (task,) = router.scheduler._read_ahead.values()
        router.scheduler.forget(one)
        may_end.set()
        await task
        assert router.calls == []
        assert not router.scheduler.waiting

    router(story, seconds=0.00001)


@pytest.mark.parametrize("frame", [
    DurableSubscribe(1, "n", "x = 1", 0.0, 1, 1.0, None), DurableRemove(1, "n"), DurableQuery(1), Replay(1, "x = 1", 0.0, 1, HistoryStart(0)),
    TableRequest(1),
])  # fmt: skip
def test_frames_about_what_a_router_stores_are_slow(router, frame):
    async def story(router):
        one = FakeConnection()
        router.add(one, [frame, frame])
        assert router.frames(one) == [frame]
        assert not one.is_read
        await wait_until_async(lambda: router.frames(one) == [frame, frame])

    router(story, seconds=0.02)


def test_a_payer_gets_one_turn_in_an_iteration_over_all_its_links(router):
    """One batch takes longer than a turn, so the other seven links wait; whoever else has work is served meanwhile."""

    async def story(router):
        links = [FakeConnection("evil") for _ in range(8)]
        other = FakeConnection("good")
        for link in links:
            router.add(link, FAST)
        assert [len(router.frames(link)) for link in links] == [4, *[0] * 7]
        served = []
        while router.scheduler.waiting:
            before = len(router.calls)
            router.add(other, FAST[:1])
            assert router.calls[before][0] is other  # at once
            await asyncio.sleep(0)
            served.append(len(router.calls) - before - 1)
        assert max(served) == 1  # batch of the others in an iteration
        assert [router.frames(link) for link in links] == [FAST] * 8
        assert all(link.is_read for link in links)

    router(story, seconds=module.TIME_SLICE / 3.5)


@pytest.mark.parametrize("weight", [1, 3, 4])
def test_turns_are_as_long_as_the_weight_says(router, weight):
    async def story(router):
        links = [FakeConnection("one", weight) for _ in range(8)]
        for link in links:
            router.add(link, FAST)
        assert sum(len(router.frames(link)) > 0 for link in links) == weight

    router(story, seconds=module.TIME_SLICE / 3.5)


def test_a_payer_that_closes_its_links_leaves_nothing_behind(router):
    async def story(router):
        links = [FakeConnection("evil") for _ in range(4)]
        for link in links:
            router.add(link, FAST)
        router.scheduler.forget(links[1])
        assert router.scheduler.defer_close(links[2])
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(links[1]) == []
        assert (router.frames(links[2]), router.frames(links[3])) == (FAST, FAST)
        assert router.ended == [links[2]]

    router(story, seconds=1.0)


def test_slow_frames_are_processed_in_order_while_others_are_served(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        router.add(one, [*SLOW, *FAST])
        assert router.frames(one) == SLOW[:1]  # it took 0.03 s
        assert not one.is_read
        router.add(other, FAST)
        assert router.frames(other) == FAST
        assert list(router.scheduler.waiting) == [one]
        router.add(one, [Ping(9)])  # already in transit
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == [*SLOW, *FAST, Ping(9)]
        assert one.is_read
        assert not router.scheduler.waiting

    router(story, seconds=0.03)


def test_client_gets_at_most_half_of_the_time(router):
    async def story(router):
        one = FakeConnection()
        began = asyncio.get_running_loop().time()
        router.add(one, SLOW)
        while len(router.frames(one)) < len(SLOW):
            await asyncio.sleep(0.005)
        assert asyncio.get_running_loop().time() - began >= 3 * 0.05  # after each but the last it paused as long

    router(story, seconds=0.05)


@pytest.mark.parametrize(("payer", "weight", "pause"), [("one", 1, 0.2), ("one", 4, 0.05), ("router b", 4, 0.2)])
def test_an_account_is_paused_for_its_time_divided_by_its_weight_and_a_neighbour_for_all_of_it(
    router, monkeypatch, payer, weight, pause
):
    async def story(router):
        pauses = []
        monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda seconds, *_: pauses.append(seconds))
        one, two = FakeConnection(payer, weight), FakeConnection(payer, weight)
        router.add(one, SLOW)
        router.add(two, SLOW)  # has to wait for the turn of its payer, and then for the rest of the pause
        assert pauses == [pytest.approx(pause)]
        while len(pauses) < 2:
            await asyncio.sleep(0)
        assert pauses[1] <= pause
        assert (router.frames(one), router.frames(two)) == (SLOW[:1], [])

    router(story, seconds=0.2)


def test_frames_sent_before_the_close_are_processed(router):
    async def story(router):
        one = FakeConnection()
        router.add(one, [*SLOW, Publish(1, {}, [], b"", False)])
        assert router.scheduler.defer_close(one)
        assert router.ended == []
        await wait_until_async(lambda: router.ended)
        assert len(router.frames(one)) == 5
        assert router.ended == [one]
        assert not router.scheduler.defer_close(FakeConnection())

    router(story, seconds=0.03)


def test_no_frame_is_processed_after_the_router_closed_the_connection(router):
    async def story(router):
        one = FakeConnection()
        router.closing = SLOW[1]
        router.add(one, SLOW)
        await wait_until_async(lambda: len(router.frames(one)) == 2)
        await asyncio.sleep(0.1)  # more than a pause: a third frame would be processed in it
        assert router.frames(one) == SLOW[:2]
        assert router.ended == []

    router(story, seconds=0.03)


def test_announcements_of_few_filters_are_processed_together(router):
    def announce(filters):
        return Announce([b"\x90"] * filters, [], [], [])

    async def story(router):
        one = FakeConnection()
        small, large = announce(1), announce(module.BATCH_BYTES // 4)  # 3 bytes for each filter
        frames = [*[small] * (module.BATCH + 2), large, large, small, FAST[0]]
        router.add(one, frames)
        assert router.frames(one) == frames
        assert [len(frames) for _, frames in router.calls] == [module.BATCH, 3, 3]

    router(story, seconds=0.0)


def test_parts_of_a_long_announcement_are_processed_one_by_one(router):
    def part(*, is_last):
        change = StreamChange(number=1, sequence=2, side=b"", base=0, added=[0], removed=[], is_last=is_last)
        return Announce([b"\x90"], [], [change], [])

    async def story(router):
        one = FakeConnection()
        frames = [FAST[0], part(is_last=False), part(is_last=False), FAST[1], part(is_last=True), part(is_last=True)]
        router.add(one, frames)
        assert router.frames(one) == frames
        assert [len(frames) for _, frames in router.calls] == [2, 1, 3]

    router(story, seconds=0.0)


def test_steps_of_a_frame_take_turns_with_others_and_the_next_frame_waits_for_them(router):
    async def story(router):
        router.steps = 3
        one, other = FakeConnection(), FakeConnection()
        router.add(one, [Subscribe(1, "x = 1", 0), FAST[0]])
        assert router.frames(one) == [Subscribe(1, "x = 1", 0)]  # longer than a turn
        assert not one.is_read
        router.add(other, FAST)
        assert router.frames(other) == FAST
        await wait_until_async(lambda: len(router.frames(one)) == 5)
        assert router.frames(one) == [Subscribe(1, "x = 1", 0), "step", "step", "step", FAST[0]]

    router(story, seconds=0.01)


def test_next_long_predicate_of_a_payer_is_read_when_the_steps_of_the_last_one_are_done(router, monkeypatch):
    monkeypatch.setattr(module, "read_ahead", lambda *_, **__: 0.0)

    async def story(router):
        router.steps = 3
        one, two = FakeConnection("evil"), FakeConnection("evil")
        for link in (one, two):
            router.add(link, [Subscribe(1, long_predicate("x"), 0)])
        await wait_until_async(lambda: len(router.frames(two)) == 4)
        assert [each for each, _ in router.calls] == [one] * 4 + [two] * 4

    router(story, seconds=0.01)


def test_steps_wait_while_neighbours_have_many_announcements(router):
    async def story(router):
        router.steps = 3
        one = FakeConnection()
        router.is_announcing = True
        router.add(one, [Subscribe(1, "x = 1", 0)])
        await asyncio.sleep(3 * module._ANNOUNCING)
        assert router.frames(one) == [Subscribe(1, "x = 1", 0)]
        router.is_announcing = False
        await wait_until_async(lambda: len(router.frames(one)) == 4)

    router(story, seconds=0.00001)


def test_no_step_waits_long_for_the_announcements_of_others(router, monkeypatch):
    monkeypatch.setattr(module, "_CONGESTED", 0.03)

    async def story(router):
        router.steps = 3
        one = FakeConnection()
        router.is_announcing = True
        router.add(one, [Subscribe(1, "x = 1", 0), FAST[0]])
        await wait_until_async(lambda: len(router.frames(one)) == 5)

    router(story, seconds=0.00001)


def test_a_long_predicate_does_not_wait_for_steps_that_a_reload_has_made(router, monkeypatch):
    monkeypatch.setattr(module, "read_ahead", lambda *_, **__: 0.0)

    async def story(router):
        router.steps = 3
        one, two = FakeConnection("host a"), FakeConnection("host a")
        router.add(one, [Subscribe(1, "x = 1", 0)])
        one.link.steps = None  # as `Router.reload` leaves it
        router.steps = None
        router.add(one, [Subscribe(2, long_predicate("x"), 0)])
        router.add(two, [Subscribe(3, long_predicate("y"), 0)])
        await wait_until_async(lambda: len(router.frames(one)) == 2 and len(router.frames(two)) == 1)

    router(story, seconds=0.01)


def test_announcements_of_many_conditions_are_processed_one_by_one(router):
    condition = filter_to_bytes(parse_filter("x + y > 1"))

    def announce(count, encoded=condition):
        change = StreamChange(number=1, sequence=2, side=b"", base=0, added=[0], removed=[], is_last=True)
        return Announce([encoded] * count, [], [change], [])

    async def story(router):
        one = FakeConnection()
        few, many = announce(module._MANY_FILTERS - 1), announce(module._MANY_FILTERS)
        router.add(one, [few, few, many, many, announce(module._MANY_FILTERS, b"\x90"), few])
        assert [len(frames) for _, frames in router.calls] == [3, 1, 2]

    router(story, seconds=0.0)


def test_plain_messages_go_through_the_fast_path_in_order(router):
    async def story(router):
        one = FakeConnection()
        frames = [*PLAIN[:3], *FAST, *PLAIN[3:6], *FAST, *FAST]
        router.add(one, frames)
        assert router.frames(one) == frames
        assert [len(frames) for _, frames in router.calls] == [1, 1, 1, 4, 1, 1, 1, 8]

    router(story, seconds=0.0)


def test_plain_messages_wait_when_their_time_slice_is_over(router):
    async def story(router):
        one, other = FakeConnection(), FakeConnection()
        router.add(one, PLAIN)
        assert router.frames(one) == PLAIN[:16]
        router.add(other, FAST)
        assert router.frames(other) == FAST
        await wait_until_async(lambda: not router.scheduler.waiting)
        assert router.frames(one) == PLAIN
        assert one.is_read

    router(story, seconds=0.0)


@pytest.mark.parametrize("size", [1, 5, 30, 1000])
def test_frames_come_in_pieces(router, size):
    async def story(router):
        one = FakeConnection()
        frames = [*FAST, *PLAIN[:5], *FAST]
        data = b"".join(map(encode, frames))
        for at in range(0, len(data), size):
            router.scheduler.add(one, memoryview(data)[at : at + size])
        assert router.frames(one) == frames

    router(story, seconds=0.0)


def test_frames_before_an_invalid_one_are_processed(router):
    async def story(router):
        one = FakeConnection()
        data = b"".join(map(encode, FAST)) + b"\x00\x00\x00\x01\xc1" + encode(FAST[0])
        router.scheduler.add(one, data)
        assert router.frames(one) == FAST
        assert [reason.split(":")[0] for _, reason in router.errors] == ["invalid frame"]

    router(story, seconds=0.0)


def test_a_packet_that_is_too_long_is_counted(router):
    async def story(router):
        one = FakeConnection()
        one.reader = FrameReader()
        list(one.reader.feed(encode(Hello(4, 4, "router", "r", "cbnet", 1, 1, "multitree:1"))))
        long = Packet("r", 1, 1, 0, 0, 0, 0, {"x": "y" * (5 << 19)}, [], b"")
        router.add(one, [long, *FAST])
        assert one.reader.skipped == 1
        assert router.frames(one) == FAST

    router(story, seconds=0.0)
