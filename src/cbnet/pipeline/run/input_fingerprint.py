"""Fingerprints of input files, by name, size and modification time.

Files are not read: gigabytes would take longer than most stages. Their location does not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.spark.filesystem import files_at, needs_session, spark_path

FileStatus: TypeAlias = tuple[str, int, int]  # name below the path, bytes, milliseconds


def files_fingerprint(paths: Sequence[str], spark: SparkSession | None = None) -> str:
    """Return a fingerprint of the files of paths, folders and patterns; remote ones need a session."""
    listed = [sorted(_files(spark, path)) for path in paths]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _files(spark: SparkSession | None, path: str) -> Iterator[FileStatus]:
    uri = spark_path(path)
    found = [*files_at(spark, uri).matches(uri)]
    if not found:
        hint = None if needs_session(path) else "paths are relative to the configuration file"
        raise InputError(f"no file matches {path!r}", hint=hint)
    # Spark does not read hidden files either.
    yield from (file for file in found if not file[0].rpartition("/")[2].startswith((".", "_")))
