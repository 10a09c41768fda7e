"""A command whose packages are not installed names them and the extra in one line."""

import sys

import pytest

from cbnet.cli.extras import missing_package


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
