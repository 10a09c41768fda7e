"""Messages are validated by the client that publishes them."""

import math
from datetime import date
from decimal import Decimal

import pytest

from cbnet import InputError, Message
from cbnet.errors import LimitError
from cbnet.network.client.message_encoding import encode_batch, encode_publish
from cbnet.network.protocol.fields import MAX_PAYLOAD_BYTES, MAX_TAGS, MAX_VALUES
from cbnet.network.protocol.frames import Hello, Publish
from cbnet.network.protocol.wire import FrameReader, encode

CLIENT = Hello(low=5, high=5, role="client", name="c", network="cbnet", incarnation=0, link=0, scheme="")


def frame(message, payload=b""):
    reader = FrameReader()
    list(reader.feed(encode(CLIENT)))
    (read,) = reader.feed(encode_publish(7, message, payload, wants_answer=True))
    return read


@pytest.mark.parametrize(
    ("message", "attributes", "tags"),
    [
        ({}, {}, []),
        ({"x": 1, "y": -2.5, "s": "é", "b": True}, {"x": 1, "y": -2.5, "s": "é", "b": True}, []),
        ({"x": 1, "#": ["b", "a", "b"]}, {"x": 1}, ["a", "b"]),
        ({"x": None}, {"x": None}, []),
        ({"d": {"s": "on", "n": (1, None)}, "#": ["t"]}, {"d": {"s": "on", "n": [1, None]}}, ["t"]),
        ({"at": [date(2026, 11, 15)]}, {"at": ["2026-11-15T00:00:00.000000000Z"]}, []),
        ({"at": date(2026, 11, 15)}, {"at": "2026-11-15T00:00:00.000000000Z"}, []),
        ({"d": {"n": Decimal("2.0")}}, {"d": {"n": 2}}, []),
        (Message({"x": 1}, ["t"]), {"x": 1}, ["t"]),
    ],
)
def test_message_is_encoded_in_a_frame(message, attributes, tags):
    assert frame(message, b"p") == Publish(7, attributes, tags, b"p", True)


def test_encoding_keeps_the_types_of_values():
    assert [type(value) for value in frame({"b": True, "f": 1.0, "i": 1}).attributes.values()] == [bool, float, int]


@pytest.mark.parametrize(
    "message",
    [
        {"x": [math.nan]}, {"x": {"y": b""}}, {"x": {1: 1}}, {"x": math.nan}, {"x": math.inf}, {"x": 2**63}, {"x": "\ud800"}, {"\ud800": 1}, {1: 1},
        {"x": b"bytes"}, {"#": "tag"}, {"#": [1]}, {"#": ["\ud800"]}, "text", None, [("x", 1)],
    ],
)  # fmt: skip
def test_invalid_message_is_an_input_error(message):
    with pytest.raises(InputError):
        encode_publish(1, message, b"", wants_answer=False)


@pytest.mark.parametrize(
    ("message", "payload"),
    [
        ({f"x{n}": n for n in range(MAX_VALUES + 1)}, b""),
        ({"#": [f"t{n}" for n in range(MAX_TAGS + 1)]}, b""),
        ({"x": [1] * MAX_VALUES}, b""),
        ({"p" * 1_000: {"q" * 1_000: {f"x{n}": n for n in range(1_000)}}}, b""),
        ({}, bytes(MAX_PAYLOAD_BYTES + 1)),
        ({"x": "x" * (1 << 20)}, b""),
    ],
)
def test_message_too_large_for_a_frame_is_a_limit_error(message, payload):
    with pytest.raises(LimitError):
        encode_publish(1, message, payload, wants_answer=False)


def test_payload_must_be_bytes():
    assert frame({}, bytearray(b"p")).payload == b"p"
    with pytest.raises(InputError, match="must be bytes"):
        encode_publish(1, {}, "text", wants_answer=False)


def test_batch_needs_a_payload_for_each_message_or_none():
    with pytest.raises(InputError, match="1 payloads for 2 messages"):
        encode_batch([{}, {}], [b""])


def test_invalid_payload_of_a_batch_is_named_by_its_index():
    with pytest.raises(InputError, match=r"messages\[1\]: the payload must be bytes"):
        encode_batch([{}, {}], [b"", "text"])


def test_batch_is_cut_into_chunks_of_some_64_kib():
    chunks = encode_batch([{"x": 1}] * 10, [bytes(20_000)] * 10)
    assert [chunk.end for chunk in chunks] == [4, 8, 10]
    assert encode_batch([], []) == []
