"""Matching on Spark: the public names of `cbnet.pipeline.match`.

`import cbnet` is enough; Spark is imported when `cbnet.spark` is first used.

    cbnet.spark.match(trades, "table.cbt", key="id")       # DataFrames, batch and stream
    cbnet.spark.register(spark, "rules_of", "table.cbt")     # SQL
"""

from cbnet.pipeline.match.dataframe_matcher import match
from cbnet.pipeline.match.match_stream import MatchStream, StreamJob
from cbnet.pipeline.match.router_source import RouterSource
from cbnet.pipeline.match.sql_functions import register
from cbnet.pipeline.match.stored_matches import read_rule
from cbnet.pipeline.match.table_versions import TableVersions

__all__ = [
    "MatchStream",
    "RouterSource",
    "StreamJob",
    "TableVersions",
    "match",
    "read_rule",
    "register",
]
