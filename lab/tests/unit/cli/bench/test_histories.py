import json

from cbnet.network.durable.home_log.journal_queue import JournalQueue


def histories(cbnet, *options):
    return cbnet("bench", "histories", "--simulated", *options)


def test_histories_are_checked_and_written_as_they_end(cbnet, tmp_path):
    file = tmp_path / "results.jsonl"
    outcome = histories(cbnet, "--histories", 3, "--output", file, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert rows == [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["seed"], row["trees"], row["violations"]) for row in rows] == [
        (0, "1", {}),
        (1, "2", {}),
        (2, "pif", {}),
    ]
    assert all(row["counts"]["published"] > 0 for row in rows)
    assert any(row["counts"]["due"] > 0 for row in rows)


def test_a_run_is_continued_where_it_ended(cbnet, tmp_path):
    file = tmp_path / "results.jsonl"
    histories(cbnet, "--histories", 1, "--output", file)
    file.write_bytes(file.read_bytes() + b'{"kind":"simu')  # killed while it wrote
    outcome = histories(cbnet, "--histories", 2, "--output", file, "--json")
    assert [json.loads(line)["seed"] for line in outcome.out.splitlines()] == [1]
    assert [json.loads(line)["seed"] for line in file.read_text().splitlines()] == [0, 1]
    assert histories(cbnet, "--histories", 2, "--output", file, "--json").out == ""
    assert histories(cbnet, "--histories", 4, "--seconds", 0, "--output", file, "--json").out == ""


def test_histories_are_shown_to_people(cbnet):
    outcome = histories(cbnet, "--histories", 3)
    assert (outcome.code, outcome.err) == (0, "")
    for text in ("Runs: simulated", "with a receipt", "fault: kill", "runs with violations"):
        assert text in outcome.out


def test_a_violation_names_the_seed(cbnet, monkeypatch):
    monkeypatch.setattr(JournalQueue, "after", lambda _, call: call())
    outcome = histories(cbnet, "--histories", 1, "--seed", 18)
    assert outcome.code == 1
    assert "promises broken in 1 runs, first with --trees 1 --seed 18" in outcome.err
