"""Payers share the processor in turns, as long as their weights say; what has no turn waits, in order."""

import asyncio

from cbnet.network.transport.processor_turns import TIME_SLICE, ProcessorTurns


def test_a_payer_that_has_used_its_turn_waits_for_the_next_iteration():
    async def story():
        turns, resumed = ProcessorTurns(), []
        turns.charge("a", 1, TIME_SLICE)
        assert not turns.has_time("a")
        assert turns.has_time("b")
        turns.wait("a", lambda: resumed.append(1))
        assert resumed == []
        await asyncio.sleep(0)
        assert resumed == [1]
        assert turns.has_time("a")

    asyncio.run(story())


def test_long_work_is_paid_with_as_many_turns():
    async def story():
        turns, resumed = ProcessorTurns(), []
        turns.charge("a", 2, 9 * TIME_SLICE)  # four and a half turns of weight 2
        turns.wait("a", lambda: resumed.append(1))
        for _ in range(3):
            await asyncio.sleep(0)
            assert resumed == []
        await asyncio.sleep(0)
        assert resumed == [1]

    asyncio.run(story())


def test_what_waits_is_resumed_in_order_until_the_turn_is_used():
    async def story():
        turns, resumed = ProcessorTurns(), []

        def work(name):
            resumed.append(name)
            turns.charge("a", 1, TIME_SLICE)

        work("first")
        for name in ("second", "third"):
            turns.wait("a", lambda name=name: work(name))
        await asyncio.sleep(0)
        assert resumed == ["first", "second"]
        await asyncio.sleep(0)
        assert resumed == ["first", "second", "third"]

    asyncio.run(story())
