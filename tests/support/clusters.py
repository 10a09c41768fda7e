"""A Spark cluster of its own processes on the loopback interface: a master, and workers with a core each."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_PATIENCE = 120  # seconds until all workers must be there


@contextmanager
def standalone_cluster(folder, workers=2, memory="1g"):
    """Start a cluster that works in a folder; give the address of its master. Spark is not imported here."""
    port, page = _free_port(), _free_port()
    master = f"spark://127.0.0.1:{port}"
    started = []
    try:
        started.append(_start(folder, "master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", page))
        _wait(page, 0)
        for number in range(workers):
            room = ["--cores", 1, "--memory", memory, "--work-dir", folder / f"worker{number}"]
            started.append(_start(folder, "worker.Worker", "--host", "127.0.0.1", "--webui-port", 0, *room, master))
        _wait(page, workers)
        yield master
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(folder, name, *arguments):
    """Start a daemon of Spark; its script becomes the Java process."""
    import pyspark

    from cbnet.pipeline.spark.java import java_home

    spark = Path(pyspark.__path__[0])
    environment = {**os.environ, "SPARK_HOME": str(spark), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    home = java_home(lambda: folder)
    if home is not None:
        environment["JAVA_HOME"] = str(home)
    command = [spark / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments]
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen([*map(str, command)], env=environment, stdout=log, stderr=log, cwd=folder)


def _wait(page, workers):
    """Wait until the master's page says that so many workers live."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            with urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                if json.load(answer)["aliveworkers"] >= workers:
                    return
        except (URLError, OSError):
            pass  # it does not listen yet
        time.sleep(0.2)
    raise TimeoutError(f"{workers} workers did not come within {_PATIENCE} s")


def _free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]
