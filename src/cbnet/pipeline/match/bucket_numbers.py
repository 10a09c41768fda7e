"""The buckets of rules: a public hash, which needs no Spark."""

from __future__ import annotations

import zlib

BUCKET = "bucket"  # the column; a bucket is a folder such as bucket=3
JOB_BUCKETS = 16
STREAM_BUCKETS = 4  # of each micro-batch, which has fewer matches


def bucket_of(rule: str | int, buckets: int) -> int:
    """Return the bucket of a rule: the CRC-32 of its text modulo the number of buckets."""
    return zlib.crc32(str(rule).encode()) % buckets


def may_have(file: str, rule: str | int, buckets: int) -> bool:
    """Return whether a file, named with the folder of its bucket, may have matches of a rule."""
    return not buckets or f"{BUCKET}={bucket_of(rule, buckets)}" in file.split("/")
