import json
import shutil

import pytest

from cbnet.errors import CbnetError


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def small(tmp_path):
    config = tmp_path / "small.toml"
    config.write_text("[network]\ngraph = 'ring:8'\n[population]\nclusters = 30\n[applications.video]\nshare = 1.0\n")
    return config


def test_init_writes_a_configuration_once(cbnet, tmp_path):
    file = tmp_path / "mine.toml"
    outcome = cbnet("pipeline", "init", file)
    assert outcome.code == 0
    assert f"cbnet pipeline run {file}" in outcome.err
    told = objects(cbnet("pipeline", "status", file, "--json").out)
    assert [row["stage"] for row in told] == ["models", "population", "loads", "predicates", "fib", "table1"]
    assert {row["state"] for row in told} == {"missing"}
    again = cbnet("pipeline", "init", file)
    assert (again.code, "the file exists already" in again.err) == (2, True)


@pytest.mark.usefixtures("spark")
def test_run_shows_table_1_beside_the_papers_and_runs_nothing_twice(cbnet, small, tmp_path):
    there = str(tmp_path / "there")
    first = cbnet("pipeline", "run", small, "--output", there)
    assert first.code == 0
    for said in ("Table 1: router", "[2014]", "10,880,657", "descriptors kept", f"Results: {there}"):
        assert said in first.out
    assert "population …" in first.err
    told = objects(cbnet("pipeline", "run", small, "--output", there, "--json").out)
    stages = [row for row in told if "stage" in row]
    assert not any(row["new"] for row in stages)
    assert all(row["java_cpu_seconds"] >= 0 and row["peak_bytes"] > 0 for row in stages)
    whole = next(row for row in told if row.get("table1") == "all")
    assert (whole["interfaces"], whole["destinations"]) == (2, 7)  # of a ring
    assert whole["paper"]["descriptors"] == 85_504_514
    offers = next(row for row in told if "roles" in row)["roles"]["offer"]["descriptors"]
    assert offers == next(row["rows"] for row in stages if row["stage"] == "population")
    states = objects(cbnet("pipeline", "status", small, "--output", there, "--json").out)
    assert {row["state"] for row in states} == {"done"}
    shown = cbnet("pipeline", "status", small, "--output", there).out
    assert shown.count("done") == 6
    lost = next((tmp_path / "there" / "loads").glob("part-*.parquet"))
    lost.unlink()
    shown = cbnet("pipeline", "status", small, "--output", there).out
    assert "damaged: 1 of " in shown
    planned = objects(cbnet("pipeline", "run", small, "--output", there, "--plan", "--json").out)
    (loads,) = [row for row in planned if row["run"]]
    assert (loads["stage"], loads["rows"] > 0, loads["seconds"] > 0) == ("loads", True, True)
    assert f"missing: {lost.name}" in loads["reason"]
    plan = cbnet("pipeline", "run", small, "--output", there, "--plan").out
    assert "1 stage would run; the last runs of 1 of them took" in plan
    again = cbnet("pipeline", "run", small, "--output", there)
    assert "loads (damaged: 1 of " in again.err
    assert "loads: 8 rows in " in again.err
    shutil.copytree(tmp_path / "there" / "fib", tmp_path / "there" / "old")
    assert f"leftover: {there}/old, 0.0 MiB" in cbnet("pipeline", "status", small, "--output", there).err
    assert f"deleted: {there}/old" in cbnet("pipeline", "clean", small, "--output", there).err
    assert "nothing to delete" in cbnet("pipeline", "clean", small, "--output", there).err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pipeline", "run", "none.toml"], "none.toml: cannot read"),
        (["pipeline", "run", "{small}", "--conf", "memory=4g"], "--conf 'memory' is not a Spark setting"),
        (["pipeline", "run", "{small}", "--only", "fob"], "there is no stage 'fob'; did you mean 'fib'?"),
        (["pipeline", "run", "{small}", "--only", "fib"], "stage fib needs predicates, which is missing"),
        (["pipeline", "status", "{bad}"], "unknown key 'sed'; did you mean 'seed'?"),
    ],
)
def test_errors_are_one_line(cbnet, small, tmp_path, arguments, said):
    bad = tmp_path / "bad.toml"
    bad.write_text("sed = 1\n")
    outcome = cbnet(*(argument.format(small=small, bad=bad) for argument in arguments))
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_without_spark_the_demo_ends_with_a_note(cbnet, monkeypatch):
    def missing(*_):
        raise CbnetError("the pipeline needs Spark: pip install 'cbnet[spark]'")

    monkeypatch.setattr("cbnet.cli.demo.demo.run_small_pipeline", missing)
    outcome = cbnet("demo")
    assert outcome.code == 0
    assert "30 messages, 8 receivers" in outcome.out
    assert outcome.err == "the second part was skipped: the pipeline needs Spark: pip install 'cbnet[spark]'\n"
