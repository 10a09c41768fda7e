"""Files on any file system that Spark can use: a disk, HDFS, an object store.

Paths with the scheme `file` are read and written by Python and need no session; all others by Hadoop's file systems. A
written file appears complete or not at all.
"""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from os.path import abspath
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.hadoop_files import HadoopFiles
from cbnet.pipeline.spark.local_files import LocalFiles, local_path, scheme_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@cache
def process_folder() -> Path:
    """Return a local temporary folder that exists until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="cbnet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def spark_path(path: str) -> str:
    """Return a path as a URI: a plain path is local; Spark may take it for one of HDFS."""
    return f"file://{abspath(path)}" if scheme_of(path) is None else path  # noqa: PTH100, which would follow links


def needs_session(path: str) -> bool:
    """Return whether only Spark can read a path; a plain path is local."""
    return scheme_of(path) not in (None, "file")


def check_paths(paths: Iterable[str], master: str) -> None:
    """Raise an error if the executors of a cluster cannot reach a path, as it is one of this machine."""
    for path in () if master.startswith("local") else paths:
        if scheme_of(path) is None:
            problem = f"the executors of {master} cannot reach this path of the driver's machine"
            hint = f"use a URI such as hdfs://… or s3a://…, or {spark_path(path)} if it is shared by all machines"
            raise InputError(problem, hint=hint, file=path)


def files_at(spark: SparkSession | None, path: str) -> HadoopFiles | LocalFiles:
    """Return the file system of a URI; without a session, only that of this machine."""
    if scheme_of(path) == "file":
        return LocalFiles()
    if spark is None:
        raise CbnetError(f"{path}: only Spark can read this path; no session was given")
    return HadoopFiles(spark)


def read_text(spark: SparkSession | None, path: str) -> str | None:
    """Return the text of a file; None if there is no such file."""
    data = files_at(spark, path).read(path)
    return None if data is None else data.decode(errors="replace")


def write_text(spark: SparkSession | None, path: str, text: str) -> None:
    """Write a file; replace an existing one."""
    files_at(spark, path).write(path, text.encode())


def create_text(spark: SparkSession | None, path: str, text: str) -> bool:
    """Write a new file; return False if there is one already."""
    return files_at(spark, path).create(path, text.encode())


def list_names(spark: SparkSession | None, folder: str) -> list[str]:
    """Return the sorted names in a folder; an empty list if there is no such folder."""
    return sorted(files_at(spark, folder).names(folder))


def list_files(spark: SparkSession | None, folder: str) -> dict[str, int]:
    """Return the sizes of all files below a folder, by name; without hidden ones, whose names begin with . or _.

    A file is a folder of one file without a name.
    """
    sizes = files_at(spark, folder).sizes(folder)
    return {name: sizes[name] for name in sorted(sizes) if not re.search("(^|/)[._]", name)}


def exists(spark: SparkSession | None, path: str) -> bool:
    """Return whether a file or folder exists."""
    return files_at(spark, path).exists(path)


def delete(spark: SparkSession | None, path: str) -> None:
    """Delete a file or a folder with its contents, if it exists."""
    files_at(spark, path).delete(path)


def upload(spark: SparkSession, local: Path, path: str) -> None:
    """Copy a local file to a path."""
    files_at(spark, path).upload(local, path)


def download(spark: SparkSession, path: str, local: Path) -> None:
    """Copy a file from a path to a local file."""
    draft = local.with_name(f"{local.name}.draft")
    files_at(spark, path).download(path, draft)
    draft.replace(local)


def fetch(spark: SparkSession | None, path: str) -> Path:
    """Return a local file with the content of a path: the file itself if it is local, else a copy.

    A copy keeps the name, by which readers know the format. It is made again if size or time of the file have changed.
    """
    local = local_path(spark_path(path))
    if local is not None:
        return local
    if spark is None:
        raise CbnetError(f"{path}: only Spark can read this path; no session was given")
    state = HadoopFiles(spark).state(path)
    if state is None:
        raise InputError("there is no such file", file=path)
    folder = process_folder() / hashlib.sha256(f"{path} {state}".encode()).hexdigest()[:16]
    copy = folder / path.rpartition("/")[2]
    if not copy.exists():
        folder.mkdir(exist_ok=True)
        download(spark, path, copy)
    return copy
