"""`cbnet bench announcements` at a tiny size, with real router processes."""

import json


def test_processes_announce_and_deliver(cbnet):
    options = ("--topology", "ring:4", "--filters", 30, "--messages", 50, "--population", "covered", "--trees", "2")
    outcome = cbnet("bench", "announcements", *options, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    row = json.loads(outcome.out)
    assert (row["routers"], row["links"], row["memory"], row["simulated_s"]) == (4, 4, False, None)
    assert row["deliveries"] == row["expected"] > 0
    assert (row["missing"], row["twice"], row["spurious"]) == (0, 0, 0)
    assert row["seconds"] > 0
    assert row["cpu_s"] >= row["cpu_max_s"] > 0
    assert row["frames"] > 0
    assert row["bytes"] > 0
    assert 10 < row["rss_mb_min"] <= row["rss_mb_median"] <= row["rss_mb_max"]
