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
TASK_TESTS = ROOT / "lab" / "tests" / "spark" / "experiments" / "y2006" / "test_monte_carlo.py"  # no tables, tasks only
# Commands one after another in one process: each would take seconds to import its packages.
COMMANDS = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from cbnet.cli.app import main

outcomes = {}
for name, arguments in json.load(sys.stdin).items():
    sys.argv, out, err, code = ["cbnet", *arguments], StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    outcomes[name] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


def run(server, *command, text=None):
    environment = {**os.environ, "SPARK_REMOTE": server}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env=environment,
        cwd=ROOT,
        input=text,
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "in").mkdir()
    lines = ['{"id": 1, "x": 1}', '{"id": 2, "x": 7}', '{"id": 3,']
    (folder / "in" / "messages.json").write_text("\n".join(lines) + "\n")
    Table.build({"small": "x < 5", "any": "exists x"}).save(folder / "table.cbt")
    (folder / "run.toml").write_text("[network]\ngraph = 'ring:5'\n[population]\nclusters = 1\n")
    return folder


@pytest.fixture(scope="module")
def outcomes(server, folder):
    """Exit code, output and errors of commands that are clients of the server, by name."""
    rules = ["--rules", folder / "table.cbt", "--output", folder / "out"]
    job = [folder / "in", "--format", "json", *rules]
    commands = {
        "match": ["spark", "match", *job, "--select", "id", "--json"],
        "again": ["spark", "match", *job],
        "flights": ["spark", "match", folder / "none", "--format", "flights", *rules],
        "stream": ["spark", "stream", *job, "--once"],
        "pipeline": ["pipeline", "run", folder / "run.toml"],
        "pipeline with a master": ["pipeline", "run", folder / "run.toml", "--master", "local[2]"],
    }
    texts = {name: [*map(str, arguments)] for name, arguments in commands.items()}
    done = run(server, "-c", COMMANDS, text=json.dumps(texts))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_matching_and_experiments_pass_their_tests_under_connect(server):
    files = [MATCH_TESTS / "test_match.py", MATCH_TESTS / "test_sql_functions.py", TASK_TESTS]
    done = run(server, "-m", "pytest", *files, "-p", "no:cacheprovider", "-k", "not at_a_uri")  # needs Hadoop
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.long
def test_job_runs_under_connect_into_a_new_folder(outcomes, folder):
    code, out, err = outcomes["match"]
    assert code == 2, err
    summary = json.loads(out)
    assert (summary["records"], summary["matches"], summary["rules"]) == (3, 3, 2)
    assert summary["rejected"] == {"expected a name in double quotes": 1}  # as `cbnet match` says
    assert {path.name for path in (folder / "out").iterdir()} == {"matches", "counts", "rejected"}
    code, _, err = outcomes["again"]
    assert (code, "already exists" in err) == (1, True)


@pytest.mark.long
def test_what_needs_a_classic_session_is_refused_at_once(outcomes, server):
    code, _, err = outcomes["stream"]
    assert (code, "Spark Connect" in err) == (2, True)
    code, _, err = outcomes["flights"]
    assert code == 2
    assert f"format flights does not support Spark Connect ({server}, the running session)" in err
    code, _, err = outcomes["pipeline"]
    assert code == 2
    assert f"cbnet pipeline does not support Spark Connect ({server}, SPARK_REMOTE); unset SPARK_REMOTE" in err
    code, _, err = outcomes["pipeline with a master"]
    assert code == 2
    assert f"master local[2] was requested, but SPARK_REMOTE uses remote {server}" in err
