"""Filters in records: one form for each filter, and no other."""

import msgspec
import pytest

from cbnet import Filter, parse_filter
from cbnet.errors import InputError
from cbnet.network.protocol.fields import MAX_FILTER_BYTES
from cbnet.network.protocol.filter_codec import canonical_filter, filter_from_bytes, filter_to_bytes
from cbnet.network.protocol.wire import WireError


def packed(*parts):
    return msgspec.msgpack.encode(parts)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("true", packed()),
        ("price < 500 and #upgradeable", packed(["price", 2, 500], "upgradeable")),
        ("b = 1 and a = 2", packed(["a", 0, 2], ["b", 0, 1])),
        ("#b and #a and exists x", packed(["x", 9], "a", "b")),
        ("x = 5.0", packed(["x", 0, 5])),
        ("x != true", packed(["x", 0, False])),
        ("x = 0.5", packed(["x", 0, 0.5])),
        ('s ^= "é"', packed(["s", 6, "é"])),
    ],
)
def test_a_filter_is_written_in_one_form(text, written):
    filter = parse_filter(text)
    assert filter_to_bytes(filter) == written
    assert filter_from_bytes(written) == canonical_filter(filter)


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\xc1",
        packed("b", "a"),  # not in order
        packed("a", "a"),
        packed("a", ["x", 0, 1]),
        packed(["y", 0, 1], ["x", 0, 1]),
        packed(["x", 0, 1], ["x", 0, 1]),
        packed(["x", 0, 5.0]),
        packed(["x", 1, True]),
        packed(["x", 10, 1]),
        packed(["x", -1, 1]),
        packed(["x", True, 1]),
        packed(["x", "=", 1]),
        packed(["x", 0]),
        packed(["x", 9, 1]),
        packed(["x", 0, 1, 2]),
        packed(["x"]),
        packed([1, 0, 1]),
        packed(["#", 0, 1]),
        packed(["x", 2, True]),
        packed(["x", 6, 1]),
        packed(["x", 0, None]),
        packed(["x", 0, float("nan")]),
        b"\x91\x93\xa1x\x00\xca\x3f\x00\x00\x00",  # 0.5 in 32 bits
        b"\xdc\x00\x00",  # an empty array with a length that is too long
        packed([1]),
        packed(1),
        packed() + b"\x00",
    ],
)
def test_anything_else_is_refused(written):
    with pytest.raises(WireError):
        filter_from_bytes(written)


def test_a_filter_of_short_floats_that_would_be_too_long_is_refused():
    shorts = [b"\x93\xa1x\x01\xca" + n.to_bytes(4) for n in range(0x3F000001, 0x3F000001 + 1_800)]
    written = b"\xdc" + len(shorts).to_bytes(2) + b"".join(shorts)
    assert len(written) <= MAX_FILTER_BYTES
    with pytest.raises(WireError):
        filter_from_bytes(written)


def test_filter_too_long_for_a_record_is_refused():
    with pytest.raises(InputError, match="at most 16,384 are allowed"):
        filter_to_bytes(Filter(tags=["x" * MAX_FILTER_BYTES]))
