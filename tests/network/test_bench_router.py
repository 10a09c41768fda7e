"""`cbnet bench router` at a tiny size, with a real router process and load generators."""

import json

import pytest


def test_a_router_alone(cbnet):
    options = ("--servers", "cbnet", "--filters", "1,300", "--messages", 1000, "--rounds", 1)
    outcome = cbnet("bench", "router", *options, "--cases", "fanout-10,publishers-20", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["case"], row["filters"]) for row in rows] == [
        ("fanout-10", 1),
        ("fanout-10", 300),
        ("publishers-20", 1),
        ("publishers-20", 300),
    ]
    for row in rows:
        assert row["deliveries"] == row["subscribers"] * row["messages"] == row["subscribers"] * 1000
        assert row["cpu_us_per_message"] > row["cpu_us_per_delivery"] / 2 > 0
        assert row["messages_per_s"] > 0
        assert row["problem"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cases", "fanout-7"), "unknown case 'fanout-7'"),
        (("--servers", "kafka"), "unknown server 'kafka'"),
        (("--filters", "many"), "--filters: 'many' is not a number"),
    ],
)
def test_bad_options(cbnet, options, message):
    outcome = cbnet("bench", "router", *options)
    assert outcome.code == 2
    assert message in outcome.err
