import json

import cbnet_lab.bench.matching.minimal as bench

SMALL = ("--sets", 3000, "--tags", 500, "--sample", 40)


def test_bench_minimal_prints_its_measurements(cbnet):
    outcome = cbnet("bench", "minimal", *SMALL, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    told = json.loads(outcome.out)
    assert list(told) == ["sets", "tags", "kept", "seconds", "megabytes", "checked", "equal"]
    assert (told["sets"], told["equal"]) == (3000, True)
    assert 0 < told["kept"] < 3000
    assert 9000 < told["tags"] < 10_200  # 3.2 each
    assert 20 <= told["checked"] <= 40


def test_bench_minimal_shows_it_to_people(cbnet):
    outcome = cbnet("bench", "minimal", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("3,000", "minimal ", "µs per set", "MB at the peak", "yes"):
        assert said in outcome.out


def test_a_wrong_answer_ends_with_code_1(cbnet, monkeypatch):
    minimal = bench.minimal
    monkeypatch.setattr(bench, "minimal", lambda sets: minimal(sets) + 1)
    outcome = cbnet("bench", "minimal", *SMALL)
    assert outcome.code == 1
    assert "NO" in outcome.out
    assert "please report this" in outcome.err


def test_invalid_arguments_are_refused(cbnet):
    outcome = cbnet("bench", "minimal", "--sets", 0)
    assert (outcome.code, outcome.out) == (2, "")
    assert "sets must be an integer of at least 1" in outcome.err
