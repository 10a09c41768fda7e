"""The cursor of a subscription, against a plain dict; what is saved is enough to find the same messages again."""

from random import Random

import pytest

from cbnet.network.durable.home_log import cursor as module
from cbnet.network.durable.home_log.cursor import Cursor, spans
from cbnet.network.durable.home_log.journal import RecoveredRows, SaveCursor, Stretch
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log_rows import LogRows
from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLimits

SAVED = SaveCursor(1, (Stretch(5, 1, 0),))  # the first message has the position 5 or more


class Stub:
    """A log with messages of one subscription, and of others between them."""

    def __init__(self):
        self.rows = LogRows(RecoveredRows())
        self.queue = JournalQueue(RouterContext(Settings("a"), 1), self)
        self.positions = []
        self.next = 5

    def submit(self, _):
        pass

    def cursor(self, saved=SAVED):
        return Cursor(self.rows, self.queue, saved, self.positions)

    def add(self, cursor, size, time):
        self.rows.add(self.next, 1, size, time, 1)
        cursor.append(self.next, size)
        self.positions.append(self.next)
        self.next += 1

    def skip(self):
        """Add a message of others, which they do not need any more."""
        self.rows.add(self.next, 2, 1, 0.0, 0)
        self.next += 1


def test_random_changes_give_what_a_dict_gives_also_after_a_restart(monkeypatch):
    monkeypatch.setattr(module, "_TRIM", 4)
    for seed in range(50):
        random = Random(seed)
        log = Stub()
        cursor, plain, following = log.cursor(), {}, 1
        for _ in range(200):
            kind = random.random()
            if kind < 0.4:
                plain[following] = log.next, random.randrange(3)
                log.add(cursor, plain[following][1], float(following))
                following += 1
            elif kind < 0.5:
                log.skip()
            elif plain and kind < 0.8:
                offset = random.choice([min(plain), max(plain), random.choice([*plain])])
                del plain[offset]
                assert cursor.remove(offset)
            else:
                offset = random.randrange(following + 1)
                assert cursor.remove(offset) == (plain.pop(offset, None) is not None)
            assert [*cursor] == [*plain]
            assert (cursor.messages, cursor.bytes) == (len(plain), sum(size for _, size in plain.values()))
            assert (cursor.first, cursor.next) == (min(plain, default=following), following)
            for offset, (position, size) in plain.items():
                assert (cursor.position(offset), cursor.size(offset), cursor.time(offset)) == (position, size, offset)
        again = log.cursor(cursor.saved())
        assert ([*again], again.next, again.bytes) == ([*cursor], cursor.next, cursor.bytes)
        assert again.saved() == cursor.saved()
        found = {
            stretch.offset + index - start: log.positions[index]
            for stretch, start, end in spans(cursor.saved(), log.positions)
            for index in range(start, end)
        }
        assert found == {offset: position for offset, (position, _) in plain.items()}


def test_what_is_acknowledged_beyond_the_floor_is_saved_as_stretches():
    log = Stub()
    cursor = log.cursor()
    for _ in range(10):
        log.add(cursor, 1, 0.0)
        log.skip()  # so offset n has the position 2 n + 3
    for offset in (1, 4, 5, 10):
        cursor.remove(offset)
    # 2 and 3 are open, then 6 to 9, then whatever comes after 10.
    assert cursor.saved() == SaveCursor(1, (Stretch(6, 2, 2), Stretch(14, 6, 4), Stretch(24, 11, 0)))
    cursor.remove(2)
    cursor.remove(3)
    assert cursor.saved() == SaveCursor(1, (Stretch(14, 6, 4), Stretch(24, 11, 0)))


def test_a_million_acknowledgements_beyond_a_message_are_one_gap():
    log = Stub()
    cursor = log.cursor()
    log.add(cursor, 1, 0.0)
    for _ in range(10_000):
        log.add(cursor, 1, 0.0)
        cursor.remove(cursor.next - 1)
    assert cursor.saved() == SaveCursor(1, (Stretch(5, 1, 1), Stretch(10_006, 10_002, 0)))


def test_the_first_message_since_a_time():
    log = Stub()
    cursor = log.cursor()
    for time in (1.0, 2.0, 2.0, 5.0):
        log.add(cursor, 10, time)
    assert [cursor.since(time) for time in (0.0, 1.0, 1.5, 2.0, 3.0, 5.0, 6.0)] == [1, 1, 2, 2, 4, 4, 5]
    cursor.remove(1)
    assert cursor.since(0.0) == 2
    cursor.remove(3)
    assert [cursor.since(time) for time in (0.0, 2.0, 3.0, 6.0)] == [2, 2, 3, 5]  # 3 is followed by 4


@pytest.mark.parametrize(
    ("limits", "size", "dropped"),
    [
        (DurableLimits(), 100, []),
        (DurableLimits(messages=4), 0, [1]),
        (DurableLimits(bytes=30), 20, [1, 2, 3]),
        (DurableLimits(bytes=30), 100, [1, 2, 3, 4]),
    ],
)
def test_the_oldest_messages_make_room(limits, size, dropped):
    log = Stub()
    cursor = log.cursor()
    for _ in range(4):
        log.add(cursor, 10, 0.0)
    found = []
    for offset in cursor.surplus(limits, size):
        cursor.remove(offset)
        found.append(offset)
    assert found == dropped
