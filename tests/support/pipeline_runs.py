"""Runs of the whole pipeline as processes."""

import subprocess
import sys
from time import monotonic, sleep

from cbnet.pipeline.spark.results import read_result

COMMAND = [sys.executable, "-m", "cbnet", "pipeline", "run"]
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # the fastest start
QUICK = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=3"]
QUICK += ["--conf", "spark.driver.memory=1g", "--conf", f"spark.driver.extraJavaOptions={JAVA_OPTIONS}"]
STAGES = ["models", "population", "loads", "predicates", "fib", "table1"]
CONFIG = """
seed = 5
[network]
graph = "aslike:150"
[population]
clusters = 4000
[applications.web]
descriptors = 30
sets = 100_000
[applications.video]
"""


def start_run(folder, *options):
    """Start a run of the configuration in a folder, in a process group of its own."""
    command = [*COMMAND, str(folder / "run.toml"), *options, *QUICK, "--conf", f"spark.local.dir={folder / 'local'}"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for(condition, process, seconds=600):
    """Wait until a condition holds; fail if the process ends before, or after so many seconds."""
    end = monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert monotonic() < end, f"the condition did not hold within {seconds} s"
        sleep(0.01)


def rows_of(spark, out, stage):
    """Return all rows of a result, sorted by their text."""
    return sorted(str(row) for row in read_result(spark, f"{out}/{stage}").frame(spark).collect())
