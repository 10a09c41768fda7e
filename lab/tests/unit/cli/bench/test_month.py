import json

from cbnet.network.forwarding.forwarding_table import Fib, Matches

SHORT = ("--topology", "ring:5", "--hours", 0.02)


def test_bench_month_says_what_became_of_the_messages(cbnet):
    outcome = cbnet("bench", "month", *SHORT, "--trees", "3,pif", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["kind"], row["trees"]) for row in rows] == [("month", "3"), ("month", "pif")]
    for row in rows:
        assert row["violations"] == {}
        assert row["counts"]["published"] >= row["counts"]["settled"] > 0
        assert row["recoveries"]["start"]


def test_bench_month_shows_it_to_people(cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    outcome = cbnet("bench", "month", *SHORT, "--trees", "2")
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("Runs: month", "with a reply", "Recovery", "runs with violations"):
        assert said in outcome.out


def test_what_is_missed_ends_with_code_1(cbnet, monkeypatch):
    monkeypatch.setattr(Fib, "match", lambda *_: Matches({}, [], False, 0))
    outcome = cbnet("bench", "month", *SHORT, "--trees", "1")
    assert outcome.code == 1
    assert ", lost: " in outcome.out
    assert "please report this" in outcome.err


def test_a_number_of_trees_that_is_no_number_is_refused(cbnet):
    outcome = cbnet("bench", "month", "--trees", "1,many")
    assert (outcome.code, outcome.out) == (2, "")
    assert (
        outcome.err
        == "error: --trees: 'many' is not a number of trees; write numbers from 1 to 64, or pif for a tree of each source\n"
    )
