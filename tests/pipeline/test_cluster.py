"""On a real cluster, with a worker that dies in the middle, the tables are those of one machine."""

import os
import re
import signal
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep

import pyspark
import pytest
from support.pipeline_runs import COMMAND, CONFIG, QUICK, rows_of, wait_for

from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.runner import run
from cbnet.pipeline.spark.java import java_home

SPARK = Path(pyspark.__path__[0])
CLASSES = "org.apache.spark.deploy"


@contextmanager
def daemon(folder, name, *arguments):
    """Run a daemon of Spark in a process group of its own, with its log in a file; in the end the group is killed."""
    home = java_home(lambda: folder)
    own = {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    environment = {**os.environ, **own, **({"JAVA_HOME": str(home)} if home else {})}
    command = [str(SPARK / "bin" / "spark-class"), *arguments]
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        kill_group(process)
        process.wait()


def kill_group(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def told(folder, name, pattern, process):
    """Wait until a daemon logs something, and return what the pattern finds."""
    log = folder / f"{name}.log"
    wait_for(lambda: re.search(pattern, log.read_text()), process)
    return re.search(pattern, log.read_text())[1]


@pytest.fixture
def cluster(tmp_path):
    """A master and two workers of one core each, on ports that were free."""
    with ExitStack() as stack:
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = stack.enter_context(daemon(tmp_path, "master", f"{CLASSES}.master.Master", *ports))
        address = told(tmp_path, "master", r"Starting Spark master at (spark://\S+)", master)
        workers = []
        for name in ("one", "two"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
            worker = daemon(tmp_path, name, f"{CLASSES}.worker.Worker", *ports, *size, address)
            workers.append(stack.enter_context(worker))
            told(tmp_path, name, r"(Successfully registered with master)", workers[-1])
        yield address, workers


def below(process):
    """Return the fields of the status of each process below one, by its number: Python leaves the group of its Java."""
    found, children = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            found[int(entry.name)] = fields, (entry / "cmdline").read_bytes()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting, reached = [process.pid], {}
    while waiting:
        for child in children.get(waiting.pop(), []):
            reached[child] = found[child]
            waiting.append(child)
    return reached


def python_ticks(process):
    """Return the processor time of Python below a worker."""
    return sum(
        int(fields[11]) + int(fields[12]) for fields, command in below(process).values() if b"pyspark.daemon" in command
    )


def python_is_busy(process):
    before = python_ticks(process)
    sleep(0.1)
    return before and python_ticks(process) > before


def kill_all(process):
    """Kill a worker and all below it: its executor and the Python of that."""
    own = [*below(process)]
    kill_group(process)
    for number in own:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


@pytest.mark.long
def test_a_worker_that_dies_changes_nothing(spark, cluster, tmp_path):
    address, workers = cluster
    (tmp_path / "run.toml").write_text(CONFIG)
    config = read_config(tmp_path / "run.toml")
    small = ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1"]
    command = [*COMMAND, str(tmp_path / "run.toml"), "--master", address, *small, *QUICK]
    command += ["--conf", f"spark.local.dir={tmp_path / 'local'}"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        before, done = (Path(config.out) / stage / "_cbnet.json" for stage in ("loads", "predicates"))
        wait_for(lambda: before.exists() and python_is_busy(workers[1]), process)
        kill_all(workers[1])
        assert not done.exists(), "the stage was over before the worker died"
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
    finally:
        kill_group(process)
        process.wait()
    reference = read_config(tmp_path / "run.toml", out=str(tmp_path / "reference"))
    assert [*run(reference, lambda: spark)][-1].name == "table1"
    for stage in ("population", "predicates", "fib", "table1"):
        assert rows_of(spark, config.out, stage) == rows_of(spark, reference.out, stage), stage
