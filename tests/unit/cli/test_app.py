"""The commands stand in the same order in the help and in the reference, and none is missing in either."""
# MERGE-DOC tests/unit/cli/test_extras.py
# """A command whose packages are not installed names them and the extra in one line."""

import re
import sys
from pathlib import Path

import pytest

from cbnet.cli.app import missing_package

REFERENCE = Path(__file__).parents[3] / "docs/reference/command-line.md"


def test_the_reference_has_every_command_of_the_help_in_its_order(cbnet):
    helped = re.findall(r"^│ ([a-z]+)  +[A-Z]", cbnet("--help").out, re.MULTILINE)
    assert len(helped) > 20
    text = REFERENCE.read_text(encoding="utf-8")
    sections = [name for name in re.findall(r"^## ([a-z]+)", text, re.MULTILINE) if name in helped]
    synopsis = [name for name in re.findall(r"^cbnet ([a-z]+)", text, re.MULTILINE) if name in helped]
    assert list(dict.fromkeys(sections)) == helped
    assert list(dict.fromkeys(synopsis)) == helped


def test_option_without_its_argument_points_to_the_help_of_the_command(cbnet):
    assert "see `cbnet match --help`" in cbnet("match", "--rules", "x.toml", "--explain").err


@pytest.mark.parametrize(
    ("module", "command", "extra"),
    [
        ("starlette.applications", "bench", "network"),
        ("prometheus_client", "router", "network"),
        ("pyspark.sql", "spark", "spark"),
        ("psutil", "pipeline", "spark"),
        ("networkx", "pipeline", "spark"),
    ],
)
def test_missing_package_is_named_with_its_extra(module, command, extra):
    error = missing_package(ModuleNotFoundError(name=module), command)
    assert error.summary == f"`cbnet {command}` needs {module.partition('.')[0]}; pip install 'cbnet[{extra}]'"


def test_module_that_the_system_lacks_is_no_package():
    error = missing_package(ModuleNotFoundError(name="resource"), "bench")
    assert error.summary == f"`cbnet bench` does not run on {sys.platform}"


def test_mistake_in_the_code_is_not_taken_for_a_missing_package():
    with pytest.raises(ModuleNotFoundError):
        missing_package(ModuleNotFoundError(name="cbnet.network.nothing"), "sub")
