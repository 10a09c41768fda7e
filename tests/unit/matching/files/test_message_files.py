import json
from io import BytesIO
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbnet import Constraint, Filter, Message, Table
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.message_files import read_encoded, read_messages
from cbnet.matching.storage.columns import columns_of


def test_a_bad_line_of_messages_does_not_stop_the_rest():
    lines = [b'\xef\xbb\xbf{"x": 1}\r\n', b"\n", b'{"x": \xff}\n', b"nonsense\n", b'{"x": 2}']
    rows = list(read_messages(lines))
    assert [number for number, _ in rows] == [1, 3, 4, 5]
    assert (rows[0][1], rows[3][1]) == (Message({"x": 1}), Message({"x": 2}))
    assert [(error.line, error.column) for _, error in rows[1:3]] == [(3, 7), (4, 1)]


@pytest.mark.parametrize(
    ("line", "command"), [(b"{\n", "jq -c ."), (b'[{"x": 1}]\n', "jq -c '.[]'"), (b"[\n", "jq -c '.[]'")]
)
def test_object_of_several_lines_or_array_has_a_remedy(line, command):
    ((_, error),) = read_messages([line])
    assert f"`{command}`" in error.hint


USED = ("a", "b", "c:d", "")
SYMBOLS = CompiledTable.build(
    columns_of({1: Filter(Constraint(name, "exists") for name in USED) | Filter((), ["t"])})
).symbols

pieces = st.sampled_from(
    [b"{", b"}", b"[", b"]", b":", b",", b'"', b"a", b'"a"', b'"b"', b'"#"', b'"a": 1', b'"b": "x:y"', b'"#": ["t"]',
     b"1", b"-0", b"0.5", b"1e5", b"1e999", b"NaN", b"null", b"true", b'"\\ud800"', b'"\\udc00"', b'"\\ud83d\\ude00"',
     b'"\xff"', b'"\xed\xa0\x80"', b'"\xc3\xa9"', b"\x00", b'"\x1f"', b"\xef\xbb\xbf", b"\xc2\xa0", b"\t", b"\r", b" ",
     b"\n", b"9223372036854775807", b"9223372036854775808", b"01", b"1.", b"+1", b'"\\x"', b'""', b"-", b'{"a": 1}\n']
)  # fmt: skip
values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(max_size=2), max_size=2)
objects = st.dictionaries(st.sampled_from(["a", "b", "#", "c:d", ""]) | st.text(max_size=2), values, max_size=3)
lines = objects.map(lambda members: json.dumps(members).encode() + b"\n")


def is_valid_where_used(line, number):
    """Return whether a line is a message if the values of unused attributes are left out."""
    try:
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        members = msgspec.json.decode(line, type=dict[str, Any])
        json.loads(line, object_pairs_hook=lambda pairs: {} if len(dict(pairs)) == len(pairs) else {}["repeated"])
        Message.of({name: value for name, value in members.items() if name in (*USED, "#")})
    except (ValueError, msgspec.MsgspecError, KeyError):
        return False
    return True


def outcomes(read):
    """Return the lines of a stream by read_encoded: number, and True for a message or the text of the error."""
    return [
        (number, str(outcome) if isinstance(outcome, Exception) else True)
        for encoded in read_encoded(read, SYMBOLS)
        for number, outcome in zip(encoded.numbers, encoded.outcomes, strict=True)
    ]


@given(st.lists(pieces | lines, max_size=9).map(b"".join), st.integers(1, 20))
@settings(max_examples=250)
def test_read_encoded_agrees_with_read_messages(stream, step):
    lines = [line + b"\n" for line in stream.split(b"\n")]
    expected = [
        (
            number,
            True if isinstance(message, Message) or is_valid_where_used(lines[number - 1], number) else str(message),
        )
        for number, message in read_messages(lines)
    ]
    at = 0

    def read(_):
        nonlocal at
        at += step
        return stream[at - step : at]

    assert outcomes(read) == expected


@pytest.mark.parametrize(
    ("line", "is_valid"),
    [
        ('{"a": {"b": 1, "c": "x:y"}, "d": [{"e": "\\":"}]}', True),
        ('{"a": {"b": 1, "b": 2}}', False),
        ('{"a": {"b": 1, "b" : 2}}', False),
        ('{"a": [{"b": 1, "b": 2, "t": "12:30"}]}', False),
        ('{"a" : {"b"\t: 1}}', True),
        ('{"a": "\\":", "b": {"c": 1, "c": 2}}', False),
    ],
)
def test_repeated_names_are_found_in_nested_objects(line, is_valid):
    table = Table.build({"x": "exists a.b or exists a"})
    (lines,) = read_encoded(BytesIO(line.encode()).read, table._compiled.symbols)
    assert isinstance(lines.outcomes[0], int) == is_valid
