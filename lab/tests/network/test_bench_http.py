"""`cbnet bench http` at a small size, with a real router process."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cbnet import Message, parse
from cbnet_lab.bench.network.traffic import expected_deliveries
from cbnet_lab.faults import http_trial
from cbnet_lab.faults.http_trial import KINDS, http_traffic


def brute_force(subscribers, messages, seed):
    """Return the number of deliveries, by brute force."""
    traffic = http_traffic(subscribers, messages, seed)
    contents = [Message.from_dict(content) for content in traffic.contents]
    sent = [contents[number % len(contents)] for number in range(messages)]
    return sum(parse(text).matches(message) for (text,) in traffic.subscribers for message in sent)


@pytest.mark.long
def test_all_subscribers_that_read_get_everything_and_the_other_one_is_closed(cbnet):
    outcome = cbnet("bench", "http", "--streams", 8, "--sockets", 3, "--messages", 2000, "--seed", 7, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    row = json.loads(outcome.out)
    assert row["expected"] == row["right"] == brute_force(8 + 3 - 1, 2000, seed=7) > 0
    assert row["problems"] == []
    assert 25 < row["closed_after_s"] < 60  # 30 s without reading; checked every second
    assert 0 < row["memory_before_mb"] < row["memory_connected_mb"] <= row["memory_peak_mb"]
    assert min(row["cpu_us_per_message"], row["cpu_us_per_delivery"]) > 0
    assert row["health_checks"] > 100
    assert 0 < row["slowest_health_ms"] < 5_000


def test_deliveries_that_differ_from_the_expected_ones_are_an_error(cbnet, monkeypatch):
    record = http_trial.HttpRecord

    class Everywhere(record):
        """Expect all messages everywhere: each other subscriber misses them."""

        def __init__(self, traffic):
            super().__init__(replace(traffic, subscribers=[["true"]] * len(traffic.subscribers)))

    monkeypatch.setattr(http_trial, "HttpRecord", Everywhere)
    monkeypatch.setattr(http_trial, "_QUIET", 0.5)
    monkeypatch.setattr(http_trial, "CLOSED_WITHIN", 0.5)
    outcome = cbnet("bench", "http", "--streams", 9, "--sockets", 2, "--messages", 20)
    assert outcome.code == 1
    assert f"{10 * 20 - brute_force(10, 20, 0)} deliveries missing; the client that never reads" in outcome.err
    assert "connected, not closed" in outcome.err
    assert "deliveries expected" in outcome.out


def test_every_kind_of_predicate_matches_some_messages_and_not_all():
    traffic = http_traffic(10 * len(KINDS), 500, seed=1)
    shares = expected_deliveries(traffic).counts.mean(axis=0).reshape(10, len(KINDS)).mean(axis=0)
    assert np.all((shares > 0.005) & (shares < 0.3))
