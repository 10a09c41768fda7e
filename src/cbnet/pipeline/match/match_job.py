"""The match job: from files of messages and a table to folders of matches and counts, and a summary.

out/matches/bucket=…    a row for each message and each of its interfaces; see `routed`
out/counts              how many matches each interface has
out/_cbnet.json         what made them; written last: where it is, the result is whole
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
from cbnet.pipeline.match.batch_matcher import Tally
from cbnet.pipeline.match.interface_buckets import BUCKETS, interface_counts, write_routed
from cbnet.pipeline.match.match import asked_attributes, match_shipped
from cbnet.pipeline.match.message_columns import Attribute
from cbnet.pipeline.match.message_frames import Frame, read_frame
from cbnet.pipeline.match.shipped_tables import AnyTable, ShippedTable, ship_tables, version_of_all
from cbnet.pipeline.match.worker_counts import Tallies
from cbnet.pipeline.spark.filesystem import delete, list_names, write_text
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import MANIFEST, Provenance
from cbnet.pipeline.spark.session import heap_bytes, machine_memory

_PARTS = {"matches", "counts", MANIFEST}


@dataclass(frozen=True)
class MatchJob:
    """What is to be matched with what, and how the result looks."""

    messages: Sequence[str]
    format: str
    tables: Sequence[AnyTable]
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    key: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    filters: bool = False
    buckets: int = BUCKETS

    def read(self, spark: SparkSession) -> Frame:
        """Return the messages."""
        return read_frame(spark, self.messages, self.format, schema=self.schema, options=self.options)


@dataclass(frozen=True)
class Summary:
    """What a job did."""

    records: int
    matches: int
    rejected: Mapping[str, int]  # by reason
    interfaces: int  # that have matches
    version: str  # of the table
    seconds: float
    steps: Mapping[str, float]  # seconds of each, one after the other
    encode_s: float  # of all workers together: to read Arrow columns,
    match_s: float  # and to match: the kernel's own time

    @property
    def records_per_second(self) -> float:
        """Records over the time of the step that reads, matches and writes them."""
        return self.records / max(self.steps.get("match and write", self.seconds), 1e-9)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return {**asdict(self), "records_per_second": round(self.records_per_second, 1)}


@dataclass(frozen=True)
class Mapped:
    """A column, what it is in a message, and whether a filter asks for it."""

    attribute: Attribute
    is_asked: bool


@dataclass(frozen=True)
class DryRun:
    """What a job would do: the schema mapping, and the size of the tables beside the memory that is theirs."""

    columns: Sequence[Mapped]
    version: str
    table_bytes: int
    memory_share: int  # bytes of this machine that Java does not take


def dry_run(spark: SparkSession, job: MatchJob) -> DryRun:
    """Return how the columns of the messages map to attributes; match nothing."""
    tables = ship_tables(spark, job.tables, filters=False)
    return explained(job.read(spark).rows, tables, job.columns)


def explained(rows: DataFrame, tables: Sequence[ShippedTable], columns: Sequence[str] | None) -> DryRun:
    """Return how columns map to attributes."""
    attributes, asked = asked_attributes(rows, tables, columns)
    memory = machine_memory()
    return DryRun(
        [Mapped(attribute, attribute in asked) for attribute in attributes],
        version_of_all(tables),
        sum(table.size for table in tables),
        memory - heap_bytes(memory),
    )


def run_match(spark: SparkSession, job: MatchJob, out: str) -> Summary:
    """Match files of messages, and write matches and counts to a folder, over what such a job left there."""
    check_out(spark, out, _PARTS)
    steps: dict[str, float] = {}
    started = monotonic()
    with _timed(spark, steps, "ship the tables"):
        tables = ship_tables(spark, job.tables, filters=job.filters)
    with _timed(spark, steps, "look at the messages"):
        frame = job.read(spark)
    tallies = Tallies.new(spark)
    with _timed(spark, steps, "match and write"):
        matches = match_shipped(frame.rows, tables, key=job.key, columns=job.columns, note=tallies.note)
        delete(spark, f"{out}/{MANIFEST}")  # what was there is not whole any more
        write_routed(matches, f"{out}/matches", buckets=job.buckets)
    with _timed(spark, steps, "count by interface"):
        counts = interface_counts(spark, f"{out}/matches").coalesce(1)
        counts.sort("interface").write.mode("overwrite").parquet(f"{out}/counts")
        interfaces = spark.read.parquet(f"{out}/counts").count()
    summary = _summary(tallies.total(), frame.rejected(), interfaces, version_of_all(tables), steps, started)
    _write_about(spark, out, job, tables, summary)
    return summary


def check_out(spark: SparkSession, out: str, parts: set[str]) -> None:
    """Refuse to write into a folder that holds what is not ours."""
    foreign = [name for name in list_names(spark, out) if name not in parts and not name.startswith(".")]
    if foreign:
        raise InputError(
            f"the folder holds {foreign[0]!r}, which is not of this command", hint="name another", file=out
        )


@contextmanager
def _timed(spark: SparkSession, steps: dict[str, float], what: str) -> Iterator[None]:
    start = monotonic()
    with step(spark, what), told_failures():
        yield
    steps[what] = round(monotonic() - start, 3)


@contextmanager
def told_failures() -> Iterator[None]:
    """Say in one line why a job failed; Spark logs what led to it."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
        told = lines[-1] if "Python worker" in lines[0] else lines[0]
        raise CbnetError(f"the job failed: {told}") from error


def _summary(
    tally: Tally, unread: Counter[str], interfaces: int, version: str, steps: dict[str, float], started: float
) -> Summary:
    return Summary(
        records=tally.records + unread.total(),
        matches=tally.matches,
        rejected=dict(tally.rejected + unread),
        interfaces=interfaces,
        version=version,
        seconds=round(monotonic() - started, 3),
        steps=steps,
        encode_s=round(tally.encode_s, 3),
        match_s=round(tally.match_s, 3),
    )


def _write_about(
    spark: SparkSession, out: str, job: MatchJob, tables: Sequence[ShippedTable], summary: Summary
) -> None:
    parameters = {"format": job.format, "key": job.key, "columns": job.columns, "buckets": job.buckets}
    made = Provenance("match", parameters, {f"table {place}": table.version for place, table in enumerate(tables, 1)})
    about = {**asdict(made), "messages": [*job.messages], "summary": summary.members()}
    write_text(spark, f"{out}/{MANIFEST}", json.dumps(about, indent=2) + "\n")
