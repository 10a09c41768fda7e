"""The pipeline from raw traces to the forwarding tables of an Internet-size network, on Spark [2014 §4].

The only package that imports pyspark. Logic lives in plain functions; a stage is schema in, DataFrame out.

    files ─► readers ─► tagged, posts, counts, follows ─► derivations ─► descriptors
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from cbnet.errors import CbnetError

_MIN_VERSION = (4, 1)  # the first with Arrow writers for streams

if find_spec("pyspark") is None:
    raise CbnetError("the pipeline needs Spark: pip install 'cbnet[spark]'")
_version: str = import_module("pyspark").__version__
if tuple(map(int, _version.split(".")[:2])) < _MIN_VERSION:
    needed = ".".join(map(str, _MIN_VERSION))
    raise CbnetError(f"PySpark {_version} is too old, {needed} or newer is needed: pip install 'pyspark>={needed},<5'")
