"""The kernel that reads JSON lines, against msgspec, a test for repeated names, and the encoder of dicts."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbnet import Constraint, Filter, Predicate
from cbnet._kernels.dict_encoding import DictEncoder
from cbnet._kernels.json_encoding import JsonEncoder
from cbnet.errors import InputError
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.message_files import json_members
from cbnet.matching.storage.columns import columns_of

USED = ("a", "b.c", "b.c.d", "d.d", "", "é", "b.x.y")
RULE = Filter((Constraint(name, "exists") for name in USED), ["t", "ü"])
SYMBOLS = CompiledTable.build(columns_of({"rule": Predicate([RULE])})).symbols
NAMES = ("a", "b", "c", "d", "b.c", "c.d", "x.y", "", "é", "#", "unused")

digits = st.text("0123456789", min_size=1, max_size=22)
numbers = st.one_of(
    st.integers(-(2**66), 2**66).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{}{}.{}".format, st.sampled_from(["", "-"]), st.integers(0, 10**20), digits),
    st.builds("{}e{}{}".format, st.integers(-(10**20), 10**20), st.sampled_from(["", "+", "-"]), st.integers(0, 400)),
    st.sampled_from(["-0", "0.0", "-0.0", "00", "01", "1.", ".5", "-", "+1", "1e", "1e+", "NaN", "Infinity", "0x1"]),
    st.sampled_from(["9223372036854775807", "9223372036854775808", "-9223372036854775808", "1E400", "9007199254740993.0"]),
)  # fmt: skip
escapes = st.sampled_from(
    ["\\n", '\\"', "\\\\", "\\/", "\\b", "\\f", "\\r", "\\t", "\\u0041", "\\u00e9", "\\u20AC", "\\ud83d\\ude00",
     "\\u0000", "\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\x", "\\u12", "\\", "\t", "\x7f", "\x00", "é", "€", "😀"]
)  # fmt: skip
strings = st.lists(st.text("abcdefgh é€😀", max_size=12) | escapes, max_size=3).map(lambda parts: f'"{"".join(parts)}"')
blanks = st.sampled_from(["", "", "", " ", "\t", "  \r", "\n"])
scalars = strings | numbers | st.sampled_from(["true", "false", "null", "True", "nul", ""])
names = st.sampled_from(NAMES).map(json.dumps) | st.sampled_from(NAMES).map('"{}"'.format) | strings


def spaced(values: Any, opening: str, closing: str) -> Any:
    return st.tuples(blanks, st.lists(values, max_size=5), blanks).map(
        lambda parts: f"{opening}{parts[0]}{f',{parts[2]}'.join(parts[1])}{parts[2]}{closing}"
    )


def objects(values: Any) -> Any:
    return spaced(st.builds("{}{}:{}{}".format, names, blanks, blanks, values), "{", "}")


values = st.recursive(scalars, lambda inner: spaced(inner, "[", "]") | objects(inner), max_leaves=8)
tags = spaced(st.sampled_from(['"t"', '"ü"', '"\\u00fc"', '"v"', "1"]), "[", "]").map('"#":{}'.format)
members = st.builds("{}:{}".format, names, values) | tags
messages = spaced(members, "{", "}").map(lambda text: text.encode(errors="surrogatepass"))


@st.composite
def damaged(draw: Any) -> bytes:
    """Return a message from which a few bytes are missing, or have others in their place."""
    text = draw(messages)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    return text[:start] + draw(st.binary(max_size=2) | st.sampled_from([b'"', b"{", b"]", b",", b"\xc3"])) + text[end:]


def twin(line: bytes) -> Any:
    """Return the encoded message, read as objects; None if it is refused."""
    encoder = DictEncoder(SYMBOLS)
    try:
        is_added = encoder.add(json_members(line))
    except InputError:
        return None
    return (encoder.batch.describe(), encoder.batch.has_nested()) if is_added else None


def encoded(line: bytes) -> Any:
    """Return the message that the kernel has encoded; None if it has left it to Python."""
    encoder = JsonEncoder(SYMBOLS)
    is_added = encoder.add_lines([line], 0)
    assert len(encoder.batch) == is_added
    return (encoder.batch.describe(), encoder.batch.has_nested()) if is_added else None


@given(messages | damaged())
@settings(max_examples=1500)
def test_a_line_is_encoded_as_its_dict_or_left_to_python(line):
    assert encoded(line) in (None, twin(line))


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-1e200, 1e200).filter(lambda x: abs(x) > 1e-200)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["a", "b", "unused"]), plain, max_size=4), st.booleans())
@settings(max_examples=300)
def test_usual_messages_are_not_left_to_python(members, is_ascii):
    line = json.dumps(members, ensure_ascii=is_ascii).encode()
    assert encoded(line) == twin(line) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\u0041\n\/\"\\"', b'A\n/"\\'),
        (r'"\ud83d\ude00\u20ac\u00e9\u0000"', "😀€é\0".encode()),
        ("0.1", (0.1, 0)),
        ("123456789012345678.5", (123456789012345678.5, 0)),
        ("9007199254740993", (9007199254740992.0, 1)),
        ("-9007199254740993.0", (-9007199254740992.0, 0)),
        ("-0", (0.0, 0)),
        ("1e22", (1e22, 0)),
        ("1.7976931348623157e200", (1.7976931348623157e200, 0)),
        ("null", None),
        ("true", True),
    ],
)
def test_values(text, value):
    [[[(_, found, _)]], _] = encoded(f'{{"a": {text}}}'.encode())
    assert found == value


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": "\xed\xa0\x80"}', b'{"a": "\xc0\x80"}', b'{"unused": "\xff"}', b'{"\xff": 1}', b'{"unused": "\\ud800"}',
        b'{"a": 1, "a": 1}', b'{"unused": {"x": 1, "x": 1}}', b'{"unused": [{"x": 1, "y": {"x": 1}, "x": 2}]}',
        b'{"a": 1e999}', b'{"unused": 1e999}', b'{"a": 9223372036854775808}', b'{"a": "\n"}', b'{"a": 1} x', b"",
        b'{"a": "', b'{"a": tru', b'{"a": 1', b'{"a": "\\u00', b'{"a": "\\ud83d\\ude', b'{"a": [1,]}', b"[]", b"1",
        b'{"#": ["t", 1]}', b'{"#": "t"}', b'{"unused": ' + b"[" * 64 + b"]" * 64 + b"}",
    ],
)  # fmt: skip
def test_kernel_refuses(line):
    assert encoded(line) is None


def test_texts_of_an_arrow_column_are_encoded_as_lines():
    lines = [b'{"a": 1}', b'{"a": "\\u0041x"}', b'{"b": {"c": [1, {"d": 2}]}}', b"broken", b'{"a": 2.5}']
    column = pa.array([b"before", *lines], pa.binary())[1:]
    _, offsets, data = column.buffers()
    by_texts, by_lines = JsonEncoder(SYMBOLS), JsonEncoder(SYMBOLS)
    assert by_texts.add_texts(offsets.address, data.address, 1, 6, column) == 4
    assert by_lines.add_lines(lines, 0) == 3
    assert by_texts.batch.describe() == by_lines.batch.describe()
