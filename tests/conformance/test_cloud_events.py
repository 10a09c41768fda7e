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
