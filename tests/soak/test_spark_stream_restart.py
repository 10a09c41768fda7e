"""Streams that are killed twice at random points lose and duplicate nothing, for every sink that states so.

One process runs a stream for each sink, so that each kill hits all of them.
"""

import json
import random
import subprocess
import sys
import time
from collections import Counter

import pyarrow.dataset as ds
import pytest
from support.clusters import kill_group
from support.pipeline_runs import SETTINGS, wait_for
from support.seeds import seeds

from cbnet import Table

ROWS = 50
# Numbers of files, each of which is a batch, half of them from the first kill on: a fast sink needs more of them, or its
# stream ends before it is killed.
FILES = {"routed": 8, "batches": 16, "parquet": 24}
OLD, NEW = {"low": "x < 20", "all": "true"}, {"high": "x >= 45"}
PROGRAM = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import cbnet
from cbnet.pipeline.spark.session import spark_session
from cbnet.spark import MatchStream, StreamJob

folder, conf = sys.argv[1], json.loads(sys.argv[2])
ONE = {"maxFilesPerTrigger": "1"}


def routed(spark, top):  # as `cbnet spark stream` does
    job = StreamJob(messages=f"{top}/in", format="json", schema="file int, x int", tables=[f"{top}/table.cbt"],
                    options=ONE, buckets=2)
    MatchStream(spark, job, f"{top}/out", checkpoint=f"{top}/checkpoint").run(once=True)


def parquet(spark, top):
    matches = cbnet.spark.match(rows(spark, top), f"{top}/table.cbt")
    finish(matches.writeStream.format("parquet").option("path", f"{top}/out"), top)


def batches(spark, top):
    versions = cbnet.spark.TableVersions(f"{top}/table.cbt", f"{top}/state")

    def deliver(rows, batch):
        versions.match(rows, batch).write.mode("overwrite").parquet(f"{top}/out/batch={batch}")

    finish(rows(spark, top).writeStream.foreachBatch(deliver), top)


def rows(spark, top):
    return spark.readStream.schema("file int, x int").options(**ONE).json(f"{top}/in")


def finish(writer, top):
    writer.option("checkpointLocation", f"{top}/checkpoint").trigger(availableNow=True).start().awaitTermination()


with spark_session(master="local[2]", conf=conf, progress=False) as spark, ThreadPoolExecutor() as threads:
    streams = [threads.submit(sink, spark, f"{folder}/{sink.__name__}") for sink in (routed, parquet, batches)]
    for stream in streams:
        stream.result()
"""


def start(folder):
    with (folder / "log").open("ab") as log:
        # A process group of its own, so that Java dies at the same moment.
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder), json.dumps(SETTINGS)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def begun(folder):
    """Return the number of batches that have begun, by sink: Spark has stored their offsets."""
    return {sink: len([*(folder / sink / "checkpoint" / "offsets").glob("[0-9]*")]) for sink in FILES}


def kill_at_random(folder, rng, batches):
    """Start the streams, wait until each begins so many new batches, and kill them at a random time after."""
    before, process = begun(folder), start(folder)
    wait_for(lambda: all(count >= before[sink] + batches for sink, count in begun(folder).items()), process)
    time.sleep(rng.uniform(0, 1.5))
    kill_group(process)


def write_messages(folder, half):
    for sink, files in FILES.items():
        for number in range(half * files // 2, (half + 1) * files // 2):
            lines = [json.dumps({"file": number, "x": x}) for x in range(ROWS)]
            (folder / sink / "in" / f"{number}.json").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of streams that were killed, got a new table for one of them, and then ended; and the seed."""
    folder = tmp_path_factory.mktemp("streams")
    (seed,) = seeds(1)
    rng = random.Random(seed)
    for sink in FILES:
        (folder / sink / "in").mkdir(parents=True)
        Table.build(OLD).save(folder / sink / "table.cbt")
    for half in range(2):
        write_messages(folder, half)
        kill_at_random(folder, rng, batches=1 if half else 2)  # the old table has matched batch 0
        if half == 0:
            Table.build(NEW).save(folder / "routed" / "table.cbt")
    assert start(folder).wait(300) == 0, (folder / "log").read_text()
    return folder, f"seed {seed}"


@pytest.mark.long
@pytest.mark.parametrize("sink", ["parquet", "batches"])
def test_killed_stream_delivers_every_match_once(sink, spark, killed):
    folder, seed = killed
    rows = spark.read.parquet(str(folder / sink / "out")).collect()
    pairs = [(file, x) for file in range(FILES[sink]) for x in range(ROWS)]
    expected = [(*pair, "all") for pair in pairs] + [(*pair, "low") for pair in pairs if pair[1] < 20]
    assert sorted((row.file, row.x, row.rule) for row in rows) == sorted(expected), seed


@pytest.mark.long
def test_killed_stream_with_a_new_table_loses_and_duplicates_nothing(killed):
    folder, seed = killed
    rows = ds.dataset(folder / "routed" / "out" / "matches", partitioning="hive").to_table().to_pylist()
    versions = {row["file"]: row["version"] for row in rows}
    assert len({(row["file"], row["version"]) for row in rows}) == len(versions) == FILES["routed"], seed
    old = min(rows, key=lambda row: row["batch"])["version"]
    of_old = {file for file in versions if versions[file] == old}
    expected = Counter()
    for file in range(FILES["routed"]):
        for x in range(ROWS):
            names = ("low", "all") if file in of_old and x < 20 else ("all",) if file in of_old else ()
            names = ("high",) if file not in of_old and x >= 45 else names
            expected.update((file, x, name) for name in names)
    assert Counter((row["file"], row["x"], row["rule"]) for row in rows) == expected, seed
    assert len({*versions.values()}) == 2, seed
