"""Matching under Spark Connect: the tests of matching pass with a client of a real server, on the loopback interface."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.clusters import connect_server

from cbnet import Table

pytest.importorskip("grpc", reason="pip install 'cbnet[connect]'")
ROOT = Path(__file__).parents[2]
MATCH_TESTS = ROOT / "tests" / "spark" / "pipeline" / "match"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


def run(server, *command):
    environment = {**os.environ, "SPARK_REMOTE": server}
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.mark.long
@pytest.mark.parametrize("file", ["test_match.py", "test_sql_functions.py"])
def test_matching_passes_its_tests_under_connect(server, file):
    done = run(server, "pytest", MATCH_TESTS / file, "-p", "no:cacheprovider", "-k", "not at_a_uri")  # needs Hadoop
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.long
def test_job_runs_under_connect_and_a_versioned_stream_is_refused(server, tmp_path):
    (tmp_path / "in").mkdir()
    lines = ['{"id": 1, "x": 1}', '{"id": 2, "x": 7}', '{"id": 3,']
    (tmp_path / "in" / "messages.json").write_text("\n".join(lines) + "\n")
    Table.build({"small": "x < 5", "any": "exists x"}).save(tmp_path / "table.cbt")
    arguments = [tmp_path / "in", "--format", "json", "--rules", tmp_path / "table.cbt", "--output", tmp_path / "out"]
    done = run(server, "cbnet", "spark", "match", *arguments, "--select", "id", "--json")
    assert done.returncode == 2, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["records"], summary["matches"], summary["interfaces"]) == (3, 3, 2)
    assert summary["rejected"] == {"the row cannot be read": 1}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"matches", "counts", "rejected"}
    again = run(server, "cbnet", "spark", "match", *arguments)
    assert (again.returncode, "already exists" in again.stderr) == (1, True)
    stream = run(server, "cbnet", "spark", "stream", *arguments, "--once")
    assert stream.returncode == 2
    assert "Spark Connect" in stream.stderr


@pytest.mark.long
def test_pipeline_is_refused_under_connect_at_once(server, tmp_path):
    (tmp_path / "run.toml").write_text("[network]\ngraph = 'ring:5'\n[population]\nclusters = 1\n")
    done = run(server, "cbnet", "pipeline", "run", tmp_path / "run.toml")
    assert done.returncode == 2
    assert f"cbnet pipeline does not support Spark Connect ({server}, SPARK_REMOTE); unset SPARK_REMOTE" in done.stderr
    done = run(server, "cbnet", "pipeline", "run", tmp_path / "run.toml", "--master", "local[2]")
    assert done.returncode == 2
    assert f"master local[2] was requested, but SPARK_REMOTE uses remote {server}" in done.stderr


@pytest.mark.long
def test_tasks_of_experiments_run_under_connect(server):
    command = ["cbnet", "lab", "alpha", "specific", "--scenario", "uniform-50", "--sets", "2"]
    command += ["--max-predicates", "50", "--json"]
    here, there = run("", *command), run("", *command, "--remote", server)
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert there.stdout == here.stdout
    assert there.stderr.splitlines()[0].endswith(f" at {server} (requested)")
