"""Stored results of stages, with manifests.

A result is a folder, usually of Parquet files, with the manifest `_cbnet.json`, which is written last: a folder with a
manifest is complete. Its fingerprint covers the stage, its parameters, the fingerprints of its inputs and the version
of cbnet; the rows of a stage depend on nothing else.

Folders may be on any file system that Spark can write to. Local manifests are read without Spark.
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

MANIFEST = "_cbnet.json"

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Provenance:
    """Everything that determines a result."""

    stage: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)  # name -> fingerprint
    version: str = cbnet.__version__

    @property
    def fingerprint(self) -> str:
        """A hash of all members: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class StoredResult:
    """A complete result."""

    folder: str
    provenance: Provenance
    rows: int
    seconds: float
    facts: Facts = field(default_factory=dict)  # counts and measures of the stage

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        return spark.read.parquet(spark_path(self.folder))


def is_local(path: str) -> bool:
    """Return whether a path is on this machine."""
    return "://" not in path


def spark_path(path: str) -> str:
    """Return a path as a URI; Spark may take a plain path for one of HDFS."""
    return f"file://{abspath(path)}" if is_local(path) else path  # noqa: PTH100, which would follow links


def write_result(
    frame: DataFrame,
    folder: str,
    provenance: Provenance,
    *,
    started: float | None = None,
    facts: Callable[[], Facts] = dict,
) -> StoredResult:
    """Write the rows of a stage to a folder; replace its contents.

    Its time counts from `started` (of `time.monotonic`), by default from this call. `facts` is called once the rows are
    written; if it raises an error, the result stays incomplete.
    """
    spark = frame.sparkSession
    started = monotonic() if started is None else started
    delete(spark, spark_path(f"{folder}/{MANIFEST}"))  # the old result is no longer complete
    frame.write.mode("overwrite").parquet(spark_path(folder))
    rows = spark.read.parquet(spark_path(folder)).count()
    return write_manifest(spark, StoredResult(folder, provenance, rows, 0.0), started, facts)


def write_manifest(
    spark: SparkSession, result: StoredResult, started: float, facts: Callable[[], Facts] = dict
) -> StoredResult:
    """Write the manifest of a filled folder; return the result with its time since `started` and its facts."""
    values = facts()
    provenance, seconds = result.provenance, round(monotonic() - started, 3)
    manifest = {**asdict(provenance), "fingerprint": provenance.fingerprint}
    manifest |= {"rows": result.rows, "seconds": seconds, "facts": values}
    write_text(spark, spark_path(f"{result.folder}/{MANIFEST}"), json.dumps(manifest, indent=2) + "\n")
    return StoredResult(result.folder, provenance, result.rows, seconds, values)


def read_result(spark: SparkSession | None, folder: str) -> StoredResult | None:
    """Return the result in a folder; None if there is none or it is incomplete.

    Without a session only local folders can be read.
    """
    text = _read(spark, f"{folder}/{MANIFEST}")
    if text is None:
        return None
    try:
        manifest = json.loads(text)
        provenance = Provenance(manifest["stage"], manifest["parameters"], manifest["inputs"], manifest["version"])
        return StoredResult(folder, provenance, manifest["rows"], manifest["seconds"], manifest["facts"])
    except (ValueError, KeyError, TypeError):
        hint = "delete the folder and run the stage again"
        raise InputError("this is not the manifest of a result", hint=hint, file=f"{folder}/{MANIFEST}") from None


def current_result(spark: SparkSession | None, folder: str, provenance: Provenance) -> StoredResult | None:
    """Return the result in a folder if it has this provenance."""
    stored = read_result(spark, folder)
    return stored if stored is not None and stored.provenance.fingerprint == provenance.fingerprint else None


def _read(spark: SparkSession | None, path: str) -> str | None:
    if is_local(path):
        try:
            return Path(path).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError:
            return ""
    if spark is None:
        raise CbnetError(f"{path}: only Spark can read this path; no session was given")
    return read_text(spark, path)
