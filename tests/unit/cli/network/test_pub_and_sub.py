"""What `cbnet sub --json` prints, `cbnet pub` reads: message, tags and payload, from a file or standard input."""

from types import SimpleNamespace

import pytest

from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.network import Delivery

DELIVERIES = [
    ({"price": 300, "dest": "MXP", "#": ["a b", "é"]}, b"seat 7A"),
    ({}, b""),
    ({"x": -0.5, "big": 2**63 - 1, "yes": True, "none": None, 'q"\n': "\u2028"}, "é\u2028\n".encode()),
    ({"detail": {"state": "on", "list": [1, [2, {"deep": None}], {}]}, "a.b": []}, bytes(range(256))),
    ({"message": {"x": 1}, "payload": "inner", "error": "e"}, b"\xff\x00"),
    ({"error": "e", "line": 1, "column": 2, "hint": "h"}, b""),
]


class RecordingClient:
    """A client that receives given deliveries, and records what it publishes."""

    router, refused, refusal, lost, is_connected = "a", 0, "", 0, True

    def __init__(self):
        self.published = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def subscribe(self, _predicate, **_options):
        subscription = [Delivery(*each, "a", ("a", 1, n)) for n, each in enumerate(DELIVERIES)]
        return type("Subscription", (list,), {"dropped": 0, "lost": 0})(subscription)

    def publish(self, message, payload):
        self.published.append((message.to_dict(), payload))

    def flush(self):
        pass

    def status(self):
        return SimpleNamespace()


@pytest.fixture
def client(monkeypatch):
    client = RecordingClient()
    monkeypatch.setattr(ConnectionOptions, "connect", lambda _: client)
    return client


@pytest.mark.parametrize("way", ["standard input", "-", "file"])
def test_pub_publishes_exactly_what_sub_printed(cbnet, client, tmp_path, way):
    printed = cbnet("sub", "true", "--json", "--count", len(DELIVERIES)).out
    assert printed.count("\n") == len(DELIVERIES)
    (tmp_path / "printed.jsonl").write_text(printed, encoding="utf-8")
    source = {"standard input": [], "-": ["--input", "-"], "file": ["--input", tmp_path / "printed.jsonl"]}[way]
    outcome = cbnet("pub", *source, stdin=b"" if way == "file" else printed.encode())
    assert (outcome.code, outcome.err) == (0, f"published {len(DELIVERIES)} messages at a\n")
    assert client.published == DELIVERIES


def test_a_payload_of_the_command_line_replaces_all(cbnet, client):
    assert cbnet("pub", "--payload", "p", stdin=b'{"x": 1}\n{"message": {"x": 2}, "payload": "q"}\n').code == 0
    assert client.published == [({"x": 1}, b"p"), ({"x": 2}, b"p")]


def test_invalid_lines_of_a_file_are_reported_and_skipped(cbnet, client, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"x": 1}\r\n\n{"x": 1e999}\n{"message": {"y": nan}, "payload": ""}\n{"x": 2}')
    outcome = cbnet("pub", "--input", path)
    assert (outcome.code, [message for message, _ in client.published]) == (2, [{"x": 1}, {"x": 2}])
    first, second, _ = outcome.err.splitlines()
    assert first.startswith(f"error: {path}:3:7: x: infinity is not a value")
    assert second.startswith(f"error: {path}:4:")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--input", "none.jsonl"], "none.jsonl: cannot read: No such file or directory"),
        (["x=1", "--input", "-"], "give either attributes and tags, or --input"),
        (["x=1", "--timeout", "5"], "--timeout needs --durable; add --durable, or leave it out"),
    ],
)
def test_options_of_pub_that_do_not_fit_are_refused(cbnet, client, arguments, problem):
    outcome = cbnet("pub", *arguments)
    assert (outcome.code, outcome.err, client.published) == (2, f"error: {problem}\n", [])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--ack-wait", "30"], "only a durable subscription has --ack-wait; add --durable NAME"),
        (
            ["--max-messages", "0", "--drop-oldest"],
            "only a durable subscription has --max-messages, --drop-oldest; add --durable NAME",
        ),
        (["--max-bytes", "9"], "only a durable subscription has --max-bytes; add --durable NAME"),
        (["--max-age", "9"], "only a durable subscription has --max-age; add --durable NAME"),
        (
            ["--durable", "billing", "--drop-oldest"],
            "--drop-oldest needs a limit; add --max-messages, --max-bytes or --max-age",
        ),
    ],
)
def test_options_of_sub_that_would_have_no_effect_are_refused(cbnet, options, problem):
    outcome = cbnet("sub", "true", *options)
    assert (outcome.code, outcome.err) == (2, f"error: {problem}\n")
