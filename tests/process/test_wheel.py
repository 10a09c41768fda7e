"""What a wheel contains.

Compiling a wheel takes minutes and is left to the release workflow, which runs the same check on the real ones. Here only
the files are collected, as the build would.
"""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def check():
    return runpy.run_path(str(ROOT / ".ci/check_wheels.py"))


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Return the files that the build copies into a wheel, besides kernels."""
    code = "from setuptools import setup; setup()"  # without setup.py, which would translate the kernels
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", code, "--quiet", "build_py", "--build-lib", str(target)]
    subprocess.run(command, cwd=ROOT, check=True)
    return {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}


def test_wheel_has_every_file_of_the_package_and_no_source_of_a_kernel(check, collected):
    kernels = {
        f"cbnet/_kernels/{name}.cpython-311-x86_64-linux-gnu.so"
        for name in check["expected_kernels"](ROOT / "src/cbnet")
    }
    assert check["faults"](collected | kernels) == []
    assert not [name for name in collected if re.search(r"(?<![a-z])(bench|rival|fault|workload|experiment)", name)]
    assert {"cbnet/py.typed", "cbnet/_kernels/pivot_table.pyi", "cbnet/network/http/openapi.json"} <= collected


def test_check_reports_what_is_missing_and_what_does_not_belong(check, collected):
    names = (collected - {"cbnet/py.typed"}) | {"cbnet/_kernels/arrays.pyx", "tests/conftest.py"}
    found = check["faults"](names)
    assert found[:3] == [
        "missing: cbnet/py.typed",
        "not expected: cbnet/_kernels/arrays.pyx",
        "not expected: tests/conftest.py",
    ]
    assert "kernel missing: _shared" in found


def test_both_distributions_and_the_changelog_have_one_version():
    import cbnet

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    lab = tomllib.loads((ROOT / "lab/pyproject.toml").read_text())["project"]
    assert lab["version"] == cbnet.__version__
    assert [each for each in lab["dependencies"] if each.startswith("cbnet")] == [
        f"cbnet[network,postgresql,signatures]=={cbnet.__version__}"
    ]
    heading = next(line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert heading.split()[1] == cbnet.__version__
