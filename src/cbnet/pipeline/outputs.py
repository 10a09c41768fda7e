"""Outputs: how is a result kept, so that one can tell what made it, and need not make it again?

A result is a folder of Parquet files with `_cbnet.json` in it, which is written last: where it is, the result is
whole. Its fingerprint is that of the stage, its parameters, the fingerprints of its inputs and the version of cbnet.
What a stage returns depends on nothing else.

Folders may be anywhere that Spark can write to; the file goes there by the same way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import cbnet
from cbnet.errors import InputError

ABOUT = "_cbnet.json"


@dataclass(frozen=True)
class Made:
    """What made a result."""

    stage: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)  # name -> fingerprint
    version: str = cbnet.__version__

    @property
    def fingerprint(self) -> str:
        """A number that differs wherever anything differs, as 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """A result that is whole."""

    folder: str
    made: Made
    rows: int
    seconds: float

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        return spark.read.parquet(self.folder)


def write_result(frame: DataFrame, folder: str, made: Made) -> Result:
    """Write a stage's rows to a folder, over what is there; its time is that of all work that the rows still need."""
    spark = frame.sparkSession
    started = monotonic()
    _delete(spark, f"{folder}/{ABOUT}")  # what was there is not whole any more
    frame.write.mode("overwrite").parquet(folder)
    result = Result(folder, made, spark.read.parquet(folder).count(), round(monotonic() - started, 3))
    about = {**asdict(made), "fingerprint": made.fingerprint, "rows": result.rows, "seconds": result.seconds}
    _write(spark, f"{folder}/{ABOUT}", json.dumps(about, indent=2) + "\n")
    return result


def read_result(spark: SparkSession, folder: str) -> Result | None:
    """Return the result in a folder; None if there is none, or only a part of one."""
    text = _read(spark, f"{folder}/{ABOUT}")
    if text is None:
        return None
    try:
        about = json.loads(text)
        made = Made(about["stage"], about["parameters"], about["inputs"], about["version"])
        return Result(folder, made, about["rows"], about["seconds"])
    except (ValueError, KeyError, TypeError):
        hint = "delete the folder, so that it is made anew"
        raise InputError("this does not say what made the result", hint=hint, file=f"{folder}/{ABOUT}") from None


def is_done(spark: SparkSession, folder: str, made: Made) -> Result | None:
    """Return the result in a folder if it is what this would make."""
    found = read_result(spark, folder)
    return found if found is not None and found.made.fingerprint == made.fingerprint else None


# Hadoop's files are not typed in Python.
def _file(spark: SparkSession, path: str) -> tuple[Any, Any]:
    java: Any = spark.sparkContext._jvm
    place = java.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), place


def _write(spark: SparkSession, path: str, text: str) -> None:
    files, place = _file(spark, path)
    stream = files.create(place, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def _read(spark: SparkSession, path: str) -> str | None:
    files, place = _file(spark, path)
    if not files.exists(place):
        return None
    java: Any = spark.sparkContext._jvm
    stream = files.open(place)
    try:
        return bytes(java.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
    finally:
        stream.close()


def _delete(spark: SparkSession, path: str) -> None:
    files, place = _file(spark, path)
    files.delete(place, False)
