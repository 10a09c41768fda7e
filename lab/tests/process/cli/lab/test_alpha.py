import json

import pytest

import cbnet_lab.experiments.y2006.monte_carlo as cbnet_experiments

SMALL = ("--scenario", "uniform-50", "--sets", 3, "--max-predicates", 20)


@pytest.fixture
def tiny_universes(monkeypatch):
    monkeypatch.setattr(cbnet_experiments, "UNIVERSES", (200,))


def told(outcome):
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_alpha_specific_gives_a_row_for_each_rule_and_number_of_predicates(cbnet):
    rows = told(cbnet("lab", "alpha", "specific", *SMALL, "--json"))
    alphas = [row for row in rows if "scenario" in row]
    assert list(alphas[0]) == [
        "model", "scenario", "rule", "predicates", "min", "p5", "p50", "p95", "max", "sets",
    ]  # fmt: skip
    counts = [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    assert [(row["rule"], row["predicates"]) for row in alphas] == [
        (rule, count) for rule in ("pairwise", "full") for count in counts
    ]
    assert all(row["min"] <= row["p5"] <= row["p50"] <= row["p95"] <= row["max"] <= 1 for row in alphas)
    verdicts = [row for row in rows if "claim" in row]
    assert len(alphas) + len(verdicts) == len(rows)
    assert [row["claim"] for row in verdicts] == [64, 65, 66, 67]
    assert set(verdicts[0]) == {"model", "claim", "ours", "verdict", "reason", "missing", "rule"}


def test_a_claim_that_a_run_cannot_judge_is_unmeasured(cbnet):
    [row] = [row for row in told(cbnet("lab", "alpha", "specific", *SMALL, "--json")) if row.get("claim") == 64]
    assert row["ours"].startswith("the median falls at 0 of 0 steps from 10 or more to ten times as many")
    assert row["verdict"] == "unmeasured"
    assert (
        "64 not measured at the paper's size: the median falls at 0 of 0 steps"
        in cbnet("lab", "alpha", "specific", *SMALL).out
    )


def test_too_little_memory_ends_with_one_line(cbnet, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(cbnet_experiments, "specific_advantages", fail)
    outcome = cbnet("lab", "alpha", "specific")
    assert (outcome.code, outcome.out, outcome.err) == (
        1,
        "",
        "error: out of memory; use a smaller input\n",
    )
    outcome = cbnet("lab", "alpha", "specific", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    assert json.loads(outcome.out)["error"] == "out of memory"


def test_the_seed_decides(cbnet):
    one, same, other = (told(cbnet("lab", "alpha", "specific", *SMALL, "--seed", seed, "--json")) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_alpha_reads_terms_from_a_file(cbnet, tmp_path):
    file = tmp_path / "terms.tsv"
    file.write_text("year\t3\nnet\t2\n")
    assert told(cbnet("lab", "alpha", "specific", *SMALL, "--terms", file, "--json")) != told(
        cbnet("lab", "alpha", "specific", *SMALL, "--json")
    )
    file.write_text("year\n")
    outcome = cbnet("lab", "alpha", "specific", *SMALL, "--terms", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"error: {file}:1: expected a term, a tab and a count\n"


@pytest.mark.usefixtures("tiny_universes")
def test_alpha_shows_both_models_to_people(cbnet):
    outcome = cbnet("lab", "alpha", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("uniform-50: α over 3 sets", "pairwise", "full", "uniform-200: α over 3 sets", "zipf-200: α", "closed",
                 "Claims of the paper", "k draws", "k distinct messages"):  # fmt: skip
        assert said in outcome.out


@pytest.mark.usefixtures("tiny_universes")
def test_alpha_general_alone_is_general(cbnet):
    rows = told(cbnet("lab", "alpha", "general", "--sets", 2, "--json"))
    assert {row["model"] for row in rows} == {"general"}
    assert {row["scenario"] for row in rows if "scenario" in row} == {"uniform-200", "zipf-200"}
    assert {row["sets"] for row in rows if "scenario" in row} == {2}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["specific", "--scenario", "zipf-1"], "unknown scenario 'zipf-1'; use one of zipf-500"),
        (["general", "--scenario", "zipf-500"], "the general model has no --scenario, --terms or --max-predicates"),
        (["general", "--max-predicates", "10"], "the general model has no --scenario, --terms or --max-predicates"),
        (["specific", "--max-predicates", "999999999999"], "at most 1,000,000 predicates, not 999,999,999,999"),
        (["specific", "--sets", "99999999999999"], "from 1 to 10,000, not 99,999,999,999,999"),
        (["specific", "--sets", "0"], "Invalid value for '--sets'"),
        (["specific", "--max-predicates", "0"], "Invalid value for '--max-predicates'"),
        (["specific", "--seed", "-1"], "--seed must be an integer of at least 0, not -1"),
        (["general", "--seed", "-1"], "--seed must be an integer of at least 0, not -1"),
        (["both"], "'both' is not one of 'general', 'specific'"),
    ],
)
def test_bad_arguments_are_refused(cbnet, arguments, problem):
    outcome = cbnet("lab", "alpha", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err
