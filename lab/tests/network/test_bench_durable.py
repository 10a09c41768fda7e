import json

import pytest

from cbnet_lab.bench import acknowledged_publishing

SMALL = ("--messages", 300, "--window", 50, "--rounds", 1, "--probes", 5, "--subscriptions", "1,3")


def test_acknowledged_publishing_is_measured_and_checked(cbnet):
    outcome = cbnet("bench", "durable", *SMALL, "--json")
    assert outcome.code == 0
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["name"], row["subscriptions"]) for row in rows] == [
        ("cbnet, 1 router", 1),
        ("cbnet, 1 router", 3),
        ("cbnet, 3 routers", 1),
        ("cbnet, 1 router, PostgreSQL", 1),
        ("JetStream, 1 server", 1),
        ("JetStream, 1 server, synced", 1),
    ]
    for row in rows:
        assert row["messages_per_s"] > 0
        assert 0 < row["p50_ms"] <= row["p99_ms"]
        assert (row["messages"], row["problem"]) == (305, None)
        assert row["read_us_per_message"] > 0


@pytest.mark.parametrize(
    ("name", "rival"), [("_stored", "cbnet, 1 router"), ("stored_in_stream", "JetStream, 1 server")]
)
def test_missing_messages_are_an_error(cbnet, monkeypatch, name, rival):
    monkeypatch.setattr(acknowledged_publishing, name, lambda _, count: list(range(1, count)))
    outcome = cbnet("bench", "durable", *SMALL)
    assert outcome.code == 1
    assert f"{rival}: 304 of 305 messages stored" in outcome.err
    assert "messages" in outcome.out
