"""`cbnet bench announcements` at a tiny size, with real router processes."""

import json

import pytest


def run(cbnet, *options):
    outcome = cbnet("bench", "announcements", *options, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.mark.parametrize("trees", ["1", "2", "pif"])
def test_all_populations_are_announced_and_delivered(cbnet, trees):
    rows = run(cbnet, "--topology", "tree:3", "--filters", 20, "--messages", 40, "--trees", trees)
    assert [row["population"] for row in rows] == ["random", "covered", "tags"]
    for row in rows:
        assert (row["routers"], row["links"], row["trees"]) == (3, 2, trees)
        assert row["deliveries"] == row["expected"] > 0
        assert (row["missing"], row["twice"], row["spurious"]) == (0, 0, 0)
        assert 0 < row["held_min"] <= row["held_median"] <= row["held_max"] <= row["distinct"] >= row["flooding_held"]
        assert row["flooding_frames"] == 3 * 2


def test_processes_announce_and_deliver(cbnet):
    (row,) = run(
        cbnet, "--topology", "ring:4", "--filters", 30, "--messages", 50, "--population", "covered", "--trees", "2"
    )
    assert (row["routers"], row["links"]) == (4, 4)
    assert row["deliveries"] == row["expected"] > 0
    assert (row["missing"], row["twice"], row["spurious"]) == (0, 0, 0)
    assert row["seconds"] > 0
    assert row["cpu_s"] >= row["cpu_max_s"] > 0
    assert row["frames"] > 0
    assert row["bytes"] > 0
    assert 10 < row["rss_mb_min"] <= row["rss_mb_median"] <= row["rss_mb_max"]
