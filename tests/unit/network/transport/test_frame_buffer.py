"""Frames for a peer: written in each turn, queued while it does not read, and dropped when there are too many."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.send_queue_reference import SendQueue

from cbnet._kernels.link_output import FrameBuffer, LinkTraffic
from cbnet.network.protocol.frames import (
    FRAMES,
    Deliver,
    NoItem,
    Packet,
    Published,
    ReplyFrame,
    Request,
    TraceReport,
    frame_number,
)

LOSSY = {Packet, Deliver, TraceReport, Request, ReplyFrame, NoItem}
DELIVER, PUBLISHED = frame_number(Deliver), frame_number(Published)


def frame(size, number=DELIVER, fill=0):
    """Return a frame of some bytes, at least six."""
    body = bytes([0x92, number]) + bytes([fill]) * (size - 6)
    return len(body).to_bytes(4) + body


def paused(max_lossy, max_size=1000):
    buffer = FrameBuffer(max_lossy, max_size)
    buffer.pause()
    return buffer


def test_ready_frames_are_taken_in_order():
    buffer = FrameBuffer(10, 10)
    one, other = frame(20, fill=1), frame(5000, fill=2)
    buffer.add(one)
    buffer.add_body(other[4:])
    assert (buffer.ready, buffer.size) == (5020, 0)
    assert (buffer.take(), buffer.ready, buffer.take()) == (one + other, 0, b"")
    buffer.add(one)
    assert buffer.take() == one


def test_queued_frames_follow_ready_ones():
    buffer = FrameBuffer(1000, 1000)
    buffer.add(frame(10, fill=1))
    buffer.pause()
    buffer.add(frame(10, fill=2))
    assert (buffer.ready, buffer.size, buffer.traffic.waiting, buffer.is_paused) == (10, 10, 10, True)
    assert buffer.resume() == frame(10, fill=1) + frame(10, fill=2)
    assert (buffer.ready, buffer.size, buffer.traffic.waiting, buffer.is_paused) == (0, 0, 0, False)


def test_oldest_lossy_frames_are_dropped_and_counted():
    buffer = paused(30)
    for fill in range(5):
        buffer.add(frame(10, fill=fill))
    assert (buffer.take_dropped(), buffer.take_dropped(), buffer.traffic.dropped) == (2, 0, 2)
    assert buffer.resume() == b"".join(frame(10, fill=fill) for fill in (2, 3, 4))


def test_queue_that_must_not_drop_is_overfull_instead():
    buffer = paused(30)
    buffer.drops = False
    buffer.add(frame(30))
    assert not buffer.is_overfull
    buffer.add(frame(6))
    assert buffer.is_overfull
    assert buffer.take_dropped() == 0


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_with_messages_and_reports_are_lossy(kind):
    buffer = paused(0)
    buffer.add(frame(10, frame_number(kind)))
    assert buffer.take_dropped() == (kind in LOSSY)


@given(
    st.lists(st.tuples(st.integers(6, 60), st.booleans()), max_size=60),
    st.integers(0, 300), st.integers(0, 600), st.booleans(),
)  # fmt: skip
def test_like_the_reference(frames, max_lossy, max_size, drops):
    buffer, queue = paused(max_lossy, max_size), SendQueue(max_lossy, max_size)
    buffer.drops = queue.drops = drops
    for fill, (size, is_lossy) in enumerate(frames):
        data = frame(size, DELIVER if is_lossy else PUBLISHED, fill)
        buffer.add(data)
        assert buffer.take_dropped() == queue.add(data, is_lossy=is_lossy)
        assert (buffer.size, buffer.is_overfull) == (queue.size, queue.is_overfull)
    assert buffer.resume() == queue.take()


def test_memory_is_bounded_and_given_back():
    random = Random(1)
    buffer = paused(1 << 20, 1 << 22)
    for n in range(20_000):
        number = PUBLISHED if n % 100 == 0 else frame_number(Packet)
        buffer.add(frame(random.choice((6, 100, 1_000, 30_000)), number))
        assert buffer.allocated < 2 * buffer.size + (1 << 17)
    assert buffer.size <= 1 << 21
    buffer.resume()
    assert (buffer.size, buffer.allocated) == (0, 0)


def test_traffic_is_compared_by_value():
    assert LinkTraffic(1, messages_sent=2) == LinkTraffic(1, 0, 0, 0, 0, 2)
    assert LinkTraffic(1) != LinkTraffic(2)
    assert repr(LinkTraffic(1)) == "LinkTraffic(1, 0, 0, 0, 0, 0)"
