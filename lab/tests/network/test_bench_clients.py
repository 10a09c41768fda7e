"""`cbnet bench clients` at a tiny size, with real processes."""

import json

from cbnet_lab.bench import client_speed


def test_every_way_is_measured(cbnet):
    outcome = cbnet("bench", "clients", "--messages", 700, "--rounds", 1, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["way"], row["client"]) for row in rows] == client_speed.WAYS
    for row in rows:
        assert row["messages"] == 700
        assert row["rounds_cpu_us_per_message"] == [row["cpu_us_per_message"]]
        assert row["cpu_us_per_message"] > 0
