"""Who sends much is served in turns, in order, and nothing that it sent is lost."""

import asyncio

import pytest

from cbnet.network.protocol.frames import AskStatus, Ping, Publish, Subscribe
from cbnet.network.transport import fair_scheduler as module
from cbnet.network.transport.fair_scheduler import FairScheduler

LONG = [*(Subscribe(number, "x = 1", 0) for number in range(3)), AskStatus(3)]
SHORT = [Ping(number) for number in range(4)]


class Held:
    """A connection that knows whether it is read."""

    is_read = True

    def __init__(self, client=None):
        self.client = client or self

    def hold(self):
        self.is_read = False

    def release(self):
        self.is_read = True


class Table:
    """A router that takes some time for every frame."""

    def __init__(self, monkeypatch, seconds):
        self.now = 0.0
        self.given = []
        self.ended = []
        self.closing = None
        self._seconds = seconds
        monkeypatch.setattr(module, "thread_time", lambda: self.now)
        self.turns = FairScheduler(self.give, self.ended.append, lambda connection: connection.client)

    def give(self, connection, frames):
        self.now += self._seconds * len(frames)
        self.given.append((connection, list(frames)))
        if self.closing in frames:
            self.turns.forget(connection)
            return False
        return True

    def frames(self, connection):
        return [frame for each, frames in self.given if each is connection for frame in frames]


@pytest.fixture
def table(monkeypatch):
    def play(story, seconds):
        async def begin():
            await story(Table(monkeypatch, seconds))

        asyncio.run(begin())

    return play


def test_what_is_quick_is_given_at_once(table):
    async def story(table):
        one = Held()
        table.turns.take(one, SHORT)
        assert len(table.given) == 1
        table.turns.take(one, SHORT * 100)
        assert table.frames(one) == SHORT * 101
        assert one.is_read
        assert not table.turns.late

    table(story, seconds=0.00001)


def test_much_that_is_not_quick_lets_others_be_served_and_goes_on_as_soon_as_they_were(table):
    async def story(table):
        one, other = Held(), Held()
        table.turns.take(one, SHORT * 10)
        assert table.frames(one) == SHORT * 4  # one part, which took longer than a turn
        assert not one.is_read
        table.turns.take(other, SHORT)
        assert table.frames(other) == SHORT
        began = asyncio.get_running_loop().time()
        while table.turns.late:
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().time() - began < 0.5  # the 40 frames would take 40 s
        assert table.frames(one) == SHORT * 10
        assert one.is_read

    table(story, seconds=1.0)


def test_all_links_of_a_client_have_one_turn(table):
    async def story(table):
        one, two, other = Held("evil"), Held("evil"), Held()
        table.turns.take(one, LONG)
        table.turns.take(two, LONG)
        assert (table.frames(one), table.frames(two)) == (LONG[:1], [])
        table.turns.take(two, SHORT)  # after what waits
        table.turns.take(other, LONG[:1])
        assert table.frames(other) == LONG[:1]
        began = asyncio.get_running_loop().time()
        while len(table.frames(one) + table.frames(two)) < 5:
            await asyncio.sleep(0.001)
        assert asyncio.get_running_loop().time() - began >= 0.9 * 4 * 0.03  # whichever link it was
        await asyncio.sleep(0.3)
        assert (table.frames(one), table.frames(two)) == (LONG, [*LONG, *SHORT])

    table(story, seconds=0.03)


def test_what_takes_long_is_given_in_turns_and_in_order_while_others_are_served(table):
    async def story(table):
        one, other = Held(), Held()
        table.turns.take(one, [*LONG, *SHORT])
        assert table.frames(one) == LONG[:1]  # it took 0.03 s
        assert not one.is_read
        table.turns.take(other, SHORT)
        assert table.frames(other) == SHORT
        assert list(table.turns.late) == [one]
        table.turns.take(one, [Ping(9)])  # it was on its way
        await asyncio.sleep(0.5)
        assert table.frames(one) == [*LONG, *SHORT, Ping(9)]
        assert one.is_read
        assert not table.turns.late

    table(story, seconds=0.03)


def test_a_client_has_at_most_half_of_the_time(table):
    async def story(table):
        one = Held()
        began = asyncio.get_running_loop().time()
        table.turns.take(one, LONG)
        while len(table.frames(one)) < len(LONG):
            await asyncio.sleep(0.005)
        assert asyncio.get_running_loop().time() - began >= 3 * 0.05  # after each but the last it waited as long

    table(story, seconds=0.05)


def test_what_was_sent_before_the_end_is_done(table):
    async def story(table):
        one = Held()
        table.turns.take(one, [*LONG, Publish(1, {}, [], b"", False)])
        assert table.turns.ended(one)
        assert table.ended == []
        await asyncio.sleep(0.5)
        assert len(table.frames(one)) == 5
        assert table.ended == [one]
        assert not table.turns.ended(Held())

    table(story, seconds=0.03)


def test_nothing_more_is_given_to_a_connection_that_the_router_has_closed(table):
    async def story(table):
        one = Held()
        table.closing = LONG[1]
        table.turns.take(one, LONG)
        await asyncio.sleep(0.3)
        assert table.frames(one) == LONG[:2]
        assert table.ended == []

    table(story, seconds=0.03)
