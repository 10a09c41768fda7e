"""Stored files: how are small files kept wherever Spark can write: a disk, HDFS, S3?

A file that is written appears whole or not at all, where the file system can rename.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def read_text(spark: SparkSession, path: str) -> str | None:
    """Return what a file says; None if there is none."""
    files, place = _file(spark, path)
    if not files.exists(place):
        return None
    java: Any = spark.sparkContext._jvm
    stream = files.open(place)
    try:
        return bytes(java.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
    finally:
        stream.close()


def write_text(spark: SparkSession, path: str, text: str) -> None:
    """Write a file, over what is there."""
    files, draft = _file(spark, _draft(path))
    stream = files.create(draft, True)
    try:
        stream.write(bytearray(text.encode()))
        stream.hsync()
    finally:
        stream.close()
    _rename(spark, path)


def names_in(spark: SparkSession, folder: str) -> list[str]:
    """Return the names of what is in a folder, in their order; of none, if there is no such folder."""
    files, place = _file(spark, folder)
    if not files.exists(place):
        return []
    return sorted(str(found.getPath().getName()) for found in files.listStatus(place))


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether there is such a file or folder."""
    files, place = _file(spark, path)
    return bool(files.exists(place))


def delete(spark: SparkSession, path: str) -> None:
    """Delete a file or folder and all that is in it, if it is there."""
    files, place = _file(spark, path)
    files.delete(place, True)


def store(spark: SparkSession, local: Path, path: str) -> None:
    """Copy a file of this machine to a path."""
    files, draft = _file(spark, _draft(path))
    java: Any = spark.sparkContext._jvm
    files.copyFromLocalFile(False, True, java.org.apache.hadoop.fs.Path(local.absolute().as_uri()), draft)
    _rename(spark, path)


def fetch(spark: SparkSession, path: str, local: Path) -> None:
    """Copy a file from a path to this machine."""
    files, place = _file(spark, path)
    java: Any = spark.sparkContext._jvm
    draft = local.with_name(f"{local.name}.draft")
    files.copyToLocalFile(False, place, java.org.apache.hadoop.fs.Path(draft.absolute().as_uri()), True)
    draft.replace(local)


def _draft(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.draft"


def _rename(spark: SparkSession, path: str) -> None:
    files, place = _file(spark, path)
    draft = _file(spark, _draft(path))[1]
    files.delete(place, False)
    files.rename(draft, place)


# Hadoop's files are not typed in Python.
def _file(spark: SparkSession, path: str) -> tuple[Any, Any]:
    java: Any = spark.sparkContext._jvm
    place = java.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), place
