"""`cbnet bench files` in small: both processes run, and their answers are checked."""

import json

SMALL = ("--rows", 20_000, "--rules", 100, "--sample", 50, "--seconds", 20)


def test_bench_files_measures_both_and_checks_the_answers(cbnet):
    outcome = cbnet("bench", "files", *SMALL, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    result = json.loads(outcome.out)
    assert (result["rows"], result["rules"], result["checked"], result["equal"]) == (20_000, 100, 50, True)
    assert result["duckdb_rules"] == 100
    assert result["rows_per_second"] > 1000
    assert result["peak_mb"] > 20


def test_bench_files_shows_it_to_people(cbnet):
    outcome = cbnet("bench", "files", *SMALL)
    assert outcome.code == 0
    for said in ("20,000", "rows per second", "DuckDB: rules in time", "rows checked by the reference", "yes"):
        assert said in outcome.out
