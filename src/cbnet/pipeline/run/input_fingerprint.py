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
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.results import is_local

FileStatus: TypeAlias = tuple[str, int, int]  # name below the path, bytes, milliseconds


def files_fingerprint(paths: Sequence[str], spark: SparkSession | None = None) -> str:
    """Return a fingerprint of the files of paths, folders and patterns; remote ones need a session."""
    listed = [sorted(_local_files(path) if is_local(path) else _remote_files(path, spark)) for path in paths]
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
    java: Any = spark.sparkContext._jvm
    hadoop_path = java.org.apache.hadoop.fs.Path(path)
    files = hadoop_path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    matches = files.globStatus(hadoop_path)
    if not matches:
        raise InputError(f"no file matches {path!r}")
    for each in matches:
        below = files.listFiles(each.getPath(), True)
        while below.hasNext():
            file = below.next()
            yield file.getPath().getName(), file.getLen(), file.getModificationTime()
