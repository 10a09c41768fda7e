"""The frames of a client: what the kernels write and read is what Python encodes and decodes, in any chunks."""

import asyncio
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.deliveries_reference import DeliveryReference
from support.strategies import any_names, any_text, any_values

from cbnet import InputError, Message
from cbnet._kernels.link_output import LinkTraffic
from cbnet._kernels.publish_frame import publish_frame
from cbnet.network.client.client_link import ClientLink
from cbnet.network.client.message_encoding import encode_batch
from cbnet.network.protocol.addresses import parse_addresses
from cbnet.network.protocol.frames import Deliver, Hello, Lost, Ping, Publish, Published
from cbnet.network.protocol.wire import FrameReader, WireError, encode

# --- publishing

flat = st.dictionaries(any_names, any_values | st.none() | st.text(min_size=30, max_size=300), max_size=20)
tags = st.lists(any_text, max_size=20) | st.frozensets(any_text, max_size=20) | st.tuples(any_text)
plain = st.builds(lambda attributes, tags: {**attributes, "#": tags}, flat, tags) | flat
nested = st.recursive(any_values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_names, inner))
messages = plain | st.dictionaries(any_names, nested, max_size=4) | st.builds(Message, flat, tags)
odd_values = st.sampled_from([float("nan"), float("inf"), 2**63, -(2**63) - 1, "\ud800", b"", object(), 1j])
odd_messages = (
    st.dictionaries(any_names, odd_values, min_size=1, max_size=2)
    | st.builds(lambda tags: {"#": tags}, st.sampled_from(["tag", 1, None, [1], ["\ud800"], ["a", 1]]))
    | st.sampled_from([{1: 1}, {"\ud800": 1}, None, "text", [("x", 1)]])
)


def expected_frame(message, payload, number=0, wants_answer=False):
    """Return the frame of a message by its definition."""
    whole = Message.of(message)
    return encode(Publish(number, dict(whole.attributes), sorted(whole.tags), payload, wants_answer))


@given(plain, st.binary(max_size=300), st.integers(0, 2**63 - 1), st.booleans())
def test_plain_message_is_written_as_python_encodes_it(message, payload, number, wants_answer):
    assert publish_frame(number, message, payload, wants_answer) == expected_frame(
        message, payload, number, wants_answer
    )


@given(st.lists(st.tuples(messages, st.binary(max_size=100)), max_size=20), st.booleans())
def test_batch_has_the_frame_of_each_message(pairs, has_payloads):
    payloads = [payload if has_payloads else b"" for _, payload in pairs]
    chunks = encode_batch((message for message, _ in pairs), iter(payloads) if has_payloads else None)
    expected = [expected_frame(message, payload) for (message, _), payload in zip(pairs, payloads, strict=True)]
    assert b"".join(chunk.data for chunk in chunks) == b"".join(expected)
    start = 0
    for chunk in chunks:
        assert chunk.data == b"".join(expected[start : chunk.end])
        start = chunk.end
    assert start == len(expected)


@given(st.lists(messages, max_size=5), odd_messages, st.lists(messages | odd_messages, max_size=5))
def test_error_names_the_first_invalid_message_of_a_batch(before, invalid, after):
    with pytest.raises(InputError) as expected:
        Message.of(invalid)
    with pytest.raises(type(expected.value)) as error:
        encode_batch([*before, invalid, *after], None)
    assert str(error.value) == f"messages[{len(before)}]: {expected.value}"


# --- receiving

HELLO = Hello(low=3, high=3, role="router", name="r1", network="cbnet", incarnation=0, link=0, scheme="psf")
numbers = st.integers(0, 3) | st.integers(0, 2**63 - 1)
deliveries = st.builds(
    Deliver,
    st.lists(st.integers(1, 4), max_size=4),
    st.sampled_from(["r1", "r2", "ä" * 40]),
    st.sampled_from([7, 2**40]),
    numbers,
    flat | st.dictionaries(any_names, nested, max_size=3),
    st.lists(any_text, max_size=5),
    st.binary(max_size=50),
)
others = st.builds(Lost, st.integers(1, 9)) | st.builds(Published, numbers) | st.just(Ping(0))
changes = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), max_size=3)


class Received:
    """The owner of a link, and its connection: records what arrives."""

    is_held = False

    def __init__(self):
        self.reader = FrameReader()
        self.traffic = LinkTraffic()
        self.received_by = defaultdict(list)
        self.frames = []  # other frames, with the number of deliveries before them
        self.reason = None

    def delivered(self, batches):
        for id, batch in batches.items():
            self.received_by[id] += [(each.message, each.payload, each.source, each.id) for each in batch]

    def received(self, frame):
        self.frames.append((frame, sum(map(len, self.received_by.values()))))

    def send(self, frame):
        self.received(Ping(frame.number))

    def close(self, reason):
        self.reason = reason

    def count_received(self, frames):
        pass


async def read_by_link(chunks):
    """Return what a client receives in some chunks."""
    received = Received()
    link = ClientLink(received, HELLO, parse_addresses("127.0.0.1:1"), None)
    for task in link._tasks:
        task.cancel()
    for chunk in chunks:
        if received.reason is None:
            link.received(received, memoryview(chunk))
    return received


def read_by_reference(data):
    """Return what a client receives by the definition: one frame after another."""
    reference, frames, reason = DeliveryReference(), [], None
    try:
        for frame in FrameReader().feed(data):
            if isinstance(frame, Deliver):
                reference.add(frame)
            elif not isinstance(frame, Hello):
                frames.append((frame, sum(map(len, reference.received.values()))))
    except WireError as error:
        reason = error.reason
    return reference.received, frames, reason


def is_handled(frame):
    """Whether a frame concerns the owner of the link, or is answered."""
    return isinstance(frame, Lost | Published | Ping)


@settings(deadline=None)
@given(st.lists(deliveries | others, max_size=12), changes, st.lists(st.integers(0, 2**20), max_size=6))
def test_any_chunks_give_what_the_frame_reader_gives(frames, changes, cuts):
    hello = encode(HELLO)
    data = bytearray(b"".join(map(encode, frames)))
    for place, byte in changes if data else ():
        data[place % len(data)] = byte
    data = hello + bytes(data)
    ends = sorted({cut % len(data) for cut in cuts} | {len(data)})
    chunks = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    received = asyncio.run(read_by_link(chunks))
    expected, others, reason = read_by_reference(data)
    assert received.reason == reason
    assert received.received_by == expected
    assert [each for each in received.frames if is_handled(each[0])] == [each for each in others if is_handled(each[0])]
