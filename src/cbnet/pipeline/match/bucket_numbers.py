"""The buckets of interfaces: a public hash, which needs no Spark."""

from __future__ import annotations

import zlib

BUCKET = "bucket"  # the column; a bucket is a folder such as bucket=3
JOB_BUCKETS = 16
STREAM_BUCKETS = 4  # of each micro-batch, which has fewer matches


def bucket_of(interface: str | int, buckets: int) -> int:
    """Return the bucket of an interface: the CRC-32 of its text modulo the number of buckets."""
    return zlib.crc32(str(interface).encode()) % buckets


def may_have(file: str, interface: str | int, buckets: int) -> bool:
    """Return whether a file, named with the folder of its bucket, may have matches of an interface."""
    return not buckets or f"{BUCKET}={bucket_of(interface, buckets)}" in file.split("/")
