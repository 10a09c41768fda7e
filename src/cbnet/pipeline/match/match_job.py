"""The match job: files of messages and a table in; matches, counts and a summary out.

out/matches/bucket=…    a row for each message and each of its interfaces; see `interface_buckets`
out/counts              the number of matches of each interface, sorted by interface
out/rejected            the rows that are not valid messages, each with its `_error`; absent if there are none
out/_cbnet.json         the manifest; written last: a folder with it is complete

Under Spark Connect a client cannot delete or write single files: there the output folder must be new, and a result
has no manifest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.batch_matcher import COLUMN, DROP, ERROR, FAIL, OnError
from cbnet.pipeline.match.dataframe_matcher import (
    dead_letters,
    interface_type,
    match_shipped,
    message_columns_of,
    used_names,
)
from cbnet.pipeline.match.interface_buckets import BUCKETS, interface_counts, write_matches
from cbnet.pipeline.match.match_counts import MatchCounts, new_observation, observed_counts
from cbnet.pipeline.match.message_columns import AttributeColumn, attributes_of, unknown_attributes
from cbnet.pipeline.match.message_dataframes import MessageFrame, read_messages
from cbnet.pipeline.match.shipped_tables import AnyTable, ShippedTable, joint_version, ship_tables
from cbnet.pipeline.spark.filesystem import check_paths, delete, list_names, spark_path, write_text
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import MANIFEST, Provenance
from cbnet.pipeline.spark.session import heap_bytes, machine_memory
from cbnet.pipeline.spark.session_target import is_connect

_OUTPUT_NAMES = {"matches", "counts", "rejected", MANIFEST}


@dataclass(frozen=True)
class MatchJob:
    """The messages, the tables and the form of the result."""

    messages: Sequence[str]
    format: str
    tables: Sequence[AnyTable]
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    key: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    filters: bool = False
    buckets: int = BUCKETS
    on_error: OnError = COLUMN

    def read(self, spark: SparkSession) -> MessageFrame:
        """Return the messages."""
        paths = self.messages if is_connect(spark) else [*map(spark_path, self.messages)]
        return read_messages(spark, paths, self.format, schema=self.schema, options=self.options)


@dataclass(frozen=True)
class MatchSummary:
    """Counts and times of a job."""

    records: int
    matches: int
    rejected: Mapping[str, int]  # by reason
    interfaces: int  # with matches
    version: str  # of the table
    seconds: float
    steps: Mapping[str, float]  # seconds of each step
    encode_s: float  # processor time of all workers for reading Arrow columns
    match_s: float  # processor time of all workers in the kernel
    warning: str | None = None  # about attributes that no column has

    @property
    def records_per_second(self) -> float:
        """Records per second of the step that reads, matches and writes."""
        return self.records / max(self.steps.get("match and write", self.seconds), 1e-9)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return {**asdict(self), "records_per_second": round(self.records_per_second, 1)}


@dataclass(frozen=True)
class DryRun:
    """The attributes of messages, and the size of the tables beside the memory available for them."""

    attributes: Sequence[AttributeColumn]
    version: str
    table_bytes: int
    memory_share: int  # bytes of this machine outside of Java's heap
    warning: str | None = None  # about attributes that no column has


def dry_run(spark: SparkSession, job: MatchJob) -> DryRun:
    """Return the attributes of the columns, without matching."""
    tables = ship_tables(spark, job.tables, filters=False)
    return explain_columns(job.read(spark).rows, tables, job.columns)


def explain_columns(rows: DataFrame, tables: Sequence[ShippedTable], columns: Sequence[str] | None) -> DryRun:
    """Return the attributes of columns, and the size of the tables."""
    memory = machine_memory()
    schema, used = message_columns_of(rows), used_names(tables)
    return DryRun(
        attributes_of(schema, columns, used),
        joint_version(tables),
        sum(table.size for table in tables),
        memory - heap_bytes(memory),
        unknown_attributes(schema, columns, used),
    )


def run_match(spark: SparkSession, job: MatchJob, out: str) -> MatchSummary:
    """Match files of messages; write matches and counts to a folder, replacing those of an earlier job."""
    if not is_connect(spark):
        check_paths([*job.messages, out], str(spark.sparkContext.master))
        out = spark_path(out)
        check_output_folder(spark, out, _OUTPUT_NAMES)
    steps: dict[str, float] = {}
    started = monotonic()
    with _timed(spark, steps, "ship tables"):
        tables = ship_tables(spark, job.tables, filters=job.filters)
    with _timed(spark, steps, "read the schema"):
        frame = job.read(spark)
    with _timed(spark, steps, "match and write"):
        counts = _write_matches(frame.rows, tables, job, out)
    with _timed(spark, steps, "count by interface"):
        interfaces = _write_counts(spark, out, interface_type([table.open_here() for table in tables]))
    rejected = frame.rejected()  # lines that the reader could not parse
    records = counts.records + rejected.total()
    if counts.rejected:
        with _timed(spark, steps, "collect rejected rows"):
            folder = f"{out}/rejected" if job.on_error == COLUMN else None
            rejected += rejected_reasons(frame.rows, tables, job.columns, folder)
    summary = MatchSummary(
        records=records,
        matches=counts.matches,
        rejected=dict(rejected),
        interfaces=interfaces,
        version=joint_version(tables),
        seconds=round(monotonic() - started, 3),
        steps=steps,
        encode_s=round(counts.encode_s, 3),
        match_s=round(counts.match_s, 3),
        warning=unknown_attributes(message_columns_of(frame.rows), job.columns, used_names(tables)),
    )
    if not is_connect(spark):
        _write_manifest(spark, out, job, tables, summary)
    return summary


def _write_matches(rows: DataFrame, tables: Sequence[ShippedTable], job: MatchJob, out: str) -> MatchCounts:
    policy: OnError = FAIL if job.on_error == FAIL else DROP
    matches = match_shipped(rows, tables, key=job.key, columns=job.columns, on_error=policy, is_counted=True)
    observation = new_observation()
    if not is_connect(rows.sparkSession):
        delete(rows.sparkSession, f"{out}/{MANIFEST}")  # the old result is no longer complete
        delete(rows.sparkSession, f"{out}/rejected")
    write_matches(matches, f"{out}/matches", observation, buckets=job.buckets, mode=_mode(rows.sparkSession))
    return observed_counts(observation)


def _write_counts(spark: SparkSession, out: str, type: DataType) -> int:
    """Write the number of matches of each interface; return the number of interfaces."""
    counts = interface_counts(spark, f"{out}/matches", type).sort("interface")
    counts.write.mode(_mode(spark)).parquet(f"{out}/counts")
    return spark.read.parquet(f"{out}/counts").count()


def _mode(spark: SparkSession) -> str:
    return "error" if is_connect(spark) else "overwrite"


def rejected_reasons(
    rows: DataFrame, tables: Sequence[ShippedTable], columns: Sequence[str] | None, folder: str | None
) -> Counter[str]:
    """Count the rows that are not valid messages by reason; write them to a folder if one is given.

    This is a second pass over the rows, only for data with such rows: their number is in the counts of the first.
    """
    letters = dead_letters(rows, tables, columns=columns)
    if folder is not None:
        letters.write.mode("overwrite").parquet(folder)
        letters = rows.sparkSession.read.parquet(folder)
    return Counter({row[ERROR]: row["count"] for row in letters.groupBy(ERROR).count().collect()})


def check_output_folder(spark: SparkSession, out: str, names: set[str]) -> None:
    """Raise an error if the output folder contains other files."""
    foreign = [name for name in list_names(spark, out) if name not in names and not name.startswith(".")]
    if foreign:
        raise InputError(f"the output folder contains {foreign[0]!r}", hint="use an empty folder", file=out)


@contextmanager
def _timed(spark: SparkSession, steps: dict[str, float], name: str) -> Iterator[None]:
    start = monotonic()
    with step(spark, name), job_errors():
        yield
    steps[name] = round(monotonic() - start, 3)


@contextmanager
def job_errors() -> Iterator[None]:
    """Convert errors of Spark to one line; Spark logs the details."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        raise job_failure(error) from error


def job_failure(error: Exception) -> CbnetError:
    """Return an error of Spark in one line."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    cause = lines[-1] if "Python worker" in lines[0] else lines[0]
    return CbnetError(f"the job failed: {cause.removeprefix('cbnet.errors.InputError: ')}")


def _write_manifest(
    spark: SparkSession, out: str, job: MatchJob, tables: Sequence[ShippedTable], summary: MatchSummary
) -> None:
    parameters = {"format": job.format, "key": job.key, "columns": job.columns, "buckets": job.buckets}
    parameters["on_error"] = job.on_error
    inputs = {f"table {number}": table.version for number, table in enumerate(tables, 1)}
    provenance = Provenance("match", parameters, inputs)
    manifest = {**asdict(provenance), "messages": [*job.messages], "summary": summary.members()}
    write_text(spark, f"{out}/{MANIFEST}", json.dumps(manifest, indent=2) + "\n")
