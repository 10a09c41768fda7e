"""The sinks that state exactly-once delivery, in a stream that is killed at random points."""

import json
import os
import random
import subprocess
import sys
import time

import pytest
from support.clusters import kill_group
from support.pipeline_runs import JAVA_OPTIONS, wait_for

from cbnet import Table

FILES, ROWS, KILLS = 6, 50, 2
PROGRAM = """
import sys
import cbnet
from cbnet.pipeline.spark.session import spark_session

sink, folder, options = sys.argv[1:]
conf = {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.driver.extraJavaOptions": options}
with spark_session(master="local[2]", conf=conf, progress=False) as spark:
    rows = spark.readStream.schema("file int, x int").option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    if sink == "parquet":
        matches = cbnet.spark.match(rows, f"{folder}/table.cbt")
        writer = matches.writeStream.format("parquet").option("path", f"{folder}/out")
    else:
        versions = cbnet.spark.TableVersions(f"{folder}/table.cbt", f"{folder}/state")

        def deliver(rows, batch):
            versions.match(rows, batch).write.mode("overwrite").parquet(f"{folder}/out/batch={batch}")

        writer = rows.writeStream.foreachBatch(deliver)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
"""


def start(sink, folder):
    with (folder / "log").open("ab") as log:
        # A process group of its own, so that Java dies at the same moment.
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, sink, str(folder), JAVA_OPTIONS],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def begun(folder):
    """Return the number of batches that have begun: Spark has stored their offsets."""
    return len([*(folder / "checkpoint" / "offsets").glob("[0-9]*")])


def kill_at_random(sink, folder, rng):
    """Start the stream, wait until it begins a new batch, and kill it at a random time after."""
    before, process = begun(folder), start(sink, folder)
    wait_for(lambda: begun(folder) > before, process)
    time.sleep(rng.uniform(0, 1.5))
    kill_group(process)


@pytest.mark.long
@pytest.mark.parametrize("sink", ["parquet", "batches"])
def test_killed_stream_delivers_every_match_once(sink, spark, tmp_path):
    seed = 0 if os.environ.get("CI") else random.randrange(10**6)
    rng = random.Random(seed)
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        lines = [json.dumps({"file": number, "x": x}) for x in range(ROWS)]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines) + "\n")
    Table.build({"low": "x < 20", "all": "true"}).save(tmp_path / "table.cbt")
    for _ in range(KILLS):
        kill_at_random(sink, tmp_path, rng)
    assert begun(tmp_path) < FILES, f"seed {seed}: the stream ended before it was killed"
    assert start(sink, tmp_path).wait(300) == 0, (tmp_path / "log").read_text()

    found = sorted((row.file, row.x, row.interface) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    pairs = [(file, x) for file in range(FILES) for x in range(ROWS)]
    expected = [(*pair, "all") for pair in pairs] + [(*pair, "low") for pair in pairs if pair[1] < 20]
    assert found == sorted(expected), f"seed {seed}"
