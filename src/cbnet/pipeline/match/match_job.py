"""The match job: files of messages and a table in; matches, counts and a summary out.

out/matches/bucket=…    a row for each message and each of its interfaces; see `interface_buckets`
out/counts              the number of matches of each interface
out/_cbnet.json         the manifest; written last: a folder with it is complete
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

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.batch_matcher import MatchCounts
from cbnet.pipeline.match.dataframe_matcher import match_shipped, message_columns_of, used_names
from cbnet.pipeline.match.interface_buckets import BUCKETS, interface_counts, write_matches
from cbnet.pipeline.match.message_columns import AttributeColumn, attributes_of
from cbnet.pipeline.match.message_dataframes import MessageFrame, read_messages
from cbnet.pipeline.match.shipped_tables import AnyTable, ShippedTable, joint_version, ship_tables
from cbnet.pipeline.match.worker_counts import WorkerCounts
from cbnet.pipeline.spark.filesystem import delete, list_names, write_text
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import MANIFEST, Provenance
from cbnet.pipeline.spark.session import heap_bytes, machine_memory

_OUTPUT_NAMES = {"matches", "counts", MANIFEST}


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

    def read(self, spark: SparkSession) -> MessageFrame:
        """Return the messages."""
        return read_messages(spark, self.messages, self.format, schema=self.schema, options=self.options)


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


def dry_run(spark: SparkSession, job: MatchJob) -> DryRun:
    """Return the attributes of the columns, without matching."""
    tables = ship_tables(spark, job.tables, filters=False)
    return explain_columns(job.read(spark).rows, tables, job.columns)


def explain_columns(rows: DataFrame, tables: Sequence[ShippedTable], columns: Sequence[str] | None) -> DryRun:
    """Return the attributes of columns, and the size of the tables."""
    memory = machine_memory()
    return DryRun(
        attributes_of(message_columns_of(rows), columns, used_names(tables)),
        joint_version(tables),
        sum(table.size for table in tables),
        memory - heap_bytes(memory),
    )


def run_match(spark: SparkSession, job: MatchJob, out: str) -> MatchSummary:
    """Match files of messages; write matches and counts to a folder, replacing those of an earlier job."""
    check_output_folder(spark, out, _OUTPUT_NAMES)
    steps: dict[str, float] = {}
    started = monotonic()
    with _timed(spark, steps, "ship tables"):
        tables = ship_tables(spark, job.tables, filters=job.filters)
    with _timed(spark, steps, "read the schema"):
        frame = job.read(spark)
    counts = WorkerCounts.new(spark)
    with _timed(spark, steps, "match and write"):
        matches = match_shipped(frame.rows, tables, key=job.key, columns=job.columns, add_counts=counts.add)
        delete(spark, f"{out}/{MANIFEST}")  # the old result is no longer complete
        write_matches(matches, f"{out}/matches", buckets=job.buckets)
    with _timed(spark, steps, "count by interface"):
        by_interface = interface_counts(spark, f"{out}/matches").coalesce(1)
        by_interface.sort("interface").write.mode("overwrite").parquet(f"{out}/counts")
        interfaces = spark.read.parquet(f"{out}/counts").count()
    summary = _summary(counts.total(), frame.rejected(), interfaces, joint_version(tables), steps, started)
    _write_manifest(spark, out, job, tables, summary)
    return summary


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
        lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
        cause = lines[-1] if "Python worker" in lines[0] else lines[0]
        raise CbnetError(f"the job failed: {cause}") from error


def _summary(
    counts: MatchCounts,
    unreadable: Counter[str],
    interfaces: int,
    version: str,
    steps: dict[str, float],
    started: float,
) -> MatchSummary:
    return MatchSummary(
        records=counts.records + unreadable.total(),
        matches=counts.matches,
        rejected=dict(counts.rejected + unreadable),
        interfaces=interfaces,
        version=version,
        seconds=round(monotonic() - started, 3),
        steps=steps,
        encode_s=round(counts.encode_s, 3),
        match_s=round(counts.match_s, 3),
    )


def _write_manifest(
    spark: SparkSession, out: str, job: MatchJob, tables: Sequence[ShippedTable], summary: MatchSummary
) -> None:
    parameters = {"format": job.format, "key": job.key, "columns": job.columns, "buckets": job.buckets}
    inputs = {f"table {number}": table.version for number, table in enumerate(tables, 1)}
    provenance = Provenance("match", parameters, inputs)
    manifest = {**asdict(provenance), "messages": [*job.messages], "summary": summary.members()}
    write_text(spark, f"{out}/{MANIFEST}", json.dumps(manifest, indent=2) + "\n")
