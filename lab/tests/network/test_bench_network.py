"""`cbnet bench network` at a tiny size, with real router and client processes."""

import json

import pytest

import cbnet_lab.bench.network.throughput as bench
import cbnet_lab.faults.failures as failures
from cbnet import Message, parse
from cbnet_lab.bench.network.traffic import DeliveryCheck, ExpectedDeliveries
from cbnet_lab.bench.plans import NetworkBenchPlan

SMALL = ("--messages", 300, "--subscribers", 6, "--filters", 30, "--processes", 2, "--payload-bytes", 32)


def rows(outcome):
    assert (outcome.code, outcome.err) == (0, ""), outcome.out
    return [json.loads(line) for line in outcome.out.splitlines()]


def deliveries(plan, first, count):
    """Return the number of deliveries of `count` messages, by brute force."""
    traffic = bench.traffic_of(plan)
    predicates = [parse(text) for own in traffic.subscribers for text in own]
    contents = [Message.from_dict(content) for content in traffic.contents]
    sent = [contents[number % len(contents)] for number in range(first, first + count)]
    return sum(each.matches(message) for message in sent for each in predicates)


@pytest.mark.parametrize("predicates", ["2002", "equality"])
def test_two_routers_deliver_exactly_as_brute_force(cbnet, predicates):
    told = rows(cbnet("bench", "network", *SMALL, "--topology", "tree:2", "--mix", predicates, "--json"))
    assert [row["run"] for row in told] == ["full speed", "at a rate"]
    plan = NetworkBenchPlan(subscribers=6, filters=30, mix=predicates)
    expected = deliveries(plan, bench._WARM, 300)
    full, paced = told
    assert (full["routers"], full["links"], full["messages"]) == (2, 1, 300)
    assert full["deliveries"] == full["expected"] == expected > 0
    assert (full["missing"], full["twice"], full["spurious"]) == (0, 0, 0)
    assert paced["deliveries"] == deliveries(plan, bench._WARM + 300, paced["messages"])
    assert 0 < full["p50_ms"] <= full["p95_ms"] <= full["p99_ms"] <= full["max_ms"]
    assert full["matches"] > 0
    assert full["matching_share"] is None  # 300 messages are too few to tell
    assert (full["changes"], full["reconnects"]) == (0, 0)
    assert len(full["cpu_servers_s"]) == len(full["cpu_receivers_s"]) == 2


def test_measurements_are_printed(cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    outcome = cbnet("bench", "network", *SMALL, "--topology", "tree:1", "--rate", 500)
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("6 subscribers with 30 filters each", "messages/s", "p99", "matching", "as in the reference."):
        assert said in outcome.out


def test_inexact_delivery_is_exit_code_1(cbnet, monkeypatch):
    monkeypatch.setattr(ExpectedDeliveries, "check", lambda *_: DeliveryCheck(10, 9, 1, 0, 0))
    outcome = cbnet("bench", "network", *SMALL, "--topology", "tree:1", "--rate", 500)
    assert outcome.code == 1
    assert "WRONG: 1 missing, 0 duplicate" in outcome.out
    assert "wrong answers: tree:1, full speed: 1 missing" in outcome.err


def shorten_failures(monkeypatch):
    for module, name, value in (
        (failures, "START_S", 1.0), (failures, "PAUSE_S", 3.0), (failures, "ROUTERS", 2),
        (failures, "_END_S", 1.0), (failures, "_RATE", 200.0),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(("kind", "victims"), [("link", 1), ("router", 1), ("routers", 2)])
def test_failure_is_measured_without_duplicates(cbnet, monkeypatch, kind, victims):
    shorten_failures(monkeypatch)
    (told,) = rows(cbnet("bench", "network", *SMALL, "--topology", "ring:4", "--fail", kind, "--json"))
    assert (told["fail"], len(told["victims"]), told["messages"]) == (kind, victims, 1000 if victims == 1 else 2200)
    assert told["expected"] > 0
    assert (told["twice"], told["spurious"], told["quiet_messages"]) == (0, 0, 0)
    parts = sum(told[f"{part}_deliveries"] for part in ("quiet", "failure", "repair"))
    assert parts == told["missing"] < told["expected"]
    assert 0 < told["failure_converged"] < 60
    assert 0 < told["repair_converged"] < 60


def test_random_kills_cause_no_duplicates_and_no_losses_in_a_quiet_network(cbnet, monkeypatch):
    shorten_failures(monkeypatch)
    options = ("--topology", "powerlaw:8", "--fail", "random", "--seconds", 12)
    (told,) = rows(cbnet("bench", "network", *SMALL, *options, "--json"))
    assert (told["fail"], told["messages"]) == ("random", 2400)
    assert 0 < len(told["victims"]) <= 4
    assert told["failures"] > 0
    assert (told["twice"], told["spurious"], told["quiet_messages"]) == (0, 0, 0)
    assert told["failure_deliveries"] + told["repair_deliveries"] == told["missing"] < told["expected"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fail", "cable"), "unknown failure 'cable'"),
        (("--mix", "some"), "unknown mix 'some'"),
        (("--fail", "link", "--topology", "tree:3"), "every link of this network is a bridge"),
        (("--fail", "router", "--topology", "tree:1"), "no router of this network can fail"),
        (("--fail", "random", "--topology", "tree:2"), "no router of this network can fail"),
    ],
)
def test_invalid_options_are_refused(cbnet, options, said):
    outcome = cbnet("bench", "network", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
