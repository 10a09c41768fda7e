"""Frames of the measured servers; those of brokers are written out by hand after their specifications."""

import pytest

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import Close, Deliver, Ping
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.router.wire_formats import FORMATS, FrameShape

CONTENT = b"0123456789"
DELIVERIES = {
    "nats": (b"MSG fares 1 10\r\n", CONTENT + b"\r\n"),
    "redis": (b"*3\r\n$7\r\nmessage\r\n$5\r\nfares\r\n$10\r\n", CONTENT + b"\r\n"),
    "mosquitto": (b"\x30\x11\x00\x05fares", CONTENT),
}


@pytest.mark.parametrize("server", DELIVERIES)
def test_shape_of_a_delivery(server):
    head, rest = DELIVERIES[server]
    shape = FrameShape(len(head + rest), len(head), len(head))
    assert FORMATS[server]("fares").shape(head + rest + head, 10) == shape
    for size in range(len(head + rest)):
        assert FORMATS[server]("fares").shape((head + rest)[:size], 10) is None


@pytest.mark.parametrize("server", DELIVERIES)
def test_other_bytes_are_an_error(server):
    with pytest.raises(CbnetError, match=r"the server sent .*-ERR"):
        FORMATS[server]("fares").shape(b"-ERR 'Slow Consumer'\r\n", 10)


def test_publications():
    assert FORMATS["nats"]("fares").publication(CONTENT) == b"PUB fares 10\r\n0123456789\r\n"
    assert FORMATS["redis"]("fares").publication(CONTENT) == (
        b"*3\r\n$7\r\nPUBLISH\r\n$5\r\nfares\r\n$10\r\n0123456789\r\n"
    )
    assert FORMATS["mosquitto"]("fares").publication(CONTENT) == b"\x30\x11\x00\x05fares0123456789"
    assert FORMATS["mosquitto"]("fares").publication(bytes(200))[:4] == b"\x30\xcf\x01\x00"  # 207 = 0x4f + 1 * 128


def test_a_nats_server_may_ping():
    assert FORMATS["nats"]("fares").shape(b"PING\r\nMSG", 10) == FrameShape(6, 6, None)


@pytest.mark.parametrize(("number", "width"), [(1, 1), (200, 2), (70_000, 5)])
def test_shape_of_a_deliver_frame(number, width):
    payload = b"x" * 10
    frame = encode(Deliver([1], "a", 99, number, {"a": 1}, [], payload))
    content = 4 + 1 + 2 + 10  # {"a": 1}, [], the payload's head, the payload
    start = len(frame) - content
    assert FORMATS["cbnet"]("fares").shape(frame + frame[:3], content) == FrameShape(len(frame), start - width, start)
    assert FORMATS["cbnet"]("fares").shape(frame[:-1], content) is None


def test_a_message_for_another_subscription_is_an_error():
    with pytest.raises(CbnetError, match=r"to the subscriptions \[1, 2\]"):
        FORMATS["cbnet"]("fares").shape(encode(Deliver([1, 2], "a", 99, 1, {}, [], b"")), 4)


def test_control_frames_of_a_router():
    ping = encode(Ping(7))
    assert FORMATS["cbnet"]("fares").shape(ping, 10) == FrameShape(len(ping), len(ping), None)
    with pytest.raises(CbnetError, match=r"the router sent Close: .*too slow"):
        FORMATS["cbnet"]("fares").shape(encode(Close("too slow")), 10)
