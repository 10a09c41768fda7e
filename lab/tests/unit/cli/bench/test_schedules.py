import json

from cbnet.network.announce.confirmations import Confirmations


def test_schedules_are_summed_by_trees(cbnet):
    outcome = cbnet("bench", "schedules", "--schedules", 2, "--trees", "1,pif", "--seed", 7, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["trees"], row["first_seed"], row["schedules"]) for row in rows] == [("1", 7, 2), ("pif", 7, 2)]
    for row in rows:
        assert row["deliveries"] > 100
        assert row["confirmed"] > 0
        assert sum(row["events"].values()) > 2 * 25 - 10  # of 25 changes a few are not possible
        assert (row["missed"], row["missed_confirmed"], row["twice"], row["spurious"]) == (0, 0, 0, 0)
        assert (row["tables_differ"], row["packets_differ"], row["unsettled"], row["is_good"]) == (0, 0, 0, True)


def test_a_range_of_seeds_can_be_run_in_parts(cbnet):
    def deliveries(seed, count):
        outcome = cbnet("bench", "schedules", "--schedules", count, "--trees", "2", "--seed", seed, "--json")
        return json.loads(outcome.out)["deliveries"]

    assert deliveries(3, 2) == deliveries(3, 1) + deliveries(4, 1)


def test_schedules_are_shown_to_people(cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    outcome = cbnet("bench", "schedules", "--schedules", 2, "--trees", "3")
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("seeds 0 to 1", "after a confirmation", "tables differ"):
        assert said in outcome.out


def test_a_violation_ends_with_code_1_and_names_the_seed(cbnet, monkeypatch):
    monkeypatch.setattr(Confirmations, "missing", lambda *_, **__: [])
    monkeypatch.setattr(Confirmations, "_blocking", lambda *_: None)
    outcome = cbnet("bench", "schedules", "--schedules", 6, "--trees", "1", "--seed", 3)
    assert outcome.code == 1
    assert "unkept: " in outcome.out
    assert "guarantees violated, first with --trees 1 --seed" in outcome.err
