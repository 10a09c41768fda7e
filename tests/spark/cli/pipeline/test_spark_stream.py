"""`cbnet spark stream`, in the Spark session of the tests."""

import json

import pytest

from cbnet import Table


@pytest.fixture
def arguments(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"x": 1}\n{"x": 2}\n{"x": }\n')
    Table.build({"one": "x = 1", "any": "exists x"}).save(tmp_path / "t.cbt")
    return [tmp_path / "in", "--format", "json", "--rules", tmp_path / "t.cbt", "--output", tmp_path / "out"]


def test_batches_are_reported_and_summed_up(cbnet, arguments, tmp_path, spark):
    done = cbnet("spark", "stream", *arguments, "--once", "--json")
    assert done.code == 2, done.err
    batch, summary = map(json.loads, done.out.splitlines())
    assert (batch["batch"], batch["records"], batch["matches"]) == (0, 3, 3)
    assert (summary["batches"], summary["records"], summary["matches"]) == (1, 3, 3)
    assert summary["rejected"] == batch["rejected"] == {"a value is missing": 1}
    assert summary["versions"] == [batch["version"]]
    rows = {(row.x, row.rule, row.version) for row in spark.read.parquet(f"{tmp_path}/out/matches").collect()}
    assert rows == {(1, "one", batch["version"]), (1, "any", batch["version"]), (2, "any", batch["version"])}


def test_people_get_lines_and_a_restart_does_nothing_twice(cbnet, arguments):
    first = cbnet("spark", "stream", *arguments, "--once")
    assert first.err.splitlines()[1].startswith("batch 0: 3 records, 3 matches, 1 rejected row, table ")
    assert first.out.splitlines()[0] == "3 records, 3 matches, 1 rejected row; 1 batch"
    again = cbnet("spark", "stream", *arguments, "--once")
    assert (again.code, again.out.splitlines()[0]) == (0, "0 records, 0 matches, 0 rejected rows; 0 batches")


def test_a_dry_run_writes_nothing(cbnet, arguments, tmp_path):
    done = cbnet("spark", "stream", *arguments, "--dry-run", "--json")
    assert [json.loads(line).get("attribute") for line in done.out.splitlines()] == ["x", None]
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--format", "flights"], "unknown format 'flights'"),
        (["--format", "kafka", "--schema", "x int"], "cannot read from Kafka"),
        (["--rules", "{tmp}/no.cbt"], "no such table"),
    ],
)
def test_errors_are_one_line(cbnet, arguments, tmp_path, more, error):
    done = cbnet("spark", "stream", *arguments, *(part.format(tmp=tmp_path) for part in more), "--once")
    assert done.code == 2
    assert error in done.err
    assert "Traceback" not in done.err


@pytest.mark.usefixtures("spark")
def test_a_live_network_must_be_named(cbnet, arguments):
    done = cbnet("spark", "stream", *arguments, "--format", "cbnet", "--schema", "x int", "--dry-run")
    assert "no router given" in done.err


def test_missing_files_are_reported_before_spark_starts(cbnet, tmp_path):
    assert "no output folder given" in cbnet("spark", "stream", "--rules", "t.cbt").err
    assert "no message source given" in cbnet("spark", "stream", "--rules", "t.cbt", "--output", tmp_path / "o").err
    live = ["--rules", "t.cbt", "--output", tmp_path / "o", "--format", "cbnet"]
    assert (
        "--once cannot be used with a live network, which has no end" in cbnet("spark", "stream", *live, "--once").err
    )
    assert "no such table" in cbnet("spark", "stream", *live).err
    assert "no such table" in cbnet("spark", "match", "m", "--dry-run", "--rules", "t.cbt").err
