"""A killed run resumes in the stage that it was in, and gives the rows of an undisturbed run."""

from pathlib import Path

import pytest
from support.clusters import kill_group
from support.pipeline_runs import CONFIG, STAGES, rows_of, start_run, wait_for

from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.plan import StageState, states


@pytest.fixture
def start(tmp_path):
    """Start runs, each in a process group of its own; none outlives the test."""
    started = []

    def start(*options):
        started.append(start_run(tmp_path, *options))
        return started[-1]

    yield start
    for process in started:
        kill_group(process)
        process.stdout.close()


@pytest.mark.long
def test_killed_run_resumes_and_gives_the_same_rows(spark, reference, start, tmp_path):
    (tmp_path / "run.toml").write_text(CONFIG)
    config = read_config(tmp_path / "run.toml")
    killed = start("--master", "local[2]", "--conf", "spark.default.parallelism=7")
    # the rows of the stage are being written, or computed for that
    wait_for(lambda: any(Path(config.out).glob("predicates/_snapshot-*/_temporary")), killed)
    kill_group(killed)
    stored = {each.name: each.state for each in states(config)}
    assert [stored[name] for name in STAGES] == [*[StageState.DONE] * 3, *[StageState.MISSING] * 3]
    resumed = start("--master", "local[1]", "--json")  # other cores, other partitions
    output, _ = resumed.communicate(timeout=600)
    assert resumed.returncode == 0, output
    assert '"stage": "population"' in output
    assert output.count('"new": false') == 3
    for stage in STAGES:
        assert rows_of(spark, config.out, stage) == rows_of(spark, reference, stage), stage
