"""`cbnet bench announcements` in memory; tests/network/test_bench_announcements.py runs it with processes."""

import json

import pytest

from cbnet_lab.bench.network.traffic import DeliveryCheck, ExpectedDeliveries

SMALL = ("--topology", "tree:5", "--filters", 20, "--messages", 40, "--memory")


@pytest.mark.parametrize("trees", ["1", "2", "pif"])
def test_all_populations_are_announced_and_delivered(cbnet, trees):
    outcome = cbnet("bench", "announcements", *SMALL, "--trees", trees, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["population"] for row in rows] == ["random", "covered", "tags"]
    for row in rows:
        assert (row["routers"], row["links"], row["trees"]) == (5, 4, trees)
        assert row["deliveries"] == row["expected"] > 0
        assert (row["missing"], row["twice"], row["spurious"]) == (0, 0, 0)
        assert 0 < row["held_min"] <= row["held_median"] <= row["held_max"] <= row["distinct"] >= row["flooding_held"]
        assert row["flooding_frames"] == 5 * 4


def test_announcements_are_shown_to_people(cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "180")
    outcome = cbnet("bench", "announcements", *SMALL, "--population", "tags")
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("a client with 20 filters at each router", "flooding: frames", "2m - n + 1 = 4", "exactly once"):
        assert said in outcome.out


def test_inexact_delivery_is_exit_code_1(cbnet, monkeypatch):
    monkeypatch.setattr(ExpectedDeliveries, "check", lambda *_: DeliveryCheck(10, 9, 1, 0, 0))
    outcome = cbnet("bench", "announcements", *SMALL, "--population", "tags")
    assert outcome.code == 1
    assert "WRONG" in outcome.out
    assert "wrong answers: tags, trees 1: 1 missing, 0 duplicate" in outcome.err
