import resource
import subprocess
import sys

import cbnet


def _modules_after(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_cbnet_loads_no_heavy_module():
    heavy = {
        "numpy",
        "pyarrow",
        "pandas",
        "pyspark",
        "networkx",
        "altair",
        "vl_convert",
        "asyncio",
        "rich",
    }
    for name in ("numpy", "pyarrow", "pyspark", "altair"):
        assert name in _modules_after(f"import {name}")  # it is installed, so the check below can fail
    assert not _modules_after("import cbnet") & heavy


def test_network_client_loads_no_heavy_module():
    assert not _modules_after("from cbnet import connect") & {"numpy", "pyarrow", "uvicorn"}


def test_compiling_a_table_does_not_load_pandas():
    assert "pandas" not in _modules_after("from cbnet import Table; Table.build({1: 'x > 5 and #a'})")


def test_help_is_instant():
    best = float("inf")
    for _ in range(3):
        start = _processor_seconds()
        done = subprocess.run([sys.executable, "-m", "cbnet", "--help"], capture_output=True, text=True, check=True)
        best = min(best, _processor_seconds() - start)
    assert "match" in done.stdout
    assert best < 2  # 0.4 on an idle machine


def _processor_seconds():
    """Return the processor time of ended child processes, without waiting."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_every_public_name_exists():
    assert all(hasattr(cbnet, name) for name in cbnet.__all__)


def test_dir_lists_the_public_names_only():
    assert {"connect", "connect_async", "parse"} <= {*dir(cbnet)}
    assert {name for name in dir(cbnet) if not name.startswith("__")} == {*cbnet.__all__, "spark"}


def test_spark_is_a_public_name_that_import_star_does_not_load():
    assert "pyspark" in _modules_after("import cbnet; cbnet.spark.match, cbnet.spark.register")
    assert "pyspark" in _modules_after("from cbnet.spark import match, register")
    assert "pyspark" not in _modules_after("from cbnet import *")


def test_version_is_the_installed_one(cbnet):
    from importlib.metadata import version

    assert cbnet("--version").out == f"cbnet {version('cbnet')}\n"
