"""Messages and payloads as text."""

import pytest

from cbnet.errors import InputError
from cbnet.language import Message
from cbnet.network.client.item_file import message_and_payload
from cbnet.network.client.message_text import parse_message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["price=3", "dest=MXP", "#sale"], Message({"price": 3, "dest": "MXP"}, ["sale"])),
        (["price = 3", 'dest = "MXP"', "#sale"], Message({"price": 3, "dest": "MXP"}, ["sale"])),
        (["x= 1.5", " y =true "], Message({"x": 1.5, "y": True})),
        (['"a b" = 1', '"c=d"=2'], Message({"a b": 1, "c=d": 2})),
        (['zip="04001"', "is_open=true", "ratio=0.5", "note=a=b"],
         Message({"zip": "04001", "is_open": True, "ratio": 0.5, "note": "a=b"})),
        (["#tag 7", '#"tag 8"', "#12", "#true"], Message(tags=["tag 7", "tag 8", "12", "true"])),
        (['{"x": 1, "#": ["a b"]}'], Message({"x": 1}, ["a b"])),
        (['{"x": [1, {"y": null}]}'], Message({"x": [1, {"y": None}]})),
        (["x=null", "y=[1, 2.5]", 'z={"a": true}', 't="[1"', "u={}"],
         Message({"x": None, "y": [1, 2.5], "z": {"a": True}, "t": "[1", "u": {}})),
    ],
)  # fmt: skip
def test_words_are_parsed_as_attributes_and_tags(words, message):
    assert parse_message(words) == message


@pytest.mark.parametrize(
    "words",
    [["price"], ["=3"], ["#"], ["x=1", "x=2"], ['{"x": 1e999}'], ["x >= 1"], ["x == 1"], ['x ^= "a"'], ["x!=1"]],
)
def test_other_words_are_refused(words):
    with pytest.raises(InputError):
        parse_message(words)


@pytest.mark.parametrize("text", ['{"a":', "[1", "[draft] é"])
def test_a_value_that_begins_as_json_must_be_json_or_quoted(text):
    with pytest.raises(InputError, match="begins as JSON and is not JSON") as raised:
        parse_message([f"x={text}"])
    remedy = raised.value.hint.partition("x='")[2].removesuffix("'")
    assert parse_message([f"x={remedy}"]) == Message({"x": text})


@pytest.mark.parametrize(
    ("line", "message", "payload"),
    [
        (b'{"x": 1}', Message({"x": 1}), b""),
        (b'{"message": "text"}', Message({"message": "text"}), b""),
        (b'{"message": {"x": 1, "#": ["t"]}, "payload": "a", "source": "r"}', Message({"x": 1}, ["t"]), b"a"),
        (b'{"message": {}, "payload": "/w==", "encoding": "base64"}', Message(), b"\xff"),
        (b'{"message": {"a": {"b": [1, null]}}, "payload": ""}', Message({"a": {"b": [1, None]}}), b""),
        (b'{"message": {"a": 1}, "x": "y"}', Message({"message": {"a": 1}, "x": "y"}), b""),  # no item: no payload
        (b'{"message": "text", "payload": "a"}', Message({"message": "text", "payload": "a"}), b""),
        (b'{"error": "text", "line": 1}', Message({"error": "text", "line": 1}), b""),
    ],
)
def test_a_line_is_a_message_or_an_item(line, message, payload):
    assert message_and_payload(line) == (message, payload)


@pytest.mark.parametrize(
    ("line", "problem", "column"),
    [
        (b"nonsense", "expected a JSON object", 1),
        (b'{"message": {"x": 1}, "payload": "a"', "expected `,` or `}`", 37),
        (b'{"message": {}, "payload": 1}', "the payload is not a string", None),
        (b'{"message": {"x": 1e999}, "payload": "a"}', "x: infinity is not a value", 19),
        ('{"source": "é", "message":  {"x": 1, "x": 2}, "payload": "a"}'.encode(), 'duplicate name "x"', 38),
        (b'{"error": "closed", "line": null, "column": null, "hint": null}', "reported by the sender: closed", None),
    ],
)
def test_other_lines_are_refused_with_their_column(line, problem, column):
    with pytest.raises(InputError) as error:
        message_and_payload(line)
    assert (error.value.problem, error.value.column) == (problem, column)
