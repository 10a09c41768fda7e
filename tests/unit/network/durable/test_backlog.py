"""The index of unacknowledged messages, against a plain dict."""

from random import Random

from cbnet.network.durable import backlog as module
from cbnet.network.durable.backlog import Backlog
from cbnet.network.durable.journal import StockItem


def test_random_changes_give_what_a_dict_gives(monkeypatch):
    monkeypatch.setattr(module, "_TRIM", 4)
    for seed in range(50):
        random = Random(seed)
        backlog, plain, following = Backlog(), {}, 1
        for _ in range(200):
            if random.random() < 0.5:
                size = random.randrange(3)
                assert backlog.append(size, float(following)) == following
                plain[following] = size
                following += 1
            else:
                offset = random.randrange(following + 1)
                assert backlog.remove(offset) == (plain.pop(offset, None) is not None)
            assert [*backlog] == [*plain]
            assert (backlog.messages, backlog.bytes) == (len(plain), sum(plain.values()))
            assert (backlog.first, backlog.next) == (min(plain, default=following), following)
            assert all(backlog.size(offset) == size for offset, size in plain.items())
            assert all(backlog.time(offset) == offset for offset in plain)
        stock = [StockItem(offset, size, float(offset)) for offset, size in plain.items()]
        again = Backlog(following, stock)
        assert ([*again], again.next, again.bytes) == ([*backlog], backlog.next, backlog.bytes)


def test_the_first_message_since_a_time():
    backlog = Backlog()
    for time in (1.0, 2.0, 2.0, 5.0):
        backlog.append(10, time)
    assert [backlog.since(time) for time in (0.0, 1.0, 1.5, 2.0, 3.0, 5.0, 6.0)] == [1, 1, 2, 2, 4, 4, 5]
    backlog.remove(1)
    assert backlog.since(0.0) == 2
