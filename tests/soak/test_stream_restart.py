"""A stream that is killed several times at random points loses and duplicates nothing."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter

import pyarrow.dataset as ds
import pytest
from support.clusters import kill_group
from support.pipeline_runs import JAVA_OPTIONS, wait_for

from cbnet import Table

FILES = 8
ROWS = 50
KILLS = 2
OLD, NEW = {"low": "x < 20", "all": "true"}, {"high": "x >= 45"}
SETTINGS = ["spark.driver.memory=1g", "spark.ui.enabled=false", "spark.sql.shuffle.partitions=2"]
SETTINGS += [f"spark.driver.extraJavaOptions={JAVA_OPTIONS}"]


def start(folder):
    command = [sys.executable, "-m", "cbnet", "spark", "stream", folder / "in", "--format", "json"]
    command += ["--schema", "file int, x int", "--rules", folder / "table.cbt", "--output", folder / "out", "--once"]
    command += ["--option", "maxFilesPerTrigger=1", "--buckets", "2", "--master", "local[2]"]
    command += [part for setting in SETTINGS for part in ("--conf", setting)]
    with (folder / "log").open("ab") as log:
        # A process group of its own, so that Java dies at the same moment.
        return subprocess.Popen([*map(str, command)], stdout=log, stderr=log, start_new_session=True)


def begun(folder):
    """Return the number of batches that have begun: Spark has stored their offsets."""
    return len([*(folder / "out" / "_checkpoint" / "offsets").glob("[0-9]*")])


def kill_at_random(folder, rng, batches):
    """Start the stream, wait until it begins so many new batches, and kill it at a random time after."""
    before, process = begun(folder), start(folder)
    wait_for(lambda: begun(folder) >= before + batches, process)
    time.sleep(rng.uniform(0, 1.5))
    kill_group(process)


@pytest.mark.long
def test_killed_stream_loses_and_duplicates_nothing(tmp_path):
    seed = 0 if os.environ.get("CI") else random.randrange(10**6)
    rng = random.Random(seed)
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        lines = [json.dumps({"file": number, "x": x}) for x in range(ROWS)]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines) + "\n")
    Table.build(OLD).save(tmp_path / "table.cbt")
    for number in range(KILLS):
        kill_at_random(tmp_path, rng, batches=1 if number else 2)  # the old table has matched batch 0
        if number == 0:
            Table.build(NEW).save(tmp_path / "table.cbt")
    assert begun(tmp_path) < FILES, f"seed {seed}: the stream ended before it was killed"
    last = start(tmp_path)
    assert last.wait(180) == 0, (tmp_path / "log").read_text()

    rows = ds.dataset(tmp_path / "out" / "matches", partitioning="hive").to_table().to_pylist()
    versions = {row["file"]: row["version"] for row in rows}
    assert len({(row["file"], row["version"]) for row in rows}) == len(versions) == FILES, f"seed {seed}"
    old = min(rows, key=lambda row: row["batch"])["version"]
    of_old = {file for file in versions if versions[file] == old}
    expected = Counter()
    for file in range(FILES):
        for x in range(ROWS):
            names = ("low", "all") if file in of_old and x < 20 else ("all",) if file in of_old else ()
            names = ("high",) if file not in of_old and x >= 45 else names
            expected.update((file, x, name) for name in names)
    assert Counter((row["file"], row["x"], row["interface"]) for row in rows) == expected, f"seed {seed}"
    assert len({*versions.values()}) == 2, f"seed {seed}"
