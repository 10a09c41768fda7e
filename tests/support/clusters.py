"""Spark clusters of separate processes on the loopback interface: a master, and workers of one core each."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pyspark
from support.java_options import JAVA_OPTIONS
from support.pipeline_runs import SETTINGS, wait_for

from cbnet.pipeline.spark.java import java_home

SPARK = Path(pyspark.__path__[0])


@contextmanager
def standalone_cluster(folder, workers=2):
    """Start a cluster that works in a folder; yield the address of its master and the processes of its workers."""
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    environment["SPARK_DAEMON_JAVA_OPTS"] = JAVA_OPTIONS
    environment["JAVA_HOME"] = str(java_home(folder / "java"))
    ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as stack:
        master = stack.enter_context(_daemon(folder, environment, "master", "master.Master", *ports))
        address = _wait_for_log(folder, "master", r"Starting Spark master at (spark://\S+)", master)
        started = {}
        for name in (f"worker-{number}" for number in range(workers)):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
            daemon = _daemon(folder, environment, name, "worker.Worker", *ports, *size, address)
            started[name] = stack.enter_context(daemon)
        for name, worker in started.items():
            _wait_for_log(folder, name, r"(Successfully registered with master)", worker)
        yield address, [*started.values()]


@contextmanager
def connect_server(folder, *settings):
    """Start a Spark Connect server with two cores that works in a folder; yield its address."""
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(java_home(folder / "java"))}
    service = "org.apache.spark.sql.connect.service"
    settings = [f"{key}={value}" for key, value in SETTINGS.items()] + ["spark.driver.host=127.0.0.1", *settings]
    settings += ["spark.connect.grpc.binding.address=127.0.0.1", "spark.connect.grpc.binding.port=0"]
    command = [str(SPARK / "bin" / "spark-submit"), "--class", f"{service}.SparkConnectServer", "--master", "local[2]"]
    command += [part for setting in settings for part in ("--conf", setting)]
    with _process(folder, environment, "connect", [*command, "spark-internal"]) as server:
        port = _wait_for_log(
            folder, "connect", rf"started service '{service}.SparkConnectService' on port (\d+)", server
        )
        yield f"sc://127.0.0.1:{port}"


def kill_tree(process):
    """Kill a process and all its descendants: a worker, its executor and the Python of that."""
    with suppress(psutil.NoSuchProcess):
        for each in [*psutil.Process(process.pid).children(recursive=True), process]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait()


def kill_group(process):
    """Kill a process that was started in a session of its own, with its Java."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def has_python(process):
    """Return whether an executor of a worker has started Python, which it does for its first task in Python."""
    with suppress(psutil.NoSuchProcess):
        for each in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if "pyspark.daemon" in each.cmdline():
                    return True
    return False


@contextmanager
def _daemon(folder, environment, name, class_name, *arguments):
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}", *arguments]
    with _process(folder, environment, name, command) as process:
        yield process


@contextmanager
def _process(folder, environment, name, command):
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        kill_group(process)


def _wait_for_log(folder, name, pattern, process):
    """Wait until a daemon logs something, and return what the pattern finds."""
    log = folder / f"{name}.log"
    wait_for(lambda: re.search(pattern, log.read_text()), process)
    return re.search(pattern, log.read_text())[1]
