import json

import pytest

from cbnet_lab.bench import acknowledged_publishing

SMALL = ("--messages", 300, "--window", 50, "--rounds", 1, "--probes", 5)


def test_acknowledged_publishing_is_measured_and_checked(cbnet):
    outcome = cbnet("bench", "durable", *SMALL, "--json")
    assert outcome.code == 0
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    routers = [(row["servers"], row["is_acknowledged"]) for row in rows if row["name"].startswith("cbnet")]
    assert routers == [(1, False), (1, True), (3, False), (3, True)]
    assert [row["name"] for row in rows[4:]] == ["nats, 1 server", "JetStream, 1 server"]
    for row in rows:
        assert row["messages_per_s"] > 0
        assert 0 < row["p50_ms"] <= row["p99_ms"]
        assert (row["messages"], row["problem"]) == (305, None)


@pytest.mark.parametrize(
    ("name", "rival"), [("_stored", "cbnet, 1 router"), ("stored_in_stream", "JetStream, 1 server")]
)
def test_missing_messages_are_an_error(cbnet, monkeypatch, name, rival):
    monkeypatch.setattr(acknowledged_publishing, name, lambda _, count: list(range(1, count)))
    outcome = cbnet("bench", "durable", *SMALL)
    assert outcome.code == 1
    assert f"{rival}: 304 of 305 messages stored" in outcome.err
    assert "messages" in outcome.out
