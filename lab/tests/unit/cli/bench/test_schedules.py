import json

from cbnet.network.announce.confirmations import Confirmations


def test_schedules_have_consecutive_seeds_for_each_number_of_trees(cbnet):
    outcome = cbnet("bench", "schedules", "--schedules", 2, "--trees", "1,pif", "--seed", 7, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["trees"], row["seed"]) for row in rows] == [("1", 7), ("1", 8), ("pif", 7), ("pif", 8)]
    for row in rows:
        assert row["counts"]["checked"] > row["counts"]["confirmed"] > 0
        assert sum(row["faults"].values()) > 25 - 5  # of 25 changes a few are not possible
        assert row["violations"] == {}


def test_schedules_are_shown_to_people(cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    outcome = cbnet("bench", "schedules", "--schedules", 2, "--trees", "3")
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("Runs: schedules", "by a confirmation", "runs with violations"):
        assert said in outcome.out


def test_a_violation_ends_with_code_1_and_names_the_seed(cbnet, monkeypatch):
    monkeypatch.setattr(Confirmations, "missing", lambda *_, **__: [])
    monkeypatch.setattr(Confirmations, "_blocking", lambda *_: None)
    outcome = cbnet("bench", "schedules", "--schedules", 4, "--trees", "1", "--seed", 20)
    assert outcome.code == 1
    assert "unkept: " in outcome.out
    assert "first with --trees 1 --seed" in outcome.err
