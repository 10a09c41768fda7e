"""Fingerprints of input files, by name, size and modification time.

Files are not read: gigabytes would take longer than most stages. Their location does not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from glob import glob
from os.path import getmtime, getsize
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.filesystem import local_path, spark_path
from cbnet.pipeline.spark.hadoop_files import HadoopFiles

FileStatus: TypeAlias = tuple[str, int, int]  # name below the path, bytes, milliseconds


def files_fingerprint(paths: Sequence[str], spark: SparkSession | None = None) -> str:
    """Return a fingerprint of the files of paths, folders and patterns; remote ones need a session."""
    listed = []
    for path in paths:
        local = local_path(spark_path(path))
        listed.append(sorted(_remote_files(path, spark) if local is None else _local_files(str(local))))
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _local_files(path: str) -> Iterator[FileStatus]:
    matches = [path] if Path(path).exists() else sorted(glob(path))  # noqa: PTH207, patterns may be absolute
    if not matches:
        hint = "paths are relative to the configuration file"
        raise InputError(f"no file matches {path!r}", hint=hint)
    for each in map(Path, matches):
        for file in sorted(each.rglob("*")) if each.is_dir() else [each]:
            hidden = file.name.startswith((".", "_"))  # Spark does not read these either
            if file.is_file() and not hidden:
                yield str(file.relative_to(each.parent)), getsize(file), int(getmtime(file) * 1000)  # noqa: PTH202, PTH204


def _remote_files(path: str, spark: SparkSession | None) -> Iterator[FileStatus]:
    if spark is None:
        raise CbnetError(f"{path}: only Spark can read this path; no session was given")
    found = [*HadoopFiles(spark).matches(path)]
    if not found:
        raise InputError(f"no file matches {path!r}")
    for name, size, modified in found:
        if not name.rpartition("/")[2].startswith((".", "_")):
            yield name, size, modified
