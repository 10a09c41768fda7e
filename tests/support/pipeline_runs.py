"""Runs of the whole pipeline as processes."""

import subprocess
import sys
from time import monotonic, sleep

from cbnet.pipeline.spark.results import read_result

COMMAND = [sys.executable, "-m", "cbnet", "pipeline", "run"]
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # the fastest start
# Compiling each of many tiny queries takes longer than running it.
SETTINGS = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.memory": "1g",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
}
STAGES = ["models", "population", "loads", "predicates", "fib", "table1"]
CONFIG = """
seed = 5
[network]
graph = "aslike:150"
[population]
clusters = 4000
[applications.web]
descriptors = 30
users = 100_000
[applications.video]
"""


def start_run(folder, *options):
    """Start a run of the configuration in a folder, in a process group of its own."""
    settings = {**SETTINGS, "spark.local.dir": folder / "local"}
    confs = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [*COMMAND, str(folder / "run.toml"), *options, *confs]
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
