"""Messages and payloads as text, and items in JSON Lines, as `cbnet sub --json` prints them."""

import pytest

from cbnet.cli.network.message_text import first_item, message_line, parse_message, read_items
from cbnet.errors import FileError, InputError
from cbnet.language import Message
from cbnet.network.client.message_json import message_and_payload


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
        (b'{"message": {"x": 1e999}, "payload": "a"}', "message.x: infinity is not a value", 19),
        ('{"source": "é", "message":  {"x": 1, "x": 2}, "payload": "a"}'.encode(), 'duplicate name "x"', 38),
        (b'{"error": "closed", "line": null, "column": null, "hint": null}', "reported by the sender: closed", None),
    ],
)
def test_other_lines_are_refused_with_their_column(line, problem, column):
    with pytest.raises(InputError) as error:
        message_and_payload(line)
    assert (error.value.problem, error.value.column) == (problem, column)


def written(tmp_path, *lines):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"\n".join(lines))
    return path


def test_items_are_read_with_their_payloads(tmp_path):
    path = written(
        tmp_path,
        b'\xef\xbb\xbf{"message": {"a": 1, "#": ["t"]}, "payload": "\xc3\xa9", "source": "r1"}',
        b"",
        b'{"message": {}, "payload": "/w==", "encoding": "base64", "keep": 1.5}\r',
        b'{"message": {"b": true}}',
    )
    first, second, third = read_items(path)
    assert (first.message, first.payload, first.keep) == (Message({"a": 1}, ["t"]), "é".encode(), None)
    assert (second.message, second.payload, second.keep) == (Message(), b"\xff", 1.5)
    assert (third.message, third.payload) == (Message({"b": True}), b"")


def test_the_first_item_that_a_request_asks_for_is_the_reply(tmp_path):
    lines = (b'{"message": {"a": 1}}', b'{"message": {"a": 1, "b": 2}}', b'{"message": {"a": 1, "b": 2, "#": ["t"]}}')
    items = read_items(written(tmp_path, *lines))
    assert first_item(items, Message({"a": 1})) is items[0]
    assert first_item(items, Message({"b": 2.0})) is items[1]
    assert first_item(items, Message({}, ["t"])) is items[2]
    assert first_item(items, Message({"a": True})) is None


def test_items_and_requests_may_be_nested(tmp_path):
    items = read_items(
        written(tmp_path, b'{"message": {"d": {"s": ["off", "on"], "n": null}}}', b'{"message": {"d": {}}}')
    )
    assert first_item(items, Message({"d": {"s": "on", "n": None}})) is items[0]
    assert first_item(items, Message({"d.s": "off"})) is items[0]
    assert first_item(items, Message({"d": {"n": 0}})) is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[1]", "expected a JSON object"),
        (b"\xff", "not UTF-8"),
        (b'{"payload": "x"}', "the item has no message"),
        (b'{"message": {"a": 1e999}}', "a: infinity is not a value"),
        (b'{"message": {}, "payload": 1}', "the payload is not a string"),
        (b'{"message": {}, "encoding": "rot13"}', "the payload is not a string"),
        (b'{"message": {}, "payload": "?", "encoding": "base64"}', "the payload cannot be decoded"),
        (b'{"message": {}, "keep": -1}', "keep must be a number of seconds, not -1"),
        (b'{"message": {}, "keep": true}', "keep must be a number of seconds, not True"),
    ],
)
def test_every_mistake_is_told_with_its_line(tmp_path, line, problem):
    with pytest.raises(FileError) as raised:
        read_items(written(tmp_path, b'{"message": {}}', line))
    (mistake,) = raised.value.errors
    assert mistake.line == 2
    assert problem in str(mistake)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_items(tmp_path / "none")


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        (b"seat 7A", "seat 7A"),
        ("Zürich → 東京".encode(), "Zürich → 東京"),
        (b"done\nx = 2  forged", r"done\nx = 2  forged"),
        (b"\x1b]0;title\x07\x1b[2Kforged\r", r"\x1b]0;title\x07\x1b[2Kforged\r"),
        ("a\u202eb\x9bc\u2028d".encode(), r"a\u202eb\x9bc\u2028d"),
    ],
)
def test_a_message_is_one_line_whatever_its_payload(payload, shown):
    assert message_line({"x": 1}, payload) == f"x = 1  {shown}"


def test_names_and_values_of_a_message_cannot_forge_output():
    line = message_line({"a\x1b[2K": "b\nc", "#": ["t\x9b"]}, b"")
    assert line.isprintable()
