"""Commands and imports whose packages are not installed; other tests keep their modules."""

import subprocess
import sys

import pytest


def _run(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_command_without_its_package_ends_in_one_line():
    code = "import runpy, sys; sys.modules['psutil'] = None; runpy.run_module('cbnet', run_name='__main__')"
    done = _run(code, "pipeline", "run", "pipeline.toml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: `cbnet pipeline` needs psutil; pip install 'cbnet[spark]'\n"


@pytest.mark.parametrize("command", ["lab", "bench"])
def test_command_of_the_laboratory_names_the_package_that_has_it(command):
    code = (
        "import importlib.metadata as metadata, runpy\n"
        "metadata.entry_points = lambda **_: ()\n"
        "runpy.run_module('cbnet', run_name='__main__')"
    )
    done = _run(code, command, "--json")
    assert (done.returncode, done.stderr) == (2, "")
    assert f"`cbnet {command}` is in the laboratory" in done.stdout
    assert "pip install ./lab" in done.stdout
    assert "lab" not in _run(code, "--help").stdout


def test_old_path_of_the_laboratory_names_the_package_that_has_it():
    done = _run("from cbnet.lab.workload import filters")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "cbnet.lab is now cbnet_lab: install cbnet-lab, from a checkout by `pip install ./lab`\n"
    )


def test_journal_without_its_package_is_named_in_one_line():
    code = "import runpy, sys; sys.modules['psycopg'] = None; runpy.run_module('cbnet', run_name='__main__')"
    done = _run(code, "router", "--name", "a", "--listen", "127.0.0.1:0", "--journal", "postgresql:///cbnet")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: a journal in PostgreSQL needs psycopg" in done.stderr
    assert done.stderr.endswith("pip install 'cbnet[postgresql]'\n")
    assert "Traceback" not in done.stderr
