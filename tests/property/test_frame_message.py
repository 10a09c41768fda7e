"""Messages read from the bytes of frames: what the kernel reads is what Python decodes, byte for byte."""

import struct

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import any_names, any_text, any_values

from cbnet._kernels.frame_message import read_plain, read_plain_number
from cbnet.language import Message
from cbnet.network.protocol.fields import MAX_PAYLOAD_BYTES, MAX_TAGS, Attributes, Number, Payload, Tags
from cbnet.network.security.rights import text_length


class _Fields(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    attributes: Attributes
    tags: Tags
    payload: Payload


_decoder = msgspec.msgpack.Decoder(_Fields)
_ARRAY_OF_3 = b"\x93"

plain_fields = st.builds(
    _Fields,
    st.dictionaries(any_names, any_values | st.none() | st.text(min_size=30, max_size=300), max_size=20),
    st.lists(any_text, unique=True, max_size=20),
    st.binary(max_size=300),
)


def encoded(attributes=None, tags=(), payload=b""):
    """Return the bytes of attributes, tags and payload, as they lie in a frame."""
    return msgspec.msgpack.encode([attributes or {}, tags, payload])[1:]


def decoded(data):
    """Return the fields that Python decodes, or None."""
    try:
        return _decoder.decode(_ARRAY_OF_3 + data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


@given(plain_fields)
def test_every_plain_message_is_read(fields):
    data = encoded(fields.attributes, fields.tags, fields.payload)
    characters = text_length(Message(fields.attributes, fields.tags))
    assert read_plain(data + b"more") == (fields.attributes, fields.tags, characters, len(data))


def is_read_as_python_does(data):
    """Return whether the bytes were read; fail unless Python decodes the same, and encodes it to the same bytes."""
    read = read_plain(data)
    if read is None:
        return False
    attributes, tags, characters, length = read
    fields = decoded(data[:length])
    assert (fields.attributes, fields.tags) == (attributes, tags)
    assert characters == text_length(Message(attributes, tags))
    assert encoded(fields.attributes, fields.tags, fields.payload) == data[:length]
    return True


@given(plain_fields, st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), min_size=1, max_size=4), st.data())
def test_damaged_bytes_are_read_as_python_reads_them_or_not_at_all(fields, changes, data):
    damaged = bytearray(encoded(fields.attributes, fields.tags, fields.payload))
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    del damaged[data.draw(st.integers(0, len(damaged))) :]
    is_read_as_python_does(bytes(damaged))


@given(st.binary(max_size=60))
def test_random_bytes_are_read_as_python_reads_them_or_not_at_all(data):
    is_read_as_python_does(b"\x81" + data)


@given(plain_fields)
def test_a_message_that_is_cut_off_is_not_read(fields):
    data = encoded(fields.attributes, fields.tags, fields.payload)
    assert not any(read_plain(data[:length]) for length in range(len(data)))


def _with_value(value):
    return b"\x81\xa1x" + value + b"\x90\xc4\x00"


NOT_PLAIN = {
    "nested object": encoded({"x": {"y": 1}}),
    "nested array": encoded({"x": [1]}),
    "bytes as a value": encoded({"x": b"1"}),
    "extension": _with_value(b"\xd4\x01\x00"),
    "reserved name": encoded({"#": 1}),
    "repeated name": b"\x82\xa1x\x01\xa1x\x02\x90\xc4\x00",
    "repeated tag": encoded(tags=["a", "b", "a"]),
    "257 attributes": encoded({str(i): i for i in range(257)}),
    "too many tags": encoded(tags=[str(i) for i in range(MAX_TAGS + 1)]),
    "too long a payload": encoded(payload=bytes(MAX_PAYLOAD_BYTES + 1)),
    "a text as payload": b"\x80\x90\xa0",
    "not a number": _with_value(b"\xcb" + struct.pack(">d", float("nan"))),
    "infinity": _with_value(b"\xcb" + struct.pack(">d", float("inf"))),
    "float of 32 bits": _with_value(b"\xca" + struct.pack(">f", 1.5)),
    "int beyond 64 bits": _with_value(b"\xcf" + (2**63).to_bytes(8)),
    "int in a long form": _with_value(b"\xcd\x00\x05"),
    "positive int in a signed form": _with_value(b"\xd1\x01\x05"),
    "negative int in a long form": _with_value(b"\xd0\xff"),
    "text in a long form": _with_value(b"\xd9\x01a"),
    "map in a long form": b"\xde\x00\x00\x90\xc4\x00",
    "payload in a long form": b"\x80\x90\xc5\x00\x01a",
    "surrogate": _with_value(b"\xa3\xed\xa0\x80"),
    "UTF-8 in a long form": _with_value(b"\xa2\xc0\x80"),
    "name that is not a text": b"\x81\x01\x01\x90\xc4\x00",
}


@pytest.mark.parametrize("data", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_a_message_that_is_not_plain_is_left_to_python(data):
    assert read_plain(data) is None


def test_the_largest_plain_message_is_read():
    attributes = {f"name {i}": i for i in range(256)}
    tags = [f"tag {i}" for i in range(MAX_TAGS)]
    assert is_read_as_python_does(encoded(attributes, tags, bytes(MAX_PAYLOAD_BYTES)))


@pytest.mark.parametrize("repeated", [0, 20, 254])
def test_a_name_repeated_among_many_is_left_to_python(repeated):
    names = [str(i) for i in range(255)]
    pairs = b"".join(msgspec.msgpack.encode(name) + b"\x01" for name in [*names, names[repeated]])
    assert read_plain(b"\xde\x01\x00" + pairs + b"\x90\xc4\x00") is None


@given(st.binary(min_size=1, max_size=9))
@example(b"\xcf" + (2**63 - 1).to_bytes(8))
def test_a_number_is_read_as_python_reads_it(data):
    try:
        number = msgspec.msgpack.decode(data, type=Number)
    except msgspec.DecodeError:
        number = None
    read = read_plain_number(data)
    if number is not None and msgspec.msgpack.encode(number) == data:
        assert read == number
    elif read is not None:
        assert msgspec.msgpack.encode(read) == data[: len(msgspec.msgpack.encode(read))]
