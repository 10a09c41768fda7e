"""Runs of the whole pipeline in processes of their own: what they are made of, and how to wait for them."""

import sys
from time import monotonic, sleep

COMMAND = [sys.executable, "-m", "cbnet", "pipeline", "run"]
QUICK = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=3"]
QUICK += ["--conf", "spark.driver.memory=1g", "--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"]
CONFIG = """
seed = 5
[network]
graph = "aslike:150"
[population]
clusters = 6000
[applications.web]
descriptors = 30
sets = 100_000
[applications.video]
"""


def wait_for(seen, process, seconds=600):
    """Wait until something is seen; it is a failure if the process ends before, or if it takes too long."""
    end = monotonic() + seconds
    while not seen():
        assert process.poll() is None, process.communicate()[0]
        assert monotonic() < end, "nothing happened for too long"
        sleep(0.01)


def rows_of(spark, out, stage):
    """Return all rows of a result, sorted by their text."""
    return sorted(str(row) for row in spark.read.parquet(f"{out}/{stage}").collect())
