"""What waits for a side that does not read, and what is given up."""

from hypothesis import given
from hypothesis import strategies as st

from cbnet.network.transport.send_queue import SendQueue


def filled(*frames, most_lossy=10, most=100):
    waiting = SendQueue(most_lossy, most)
    dropped = [waiting.add(data, is_lossy=is_lossy) for data, is_lossy in frames]
    return waiting, dropped


def test_all_is_taken_in_its_order():
    waiting, dropped = filled((b"a", True), (b"b", False), (b"c", True))
    assert (dropped, waiting.size) == ([0, 0, 0], 3)
    assert (waiting.take(), waiting.size, waiting.take()) == (b"abc", 0, b"")


def test_the_oldest_that_may_be_lost_are_dropped():
    waiting, dropped = filled((b"1" * 6, True), (b"2" * 4, True), (b"3" * 5, True))
    assert dropped == [0, 0, 1]
    assert waiting.take() == b"2" * 4 + b"3" * 5


def test_what_may_not_be_lost_stays_and_keeps_its_place():
    waiting, dropped = filled((b"1" * 4, True), (b"R" * 4, False), (b"2" * 4, True), (b"3" * 4, True))
    assert dropped == [0, 0, 1, 1]  # of 16 bytes the first 4, then the next 4 that may be lost
    assert waiting.take() == b"R" * 4 + b"3" * 4


def test_too_much_that_may_not_be_lost_is_too_much():
    waiting, dropped = filled((b"R" * 99, False), (b"x", True))
    assert dropped == [0, 1]  # there is no room for any message
    assert not waiting.is_too_much
    waiting.add(b"R" * 2, is_lossy=False)
    assert waiting.is_too_much


def test_where_nothing_is_to_be_dropped_it_is_too_much():
    waiting = SendQueue(10, 100)
    waiting.drops = False
    assert waiting.add(b"1" * 10, is_lossy=True) == 0
    assert not waiting.is_too_much
    assert waiting.add(b"2", is_lossy=True) == 0
    assert waiting.is_too_much


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=40))
def test_what_is_dropped_and_what_is_taken_is_all_there_was(sizes):
    frames = [(bytes([n]) * size, is_lossy) for n, (size, is_lossy) in enumerate(sizes)]
    waiting, dropped = filled(*frames, most_lossy=20)
    taken = waiting.take()
    kept = [data for data, _ in frames if data in taken]
    assert taken == b"".join(kept)
    assert all(data in kept for data, is_lossy in frames if not is_lossy)
    assert sum(dropped) == len(frames) - len(kept)
    lossy = [data in kept for data, is_lossy in frames if is_lossy]
    assert lossy == sorted(lossy)  # those that are dropped are older than those that are kept
