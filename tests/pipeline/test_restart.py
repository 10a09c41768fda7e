"""A run that is killed with -9 goes on where it was, and gives the same rows as one that was not."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from support.pipeline_runs import COMMAND, CONFIG, QUICK, rows_of, wait_for

from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.runner import State, run, states

STAGES = ["models", "population", "loads", "predicates", "fib", "table1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("restart")
    (made / "run.toml").write_text(CONFIG)
    return made


@pytest.fixture
def start(folder):
    """Start runs, each in a process group of its own: Python, Java and all workers; none outlives the test."""
    started = []

    def started_run(*options):
        command = [*COMMAND, str(folder / "run.toml"), *options, *QUICK]
        command += ["--conf", f"spark.local.dir={folder / 'local'}"]
        started.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
            )
        )
        return started[-1]

    yield started_run
    for process in started:
        kill(process)


def kill(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.long
def test_a_killed_run_goes_on_and_gives_the_same_rows(spark, start, folder, tmp_path):
    config = read_config(folder / "run.toml")
    out = Path(config.out)
    # between two stages: the population is whole, what needs it has perhaps begun
    killed = start("--master", "local[2]", "--conf", "spark.default.parallelism=7")
    wait_for(lambda: (out / "population" / "_cbnet.json").exists(), killed)
    kill(killed)
    first = {name: state for name, state, _ in states(config)}
    assert (first["population"], first["table1"]) == (State.DONE, State.MISSING)
    # inside one: its rows are being written, or computed for that
    killed = start("--master", "local[1]")
    wait_for(lambda: (out / "predicates" / "_temporary").exists(), killed)
    kill(killed)
    assert {name: state for name, state, _ in states(config)}["predicates"] is State.MISSING
    last = start("--master", "local[2]", "--json")
    told, _ = last.communicate(timeout=600)
    assert last.returncode == 0, told
    assert '"stage": "population"' in told
    assert told.count('"new": false') >= 2  # models and population at least were not made again
    reference = read_config(folder / "run.toml", out=str(tmp_path / "reference"))
    assert [outcome.name for outcome in run(reference, lambda: spark)] == STAGES
    for stage in STAGES:
        assert rows_of(spark, config.out, stage) == rows_of(spark, reference.out, stage), stage
