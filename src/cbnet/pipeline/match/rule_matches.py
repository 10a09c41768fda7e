"""The stored matches of one rule."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from cbnet.errors import InputError
from cbnet.pipeline.match.batch_folders import complete_batches, frame_of
from cbnet.pipeline.match.batch_matcher import RULE
from cbnet.pipeline.match.bucket_numbers import may_have
from cbnet.pipeline.spark.results import read_result


def read_rule(spark: SparkSession, out: str, rule: str | int) -> DataFrame:
    """Return the matches of one rule in the output folder of a job or stream; only its buckets are read.

    Manifests tell the number of buckets, which batches of a stream may differ in.
    """
    result = read_result(spark, f"{out}/matches")
    if result is None:
        rows = _of_stream(spark, out, rule)
    else:
        buckets = result.provenance.parameters["buckets"]
        files = [file for file in result.snapshot.files if may_have(file.name, rule, buckets)]
        rows = replace(result.snapshot, files=files).frame(spark)
    if RULE not in rows.columns:
        hint = "run the job again, or filter by the column interface"
        raise InputError("these matches were written by cbnet 0.2", hint=hint, file=out)
    is_text = isinstance(rows.schema[RULE].dataType, StringType)
    return rows.where(F.col(RULE) == (str(rule) if is_text else rule))


def _of_stream(spark: SparkSession, out: str, rule: str | int) -> DataFrame:
    done = complete_batches(spark, out)
    if not done:
        hint = "give the output folder of a job or stream; one of Spark Connect has no manifest: read it with a filter"
        raise InputError("there are no complete matches", hint=hint, file=out)
    own = {
        folder: replace(
            each, files={name: size for name, size in each.files.items() if may_have(name, rule, each.buckets)}
        )
        for folder, each in done.items()
    }
    return frame_of(spark, out, own)
