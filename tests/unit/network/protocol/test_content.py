"""Nested messages arrive as they were sent; what is not a message, or is too large, is refused."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import any_text, any_values

from cbnet import Message
from cbnet.network.client.message_encoding import encode_publish
from cbnet.network.protocol import frames
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_NAME_CHARACTERS, MAX_VALUES
from cbnet.network.protocol.wire import FrameReader, WireError, encode

HELLO = encode(
    frames.Hello(low=5, high=5, role="router", name="a", network="cbnet", incarnation=0, link=1, scheme="multitree:1")
)
NESTED = st.recursive(
    any_values | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.dictionaries(any_text.filter(lambda name: name != "#"), NESTED, max_size=5)


def received(data):
    reader = FrameReader()
    list(reader.feed(HELLO))
    return list(reader.feed(data))


def raw(attributes):
    body = msgspec.msgpack.encode([22, 1, attributes, [], b"", False])
    return len(body).to_bytes(4) + body


def deep(levels):
    """Return an attribute whose value is in so many arrays and objects: the message itself is the first."""
    value = 1
    for level in range(levels - 1):
        value = [value] if level % 2 else {"a": value}
    return {"x": value}


@given(MESSAGES)
def test_a_nested_message_comes_back_from_its_frame(attributes):
    (frame,) = received(encode_publish(1, attributes, b"p", wants_answer=False))
    assert frame == frames.Publish(1, attributes, [], b"p", False)
    assert Content(frame) == Message(attributes)
    assert Content(frame).leaves == Message(attributes).leaves


def test_a_reader_tells_whether_a_message_was_nested():
    reader = FrameReader()
    list(reader.feed(HELLO + raw({"x": 1, "y": None})))
    assert not reader.has_nested
    list(reader.feed(raw({"x": []})))
    assert reader.has_nested


@pytest.mark.parametrize(
    "frame",
    [
        frames.Publish(1, deep(64), ["t"], b"", False),
        frames.Trace(number=1, attributes=deep(64), tags=[], payload=b"", is_dry=True, predicate="", at=""),
        frames.Packet(
            source="a", incarnation=1, number=1, hops=1, tree=0, side=0, tries=0, attributes=deep(64), tags=[], payload=b""
        ),
        frames.Deliver(subscriptions=[1], source="a", incarnation=1, number=1, attributes=deep(64), tags=[], payload=b""),
        frames.ReplyFrame(
            to="a", hops=1, incarnation=1, number=1, request=b"\x90", attributes=deep(64), tags=[], payload=b"",
            holder="b", cache="", age=0, keep=None, asked=1,
        ),
        frames.PullReply(
            number=1, attributes=deep(64), tags=[], payload=b"", holder="b", cache="", age=0, asked=1, steps=None
        ),
        frames.Answer(1, frames.ItemField(deep(64), [], b"", None)),
    ],
    ids=lambda frame: type(frame).__name__,
)  # fmt: skip
def test_every_frame_with_a_message_is_checked(frame):
    assert received(encode(frame)) == [frame]
    holder = frame.item if isinstance(frame, frames.Answer) else frame
    holder.attributes = deep(65)
    with pytest.raises(WireError, match="x: nested deeper than 64 levels; flatten the message"):
        received(encode(frame))


@pytest.mark.parametrize(
    "value",
    [
        math.nan, math.inf, 2**63, 2**64 - 1, b"bytes", {1: 1}, {None: 1}, {b"a": 1}, [[b""]], [{"a": math.nan}],
        msgspec.msgpack.Ext(5, b"x"),
    ],
)  # fmt: skip
def test_what_is_not_a_value_is_refused_inside_arrays_and_objects(value):
    for attributes in ({"x": value}, {"x": [value]}, {"x": {"y": value}}, {"x": [[1], {"y": [1, value]}]}):
        with pytest.raises(WireError, match="invalid frame"):
            received(raw(attributes))


def test_a_timestamp_of_message_pack_is_refused():
    timestamp = b"\xd6\xff\x00\x00\x00\x00"
    for body in (b"\x96\x16\x01\x81\xa1x" + timestamp, b"\x96\x16\x01\x81\xa1x\x91" + timestamp):
        body += b"\x90\xc4\x00\xc2"
        with pytest.raises(WireError, match="invalid frame"):
            received(len(body).to_bytes(4) + body)


def test_half_of_a_surrogate_pair_is_refused_in_names_and_values():
    for inner in (b"\x91\xa3\xed\xa0\x80", b"\x81\xa3\xed\xa0\x80\x01"):
        body = b"\x96\x16\x01\x81\xa1x" + inner + b"\x90\xc4\x00\xc2"
        with pytest.raises(WireError, match="invalid frame"):
            received(len(body).to_bytes(4) + body)


def test_of_duplicate_keys_the_last_one_counts_in_objects_too():
    body = b"\x96\x16\x01\x81\xa1x\x82\xa1y\x01\xa1y\x02" + b"\x90\xc4\x00\xc2"
    (frame,) = received(len(body).to_bytes(4) + body)
    assert frame.attributes == {"x": {"y": 2}}


@pytest.mark.parametrize("levels", [66, 500, 100_000])
def test_arrays_in_arrays_are_refused_before_they_exhaust_the_stack(levels):
    body = b"\x96\x16\x01\x81\xa1x" + b"\x91" * levels + b"\x01\x90\xc4\x00\xc2"
    with pytest.raises(WireError, match="invalid frame"):
        received(len(body).to_bytes(4) + body)


def test_values_are_counted_at_all_levels():
    half = MAX_VALUES // 2 - 1
    most = {"x": [1] * half, "y": {f"a{n}": 1 for n in range(half)}}
    assert received(raw(most))[0].attributes == most
    with pytest.raises(WireError, match="values of a message: 4,097 is over the limit of 4,096"):
        received(raw({**most, "z": 1}))
    with pytest.raises(WireError, match="invalid frame"):
        received(raw({f"x{n}": 1 for n in range(MAX_VALUES + 1)}))


def test_long_paths_of_many_values_are_refused():
    inner = {f"a{n}": n for n in range(1_000)}
    for _ in range(20):
        inner = {"p" * 500: inner}  # the names of a thousand values have 10,000 characters each
    assert len(raw({"x": inner})) < 30_000
    assert MAX_NAME_CHARACTERS < 1_000 * 10_000
    with pytest.raises(WireError, match="characters in the names of a message"):
        received(raw({"x": inner}))


def test_dots_in_names_count_as_levels_of_nested_messages():
    assert received(raw({"a" + ".a" * 100: 1}))
    assert received(raw({"x": {"a" + ".a" * 62: 1}}))
    with pytest.raises(WireError, match="nested deeper than 64 levels"):
        received(raw({"x": {"a" + ".a" * 63: 1}}))
    with pytest.raises(WireError, match="nested deeper than 64 levels"):
        received(raw({"x": [], "a" + ".a" * 64: 1}))
