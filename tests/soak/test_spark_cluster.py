"""Matching and pipelines on a cluster of two workers, one of which is killed; and a pipeline whose driver is killed.

One file, because the pipelines are compared with one undisturbed run, and one cluster serves all tests.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from secrets import token_hex

import pytest
from support.clusters import SPARK, is_python_busy, kill_group, kill_tree, standalone_cluster
from support.pipeline_runs import CONFIG, SETTINGS, STAGES, rows_of, start_run, wait_for, write_inputs

import cbnet
from cbnet import Table
from cbnet.pipeline.match.match_job import MatchJob, run_match
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.plan import StageState, states
from cbnet.pipeline.run.runner import run
from cbnet.pipeline.spark.java import java_home

CLUSTER = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m"}
# spark-submit runs a file: here matching, and the command twice, in one process.
SUBMITTED = """
import json, os, runpy, sys, time
from cbnet.pipeline.match.match_job import MatchJob, run_match
from cbnet.pipeline.spark.session import spark_session
from cbnet.spark import match

_, folder, top, program, *arguments = sys.argv
table, messages = f"{folder}/t.cbt", f"{folder}/in"
with spark_session(progress=False) as spark, open(f"{folder}/matched", "w") as file:
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    while executors().size() < 3:  # two, and the driver
        time.sleep(0.1)
    matched = match(spark.range(0, 1000, 1, 4), table, filters=True)
    os.unlink(table)  # the workers read the copy that Spark has shipped
    print(json.dumps(sorted([row.id, row.rule, row.filter] for row in matched.collect())), file=file)
    stream = match(spark.readStream.schema("id bigint").json(messages), table + ".2")
    query = stream.writeStream.format("memory").queryName("matches").trigger(availableNow=True).start()
    query.awaitTermination()
    print(json.dumps(sorted(row.id for row in spark.table("matches").collect())), file=file)
    job = MatchJob(messages=[f"{top}/in"], format="json", tables=[f"{top}/t.cbt.2"])
    print(json.dumps(run_match(spark, job, f"{top}/cluster").matches), file=file)
for more in (["--master", "local[2]"], []):
    sys.argv = ["cbnet", *arguments, *more]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        print(f"exit code {ended.code or 0}", flush=True)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def mounted(folder):
    """Return the URI of a folder on a file system that only Hadoop reads, and the setting that mounts it."""
    name = f"mounted{token_hex(4)}"
    return f"viewfs://{name}/here", {f"spark.hadoop.fs.viewfs.mounttable.{name}.link./here": folder.as_uri()}


def mount(spark, setting):
    for key, value in setting.items():
        spark.sparkContext._jsc.hadoopConfiguration().set(key.removeprefix("spark.hadoop."), value)


@pytest.fixture(scope="module")
def reference(spark, tmp_path_factory):
    """The folder of an undisturbed run of the configuration, in the shared session."""
    folder = tmp_path_factory.mktemp("reference")
    write_inputs(folder)
    (folder / "run.toml").write_text(CONFIG.format(top=folder))
    config = read_config(folder / "run.toml")
    assert [outcome.name for outcome in run(config, lambda: spark)] == STAGES
    return config.out


def submit(folder, top, master, conf, *arguments):
    """Start the program by spark-submit, as a data engineer would, in a process group of its own."""
    settings = {key: value for key, value in {**SETTINGS, **CLUSTER, **conf}.items() if "codegen" not in key}
    confs = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    (folder / "submitted.py").write_text(SUBMITTED)
    program = [str(folder / "submitted.py"), str(folder), top, str(Path(cbnet.__file__).with_name("__main__.py"))]
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, *confs, *program]
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(java_home(folder / "java"))}
    with (folder / "log").open("w") as log:  # Spark logs more than a pipe holds
        return subprocess.Popen([*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True)


@pytest.fixture(scope="module")
def submitted(cluster, tmp_path_factory):
    """The folder of a program that was submitted to the cluster, one of whose workers was killed; and its URI.

    All paths of the pipeline and of the job of matching are URIs. Tables are shipped to the workers.
    """
    folder = tmp_path_factory.mktemp("submitted")
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text('{"id": 1}\n{"id": 2}\n{"id": 3}\n')
    Table.build({"low": "id < 3", "thirds": "id >= 997 or id = 500"}).save(folder / "t.cbt")
    Table.build({1: "id > 1"}).save(folder / "t.cbt.2")
    master, workers = cluster
    top, setting = mounted(folder)
    write_inputs(folder)
    (folder / "run.toml").write_text(CONFIG.format(top=top))
    command = ["pipeline", "run", str(folder / "run.toml"), "--output", f"{top}/out"]
    process = submit(folder, top, master, setting, *command)
    try:
        wait_for(lambda: any(folder.glob("out/models/*/_cbnet.json")) and is_python_busy(workers[1]), process)
        kill_tree(workers[1])
        process.wait(timeout=600)
    finally:
        kill_group(process)
    return folder, top, setting


@pytest.mark.long
def test_matching_on_the_cluster_gives_the_rows_of_one_machine(spark, submitted):
    folder, top, setting = submitted
    batch, stream, matches = map(json.loads, (folder / "matched").read_text().splitlines())
    low = [[number, "low", "id < 3"] for number in range(3)]
    high = [[number, "thirds", "id >= 997"] for number in (997, 998, 999)]
    assert batch == [*low, [500, "thirds", "id = 500"], *high]
    assert stream == [2, 3]
    mount(spark, setting)
    job = MatchJob(messages=[f"{top}/in"], format="json", tables=[f"{top}/t.cbt.2"])
    assert run_match(spark, job, f"{top}/one").matches == matches == 2
    for result in ("matches", "counts"):
        assert rows_of(spark, f"{top}/cluster", result) == rows_of(spark, f"{top}/one", result), result


@pytest.mark.long
def test_a_submitted_pipeline_gives_the_rows_of_one_machine_though_a_worker_is_killed(
    spark, reference, cluster, submitted
):
    folder, top, setting = submitted
    master, _ = cluster
    printed = (folder / "log").read_text()
    assert "Lost executor" in printed
    assert f"master local[2] was requested, but spark-submit uses master {master}" in printed
    assert [line for line in printed.splitlines() if line.startswith("exit code")] == ["exit code 2", "exit code 0"]
    assert f"Spark {spark.version} at {master} (spark-submit)" in printed.splitlines()
    mount(spark, setting)
    for stage in STAGES:
        assert rows_of(spark, f"{top}/out", stage) == rows_of(spark, reference, stage), stage


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
    write_inputs(tmp_path)
    (tmp_path / "run.toml").write_text(CONFIG.format(top=tmp_path))
    config = read_config(tmp_path / "run.toml")
    killed = start("--master", "local[2]", "--conf", "spark.default.parallelism=7")
    # the rows of a stage are being written, or computed for that
    wait_for(lambda: any(Path(config.out).glob("population/_snapshot-*/_temporary")), killed)
    kill_group(killed)
    stored = {each.name: each.state for each in states(config)}
    done = sum(state is StageState.DONE for state in stored.values())
    assert [stored[name] for name in STAGES[done:]] == [StageState.MISSING] * (len(STAGES) - done)
    assert 6 <= done < len(STAGES)
    resumed = start("--master", "local[1]", "--json")  # other cores, other partitions
    output, _ = resumed.communicate(timeout=600)
    assert resumed.returncode == 0, output
    assert output.count('"new": false') == done
    assert output.count('"new": true') == len(STAGES) - done
    for stage in STAGES:
        assert rows_of(spark, config.out, stage) == rows_of(spark, reference, stage), stage
