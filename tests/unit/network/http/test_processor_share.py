"""The work for an HTTP client is charged to its payer, step by step, and waits for the payer's turns."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

from cbnet.network.http import processor_share as module
from cbnet.network.http.processor_share import ProcessorShare, in_thread
from cbnet.network.transport.processor_turns import TIME_SLICE, ProcessorTurns

HOST = "host 10.0.0.7"


class Clock(threading.local):
    """The processor time of each thread, which passes only in `work`."""

    now = 0.0

    def work(self, turns):
        self.now += turns * TIME_SLICE


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "thread_time", lambda: clock.now)
    return clock


def test_a_step_waits_until_earlier_ones_are_paid(clock):
    async def story():
        turns, steps = ProcessorTurns(), []
        share = ProcessorShare(turns, "10.0.0.7")

        async def request(name):
            for number in (1, 2):
                clock.work(3)
                steps.append((name, number))
                await asyncio.sleep(0)
            return name

        tasks = [asyncio.create_task(share.run(request(name))) for name in "ab"]
        await asyncio.sleep(0)
        assert steps == [("a", 1)]
        assert not turns.has_time(HOST)
        assert await asyncio.gather(*tasks) == ["a", "b"]
        assert steps == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]

    asyncio.run(story())


def test_others_are_served_while_a_client_waits(clock):
    async def story():
        turns = ProcessorTurns()
        one, other = ProcessorShare(turns, "10.0.0.7"), ProcessorShare(turns, "10.0.0.8")
        one.call(lambda: clock.work(100))
        assert not one.has_time
        assert await other.run(asyncio.sleep(0, "served")) == "served"
        assert not one.has_time

    asyncio.run(story())


def test_after_its_first_request_the_account_pays(clock):
    async def story():
        turns = ProcessorTurns()
        share = ProcessorShare(turns, "10.0.0.7")
        share.belong_to(SimpleNamespace(payer="ticker", processor_weight=2))
        share.call(lambda: clock.work(1))
        assert turns.has_time("ticker")  # weight 2
        share.call(lambda: clock.work(1))
        assert not turns.has_time("ticker")
        assert turns.has_time(HOST)

    asyncio.run(story())


def test_cancellation_and_errors_reach_the_work(clock):
    async def story():
        share, ended = ProcessorShare(ProcessorTurns(), "10.0.0.7"), []

        async def work(name):
            clock.work(100)
            try:
                await asyncio.sleep(0 if name == "without time" else 60)
            except asyncio.CancelledError:
                ended.append(name)
                raise

        for name in ("waiting", "without time"):
            task = asyncio.create_task(share.run(work(name)))
            while not share.has_time:
                await asyncio.sleep(0)
            while share.has_time:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert ended == ["waiting", "without time"]

        async def fails():
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await share.run(fails())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await share.run(asyncio.sleep(60))

    asyncio.run(story())


def test_work_in_a_thread_is_charged_too(clock):
    async def story():
        turns = ProcessorTurns()
        share = ProcessorShare(turns, "10.0.0.7")

        async def request():
            await in_thread(clock.work, 1)

        charged = []
        turns.charge = lambda *each: charged.append(each)
        await share.run(request())
        assert sum(seconds for _, _, seconds in charged) == TIME_SLICE
        assert {payer for payer, _, _ in charged} == {HOST}

    asyncio.run(story())
