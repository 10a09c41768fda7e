"""Outputs: how is a result kept, so that one can tell what made it, and need not make it again?

A result is a folder, of Parquet files most often, with `_cbnet.json` in it, which is written last: where it is, the
result is whole. Its fingerprint is that of the stage, its parameters, the fingerprints of its inputs and the version of
cbnet. What a stage returns depends on nothing else.

Folders may be anywhere that Spark can write to; the file goes there by the same way. On this machine it is read
without Spark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from os.path import abspath
from pathlib import Path
from time import monotonic
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import cbnet
from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.filesystem import delete, read_text, write_text

ABOUT = "_cbnet.json"

Facts = Mapping[str, Any]


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
    facts: Facts = field(default_factory=dict)  # what else was found out while it was made

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        return spark.read.parquet(spark_path(self.folder))


def is_local(path: str) -> bool:
    """Return whether a path is of this machine's files."""
    return "://" not in path


def spark_path(path: str) -> str:
    """Return a path as Spark takes it for the same file; its own idea of a plain path may be one of HDFS."""
    return f"file://{abspath(path)}" if is_local(path) else path  # noqa: PTH100, which would follow links


def write_result(
    frame: DataFrame,
    folder: str,
    made: Made,
    *,
    started: float | None = None,
    facts: Callable[[], Facts] = dict,
) -> Result:
    """Write a stage's rows to a folder, over what is there.

    Its time is that since `started` (of `time.monotonic`), or else that of all work that the rows still need. `facts`
    are asked for once the rows are written; if that raises an error, the result is not whole.
    """
    spark = frame.sparkSession
    started = monotonic() if started is None else started
    delete(spark, spark_path(f"{folder}/{ABOUT}"))  # what was there is not whole any more
    frame.write.mode("overwrite").parquet(spark_path(folder))
    rows = spark.read.parquet(spark_path(folder)).count()
    return mark_whole(spark, Result(folder, made, rows, 0.0), started, facts)


def mark_whole(spark: SparkSession, result: Result, started: float, facts: Callable[[], Facts] = dict) -> Result:
    """Write what made a result, whose folder is filled, and return it with its time since `started` and its facts."""
    found = facts()
    result = Result(result.folder, result.made, result.rows, round(monotonic() - started, 3), found)
    about = {**asdict(result.made), "fingerprint": result.made.fingerprint}
    about |= {"rows": result.rows, "seconds": result.seconds, "facts": result.facts}
    write_text(spark, spark_path(f"{result.folder}/{ABOUT}"), json.dumps(about, indent=2) + "\n")
    return result


def read_result(spark: SparkSession | None, folder: str) -> Result | None:
    """Return the result in a folder; None if there is none, or only a part of one.

    Without a session only folders of this machine can be read.
    """
    text = _read(spark, f"{folder}/{ABOUT}")
    if text is None:
        return None
    try:
        about = json.loads(text)
        made = Made(about["stage"], about["parameters"], about["inputs"], about["version"])
        return Result(folder, made, about["rows"], about["seconds"], about["facts"])
    except (ValueError, KeyError, TypeError):
        hint = "delete the folder, so that it is made anew"
        raise InputError("this does not say what made the result", hint=hint, file=f"{folder}/{ABOUT}") from None


def is_done(spark: SparkSession | None, folder: str, made: Made) -> Result | None:
    """Return the result in a folder if it is what this would make."""
    found = read_result(spark, folder)
    return found if found is not None and found.made.fingerprint == made.fingerprint else None


def _read(spark: SparkSession | None, path: str) -> str | None:
    if is_local(path):
        try:
            return Path(path).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError:
            return ""
    if spark is None:
        raise CbnetError(f"{path} can be read through Spark alone")
    return read_text(spark, path)
