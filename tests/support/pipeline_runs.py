"""Runs of the whole pipeline as processes."""

import subprocess
import sys
from time import monotonic, sleep

from support.java_options import JAVA_OPTIONS

from cbnet.pipeline.spark.results import read_result

COMMAND = [sys.executable, "-m", "cbnet", "pipeline", "run"]
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
NODES = 150
CONFIG = """
seed = 5
[network]
graph = "{top}/tree.txt"
users = "{top}/users.csv"
[population]
clusters = 1000
[applications.web]
descriptors = 10
users = 10_000
[applications.video]
"""


def write_inputs(folder):
    """Write the files of the configuration, whose `top` is the folder, or its URI."""
    (folder / "tree.txt").write_text("".join(f"{node // 3} {node}\n" for node in range(1, NODES)))
    (folder / "users.csv").write_text("asn,users\n" + "".join(f"{node},{node + 1}\n" for node in range(NODES)))


def confs(settings):
    """Return the options of a command for these settings of Spark."""
    return [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]


def start_run(folder, *options):
    """Start a run of the configuration in a folder, in a process group of its own."""
    command = [*COMMAND, str(folder / "run.toml"), *options, *confs({**SETTINGS, "spark.local.dir": folder / "local"})]
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
