"""The map of the package, which stands in its docstring, names every module."""

import re
from pathlib import Path

from cbnet import network


def test_every_module_is_on_the_map():
    named = set(re.findall(r"\w+", network.__doc__))
    modules = {path.stem for path in Path(network.__file__).parent.glob("*.py")} - {"__init__"}
    assert len(modules) > 50
    assert modules <= named
