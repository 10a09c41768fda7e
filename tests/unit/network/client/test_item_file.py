"""Items stand in JSON Lines, as `cbnet sub --json` prints them."""

import pytest

from cbnet import InputError, Message
from cbnet.errors import FileError
from cbnet.network.client.item_file import first_item, read_items


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
        (b"[1]", "not a JSON object"),
        (b"\xff", "not a JSON object"),
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
