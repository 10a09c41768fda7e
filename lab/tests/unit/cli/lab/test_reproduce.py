import json

import pyarrow.parquet as pq

from cbnet_lab.experiments.claim import claims
from cbnet_lab.experiments.experiment import EXPERIMENTS


def rows(outcome):
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_experiments_are_listed(cbnet):
    listed = rows(cbnet("lab", "reproduce", "--list", "--json"))
    assert [row["name"] for row in listed] == list(EXPERIMENTS)
    assert "2006-classes" in cbnet("lab", "reproduce", "--list").out


def test_some_are_run_and_a_page_is_written(cbnet, tmp_path):
    done = cbnet("lab", "reproduce", "2006-classes", "--output", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "90 claims: holds 11, holds with a difference 9, does not hold 1" in done.out
    assert pq.read_table(tmp_path / "2006-classes" / "states.parquet").num_rows == 2
    findings = [json.loads(line) for line in (tmp_path / "claims.jsonl").read_text().splitlines()]
    assert [finding["number"] for finding in findings] == list(claims())
    assert "# The papers, reproduced" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "2006-classes" / "classes.svg").read_text().startswith("<svg")


def test_findings_are_printed_as_json(cbnet, tmp_path):
    found = rows(cbnet("lab", "reproduce", "2006-classes", "--output", tmp_path, "--json"))
    assert [(row["experiment"], row["claim"], row["verdict"]) for row in found] == [("2006-classes", 49, "differs")]


def test_missing_inputs_are_refused(cbnet, tmp_path):
    assert cbnet("lab", "reproduce", "2004", "--output", tmp_path).code == 2
    assert "give --output FOLDER" in cbnet("lab", "reproduce").err
    missing = cbnet("lab", "reproduce", "2006-classes", "--output", tmp_path, "--topology", tmp_path / "none")
    assert (missing.code, "no such file" in missing.err) == (2, True)
