"""Matching and pipelines on a cluster of two workers, one of which is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.clusters import SPARK, is_python_busy, kill_group, kill_tree, standalone_cluster
from support.pipeline_runs import CONFIG, JAVA_OPTIONS, STAGES, rows_of, start_run, wait_for

import cbnet
from cbnet import Table
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.spark.java import java_home

PROGRAM = """
import json, os, sys
from cbnet.spark import match
from cbnet.pipeline.spark.session import spark_session

master, table, messages, options = sys.argv[1:]
conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": options}
with spark_session(master=master, conf=conf, progress=False) as spark:
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    while executors().size() < 3:  # two, and the driver
        pass
    matched = match(spark.range(0, 1000, 1, 4), table, filters=True)
    os.unlink(table)  # the workers read the copy that Spark has shipped
    print(json.dumps(sorted([row.id, row.interface, row.filter] for row in matched.collect())))
    stream = match(spark.readStream.schema("id bigint").json(messages), table + ".2")
    query = stream.writeStream.format("memory").queryName("matches").trigger(availableNow=True).start()
    query.awaitTermination()
    print(json.dumps(sorted(row.id for row in spark.table("matches").collect())))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.long
def test_tables_are_shipped_to_the_workers_of_a_cluster(cluster, tmp_path):
    master, _ = cluster
    Table.build({"low": "id < 3", "thirds": "id >= 997 or id = 500"}).save(tmp_path / "t.cbt")
    Table.build({1: "id > 1"}).save(tmp_path / "t.cbt.2")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": 1}\n{"id": 2}\n{"id": 3}\n')
    command = [sys.executable, "-c", PROGRAM, master, str(tmp_path / "t.cbt"), str(tmp_path / "in"), JAVA_OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    batch, stream = map(json.loads, done.stdout.splitlines())
    low = [[number, "low", "id < 3"] for number in range(3)]
    high = [[number, "thirds", "id >= 997"] for number in (997, 998, 999)]
    assert batch == [*low, [500, "thirds", "id = 500"], *high]
    assert stream == [2, 3]


def submit(folder, master, *arguments):
    """Run the command by spark-submit, as a data engineer would; return what it printed and its exit code."""
    settings = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    settings |= {"spark.sql.shuffle.partitions": "3", "spark.driver.extraJavaOptions": JAVA_OPTIONS}
    confs = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    program = str(Path(cbnet.__file__).with_name("__main__.py"))
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, "--driver-memory", "1g", *confs, program]
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(java_home(folder / "java"))}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_a_submitted_pipeline_gives_the_rows_of_one_machine(spark, reference, cluster, tmp_path):
    master, _ = cluster
    (tmp_path / "run.toml").write_text(CONFIG)
    run = ["pipeline", "run", str(tmp_path / "run.toml"), "--output", (tmp_path / "out").as_uri()]
    code, printed = submit(tmp_path, master, *run)
    assert code == 0, printed
    assert f"Spark {spark.version} at {master} (spark-submit)" in printed.splitlines()
    for stage in STAGES:
        assert rows_of(spark, (tmp_path / "out").as_uri(), stage) == rows_of(spark, reference, stage), stage
    code, printed = submit(tmp_path, master, *run, "--output", (tmp_path / "new").as_uri(), "--master", "local[2]")
    assert code == 2, printed
    assert f"master local[2] was requested, but spark-submit uses master {master}" in printed


@pytest.mark.long
def test_killed_worker_does_not_change_the_tables(spark, reference, cluster, tmp_path):
    master, workers = cluster
    (tmp_path / "run.toml").write_text(CONFIG)
    config = read_config(tmp_path / "run.toml")
    small = ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1"]
    process = start_run(tmp_path, "--master", master, "--output", f"file://{config.out}", *small)
    try:
        before, done = (Path(config.out) / stage / "_cbnet.json" for stage in ("loads", "predicates"))
        wait_for(lambda: before.exists() and is_python_busy(workers[1]), process)
        kill_tree(workers[1])
        assert not done.exists(), "the stage was over before the worker died"
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
    finally:
        kill_group(process)
        process.stdout.close()
    for stage in ("population", "predicates", "fib", "table1"):
        assert rows_of(spark, config.out, stage) == rows_of(spark, reference, stage), stage
