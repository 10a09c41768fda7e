"""Frames queued for a peer that does not read, and frames dropped."""

from hypothesis import given
from hypothesis import strategies as st

from cbnet.network.transport.send_queue import SendQueue


def filled(*frames, max_lossy=10, max_size=100):
    queue = SendQueue(max_lossy, max_size)
    dropped = [queue.add(data, is_lossy=is_lossy) for data, is_lossy in frames]
    return queue, dropped


def test_frames_are_taken_in_order():
    queue, dropped = filled((b"a", True), (b"b", False), (b"c", True))
    assert (dropped, queue.size) == ([0, 0, 0], 3)
    assert (queue.take(), queue.size, queue.take()) == (b"abc", 0, b"")


def test_oldest_lossy_frames_are_dropped():
    queue, dropped = filled((b"1" * 6, True), (b"2" * 4, True), (b"3" * 5, True))
    assert dropped == [0, 0, 1]
    assert queue.take() == b"2" * 4 + b"3" * 5


def test_lossless_frames_are_kept_in_order():
    queue, dropped = filled((b"1" * 4, True), (b"R" * 4, False), (b"2" * 4, True), (b"3" * 4, True))
    assert dropped == [0, 0, 1, 1]  # of 16 bytes the first 4, then the next 4 lossy ones
    assert queue.take() == b"R" * 4 + b"3" * 4


def test_too_many_lossless_bytes_overfill_the_queue():
    queue, dropped = filled((b"R" * 99, False), (b"x", True))
    assert dropped == [0, 1]  # there is no room for any message
    assert not queue.is_overfull
    queue.add(b"R" * 2, is_lossy=False)
    assert queue.is_overfull


def test_queue_that_must_not_drop_is_overfull_instead():
    queue = SendQueue(10, 100)
    queue.drops = False
    assert queue.add(b"1" * 10, is_lossy=True) == 0
    assert not queue.is_overfull
    assert queue.add(b"2", is_lossy=True) == 0
    assert queue.is_overfull


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=40))
def test_every_frame_is_either_dropped_or_taken(sizes):
    frames = [(bytes([n]) * size, is_lossy) for n, (size, is_lossy) in enumerate(sizes)]
    queue, dropped = filled(*frames, max_lossy=20)
    taken = queue.take()
    kept = [data for data, _ in frames if data in taken]
    assert taken == b"".join(kept)
    assert all(data in kept for data, is_lossy in frames if not is_lossy)
    assert sum(dropped) == len(frames) - len(kept)
    lossy = [data in kept for data, is_lossy in frames if is_lossy]
    assert lossy == sorted(lossy)  # dropped frames are older than kept ones
