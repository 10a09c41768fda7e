"""Small files on any file system that Spark can write to: a disk, HDFS, S3.

A written file appears complete or not at all, where the file system can rename.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


@cache
def process_folder() -> Path:
    """Return a local temporary folder that exists until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="cbnet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def read_text(spark: SparkSession, path: str) -> str | None:
    """Return the text of a file; None if there is no such file."""
    files, hadoop_path = _hadoop(spark, path)
    if not files.exists(hadoop_path):
        return None
    java: Any = spark.sparkContext._jvm
    stream = files.open(hadoop_path)
    try:
        return bytes(java.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
    finally:
        stream.close()


def write_text(spark: SparkSession, path: str, text: str) -> None:
    """Write a file; replace an existing one."""
    files, draft = _hadoop(spark, _draft(path))
    stream = files.create(draft, True)
    try:
        stream.write(bytearray(text.encode()))
        stream.hsync()
    finally:
        stream.close()
    _rename(spark, path)


def list_names(spark: SparkSession, folder: str) -> list[str]:
    """Return the sorted names in a folder; an empty list if there is no such folder."""
    files, hadoop_path = _hadoop(spark, folder)
    if not files.exists(hadoop_path):
        return []
    return sorted(str(status.getPath().getName()) for status in files.listStatus(hadoop_path))


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether a file or folder exists."""
    files, hadoop_path = _hadoop(spark, path)
    return bool(files.exists(hadoop_path))


def delete(spark: SparkSession, path: str) -> None:
    """Delete a file or a folder with its contents, if it exists."""
    files, hadoop_path = _hadoop(spark, path)
    files.delete(hadoop_path, True)


def upload(spark: SparkSession, local: Path, path: str) -> None:
    """Copy a local file to a path."""
    files, draft = _hadoop(spark, _draft(path))
    java: Any = spark.sparkContext._jvm
    files.copyFromLocalFile(False, True, java.org.apache.hadoop.fs.Path(local.absolute().as_uri()), draft)
    _rename(spark, path)


def download(spark: SparkSession, path: str, local: Path) -> None:
    """Copy a file from a path to a local file."""
    files, hadoop_path = _hadoop(spark, path)
    java: Any = spark.sparkContext._jvm
    draft = local.with_name(f"{local.name}.draft")
    files.copyToLocalFile(False, hadoop_path, java.org.apache.hadoop.fs.Path(draft.absolute().as_uri()), True)
    draft.replace(local)


def _draft(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.draft"


def _rename(spark: SparkSession, path: str) -> None:
    files, hadoop_path = _hadoop(spark, path)
    draft = _hadoop(spark, _draft(path))[1]
    files.delete(hadoop_path, False)
    files.rename(draft, hadoop_path)


# Hadoop's objects have no Python types.
def _hadoop(spark: SparkSession, path: str) -> tuple[Any, Any]:
    java: Any = spark.sparkContext._jvm
    hadoop_path = java.org.apache.hadoop.fs.Path(path)
    return hadoop_path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), hadoop_path
