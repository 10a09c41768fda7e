"""CloudEvents are read as the specification says; the cases were written from it alone."""

import json
from pathlib import Path

import pytest

from cbnet.errors import InputError
from cbnet.language.cloud_events import message_from_event, messages_from_batch, messages_from_http

_LINES = (Path(__file__).parent / "dialects" / "cloudevents_events.jsonl").read_text("utf-8").splitlines()
_CASES = [json.loads(line) for line in _LINES]


def _read(case):
    if case["construct"] == "binary":
        (message,) = messages_from_http(case["input"]["headers"], case["input"]["body"].encode())
        return message.to_dict()
    if case["construct"] == "batched":
        return [message.to_dict() for message in messages_from_batch(case["input"])]
    return message_from_event(case["input"]).to_dict()


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["construct"])
def test_events_are_read_as_messages(case):
    if "error" in case:
        with pytest.raises(InputError):
            _read(case)
    else:
        assert _read(case) == case["attributes"]


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/cloudevents+json; charset=utf-8", {"specversion": "1.0", "id": "1", "source": "/", "type": "a"}, ["a"]),
        ("application/cloudevents-batch+json", [{"specversion": "1.0", "id": "1", "source": "/", "type": "b"}] * 2, ["b", "b"]),
    ],
)  # fmt: skip
def test_content_type_decides_the_mode(content_type, body, expected):
    messages = messages_from_http({"Content-Type": content_type}, json.dumps(body).encode())
    assert [message.attributes["type"] for message in messages] == expected


_HEADERS = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/", "ce-type": "a"}


def test_headers_may_be_pairs():
    (message,) = messages_from_http([*_HEADERS.items(), ("Content-Type", "application/json")], b"[1]")
    assert (message.attributes["type"], message.attributes["data"]) == ("a", [1])


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/plain; charset=ISO-8859-1", b"caf\xe9", "café"),
        ('text/plain;charset="utf-16-le"', "né".encode("utf-16-le"), "né"),
        ("text/plain; charset=utf-8", b"caf\xe9", None),
        ("text/plain; charset=unknown", b"cafe", None),
        ("text/plain; charset=hex", b"00", None),
    ],
)
def test_text_is_decoded_with_its_character_set(content_type, body, expected):
    (message,) = messages_from_http({**_HEADERS, "content-type": content_type}, body)
    assert message.attributes.get("data") == expected


def test_bytes_without_a_content_type_are_left_out():
    event = {"specversion": "1.0", "id": "1", "source": "/", "type": "a"}
    assert message_from_event({**event, "data_base64": "AAEC/w=="}).to_dict() == event


@pytest.mark.parametrize("content_type", ["application/cloudevents+avro", "application/cloudevents-batch+xml; x=1"])
def test_other_event_formats_are_refused_by_name(content_type):
    with pytest.raises(
        InputError, match=f"events in {content_type.partition(';')[0]} are not supported".replace("+", ".")
    ):
        messages_from_http({**_HEADERS, "content-type": content_type}, b"")


@pytest.mark.parametrize(
    ("headers", "body"),
    [(None, b""), ({}, "text"), ({}, None), ([("a",)], b""), ([("a", 1)], b""), ({1: "a"}, b""), ("ab", b""), (5, b"")],
)
def test_other_types_are_input_errors(headers, body):
    with pytest.raises(InputError):
        messages_from_http(headers, body)
