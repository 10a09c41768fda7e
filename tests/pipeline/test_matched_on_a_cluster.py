"""`match` on a cluster of two workers: the table must reach hosts that do not share the driver's files."""

import json
import subprocess
import sys

import pytest
from support.clusters import standalone_cluster

from cbnet import Table

PROGRAM = """
import json, os, sys
from cbnet.pipeline import match
from cbnet.pipeline.spark.session import spark_session
from pyspark.sql import functions as F

master, table, messages = sys.argv[1:]
conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
with spark_session(master=master, conf=conf, progress=False) as spark:
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    while executors().size() < 3:  # two, and the driver
        pass
    matched = match(spark.range(0, 1000, 1, 4), table, filters=True)
    os.unlink(table)  # what the workers read is a copy that Spark gave them
    print(json.dumps(sorted([row.id, row.interface, row.filter] for row in matched.collect())))
    stream = match(spark.readStream.schema("id bigint").json(messages), table + ".2")
    query = stream.writeStream.format("memory").queryName("found").trigger(availableNow=True).start()
    query.awaitTermination()
    print(json.dumps(sorted(row.id for row in spark.table("found").collect())))
"""


@pytest.mark.long
def test_tables_reach_the_workers_of_a_cluster(tmp_path):
    Table.build({"low": "id < 3", "thirds": "id >= 997 or id = 500"}).save(tmp_path / "t.cbt")
    Table.build({1: "id > 1"}).save(tmp_path / "t.cbt.2")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": 1}\n{"id": 2}\n{"id": 3}\n')
    with standalone_cluster(tmp_path) as master:
        command = [sys.executable, "-c", PROGRAM, master, str(tmp_path / "t.cbt"), str(tmp_path / "in")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    batch, stream = map(json.loads, done.stdout.splitlines())
    low = [[number, "low", "id < 3"] for number in range(3)]
    high = [[number, "thirds", "id >= 997"] for number in (997, 998, 999)]
    assert batch == [*low, [500, "thirds", "id = 500"], *high]
    assert stream == [2, 3]
