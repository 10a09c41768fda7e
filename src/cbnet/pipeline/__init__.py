"""The pipeline from raw traces to the forwarding tables of an Internet-size network, on Spark [2014 §4].

The only package that imports pyspark. Logic lives in plain functions; a stage is schema in, DataFrame out.

    files ─► readers ─► tagged, posts, counts, follows ─► derivations ─► descriptors
"""

from __future__ import annotations

from importlib.util import find_spec

from cbnet.errors import CbnetError

if find_spec("pyspark") is None:
    raise CbnetError("the pipeline needs Spark: pip install 'cbnet[spark]'")
