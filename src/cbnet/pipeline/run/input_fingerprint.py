"""Input files: has what a stage reads changed since?

A file is taken for the same as long as its name, its size and the time of its last change are: to read gigabytes only
to find that nothing has happened would take longer than most stages. Where it lies does not matter.
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

Found: TypeAlias = tuple[str, int, int]  # name below the path, bytes, milliseconds


def files_fingerprint(paths: Sequence[str], spark: SparkSession | None = None) -> str:
    """Return a fingerprint of all files that paths, folders and patterns name; remote ones need a session."""
    listed = [sorted(_local_files(path) if is_local(path) else _remote_files(path, spark)) for path in paths]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _local_files(path: str) -> Iterator[Found]:
    given = [path] if Path(path).exists() else sorted(glob(path))  # noqa: PTH207, patterns may be absolute
    if not given:
        raise InputError(f"there is no file, folder or pattern {path!r}", hint="paths begin at the configuration")
    for each in map(Path, given):
        for file in sorted(each.rglob("*")) if each.is_dir() else [each]:
            hidden = file.name.startswith((".", "_"))  # as Spark, which does not read these
            if file.is_file() and not hidden:
                yield str(file.relative_to(each.parent)), getsize(file), int(getmtime(file) * 1000)  # noqa: PTH202, PTH204


def _remote_files(path: str, spark: SparkSession | None) -> Iterator[Found]:
    if spark is None:
        raise CbnetError(f"{path} can be read through Spark alone")
    java: Any = spark.sparkContext._jvm
    place = java.org.apache.hadoop.fs.Path(path)
    files = place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    given = files.globStatus(place)
    if not given:
        raise InputError(f"there is no file, folder or pattern {path!r}")
    for each in given:
        below = files.listFiles(each.getPath(), True)
        while below.hasNext():
            file = below.next()
            yield file.getPath().getName(), file.getLen(), file.getModificationTime()
