"""Matching on a cluster of two workers, and a pipeline whose first driver is killed, and then one of the workers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from secrets import token_hex

import pytest
from support.clusters import SPARK, has_python, kill_group, kill_tree, standalone_cluster
from support.pipeline_runs import CONFIG, SETTINGS, STAGES, confs, rows_of, start_run, wait_for, write_inputs

import cbnet
from cbnet import Table
from cbnet.pipeline.match.match_job import MatchJob, run_match
from cbnet.pipeline.run.configuration import read_config
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
    (folder / "submitted.py").write_text(SUBMITTED)
    program = [str(folder / "submitted.py"), str(folder), top, str(Path(cbnet.__file__).with_name("__main__.py"))]
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, *confs(settings), *program]
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(java_home(folder / "java"))}
    with (folder / "log").open("w") as log:  # Spark logs more than a pipe holds
        return subprocess.Popen([*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True)


@pytest.fixture(scope="module")
def submitted(cluster, tmp_path_factory):
    """The folder of a program that was submitted to the cluster, its URI, and the stages that were done before.

    The program resumes a pipeline that was killed on one machine; one of the workers is killed meanwhile. All paths of
    the pipeline and of the job of matching are URIs. Tables are shipped to the workers.
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
    kill_run(folder, "--output", f"{top}/out", *confs({**setting, "spark.default.parallelism": "7"}))
    done = [stage for stage in STAGES if any(folder.glob(f"out/{stage}/_cbnet.json"))]
    command = ["pipeline", "run", str(folder / "run.toml"), "--output", f"{top}/out", "--json"]
    process = submit(folder, top, master, setting, *command)
    try:
        wait_for(lambda: is_resumed(folder) and has_python(workers[1]), process)
        kill_tree(workers[1])
        process.wait(timeout=600)
    finally:
        kill_group(process)
    return folder, top, setting, done


def kill_run(folder, *options):
    """Start a run on one machine, and kill it while it writes the rows of a stage, or computes them."""
    process = start_run(folder, "--master", "local[2]", *options)
    try:
        wait_for(lambda: any(folder.glob("out/_new/population/_temporary")), process)
    finally:
        kill_group(process)
        process.stdout.close()


def is_resumed(folder):
    """Return whether the pipeline has its session on the cluster, which is the second of the submitted program."""
    return (folder / "log").read_text().count("(spark-submit)\n") == 2


@pytest.mark.long
def test_matching_on_the_cluster_gives_the_rows_of_one_machine(spark, submitted):
    folder, top, setting, _ = submitted
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
def test_a_killed_pipeline_resumes_on_a_cluster_that_loses_a_worker_and_gives_the_same_rows(
    spark, reference, cluster, submitted
):
    folder, top, setting, done = submitted
    master, _ = cluster
    printed = (folder / "log").read_text()
    assert "Lost executor" in printed
    assert f"master local[2] was requested, but spark-submit uses master {master}" in printed
    assert [line for line in printed.splitlines() if line.startswith("exit code")] == ["exit code 2", "exit code 0"]
    assert f"Spark {spark.version} at {master} (spark-submit)" in printed.splitlines()
    assert done == STAGES[: len(done)]
    assert 1 <= len(done) < len(STAGES)
    assert printed.count('"new": false') == len(done)
    assert printed.count('"new": true') == len(STAGES) - len(done)
    mount(spark, setting)
    for stage in STAGES:
        assert rows_of(spark, f"{top}/out", stage) == rows_of(spark, reference, stage), stage
