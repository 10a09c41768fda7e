"""The match stream: where do records go as they come, exactly once, while the table may change?

    out/matches/batch=7/bucket=2/…    the matches of micro-batch 7, each with the version of the table
    out/_cbnet.json                   which stream writes here
    out/_checkpoint                   what a restart needs: Spark's own records, and `pinned_tables`

Spark writes down which records a batch holds before it is matched. If the stream dies, the same batch is matched
again, with the same version of the table, and its folder is written over. So nothing is lost or doubled, if the source
can be read again, as files and Kafka can. (A live network cannot: what it has delivered to a stream that dies is lost,
and counted when the stream goes on; see `router_source`.) A batch is whole when its folder has the file `_SUCCESS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.batch_matcher import Tally
from cbnet.pipeline.match.interface_buckets import write_routed
from cbnet.pipeline.match.match import match_shipped
from cbnet.pipeline.match.match_job import DryRun, check_out, explained
from cbnet.pipeline.match.message_frames import frame_schema, read_stream
from cbnet.pipeline.match.shipped_tables import ship_tables, version_of_all
from cbnet.pipeline.match.table_versions import PinnedTables
from cbnet.pipeline.match.worker_counts import Tallies
from cbnet.pipeline.spark.filesystem import exists, list_names, read_text, write_text
from cbnet.pipeline.spark.results import MANIFEST

CHECKPOINT = "_checkpoint"
BUCKETS = 4  # files of each micro-batch, at most
_DONE = "_SUCCESS"


@dataclass(frozen=True)
class StreamJob:
    """What is to be matched with what, and how the result looks."""

    messages: str
    format: str
    tables: Sequence[str]
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    key: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    filters: bool = False
    buckets: int = BUCKETS


@dataclass(frozen=True)
class BatchReport:
    """What came of a micro-batch."""

    batch: int
    records: int
    matches: int
    rejected: Mapping[str, int]
    version: str
    seconds: float


@dataclass(frozen=True)
class StreamSummary:
    """What a run of a stream did, from its start or restart to its end."""

    batches: int
    records: int
    matches: int
    rejected: Mapping[str, int]
    versions: Sequence[str]  # of the table, in the order in which they came
    seconds: float
    steps: Mapping[str, float]
    encode_s: float
    match_s: float
    source: Mapping[str, int] = field(default_factory=dict)  # of a live network, over all runs: taken, lost, misfits

    @property
    def records_per_second(self) -> float:
        """Records over the time in which they were matched and written."""
        return self.records / max(self.steps["match and write"], 1e-9)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return {**asdict(self), "records_per_second": round(self.records_per_second, 1)}


class MatchStream:
    """A stream that is being matched."""

    def __init__(
        self,
        spark: SparkSession,
        job: StreamJob,
        out: str,
        *,
        checkpoint: str | None = None,
        report: Callable[[BatchReport], None] = lambda _: None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark, self._job, self._out = spark, job, out
        self._checkpoint = checkpoint or f"{out}/{CHECKPOINT}"
        self._report = report
        self._pinned = PinnedTables(spark, f"{self._checkpoint}/cbnet", job.tables, remark)
        self._tallies = Tallies.new(spark)
        self._total = Tally()
        self._versions: dict[str, None] = {}
        self._steps = {"pin and ship the table": 0.0, "match and write": 0.0}
        self._batches = 0
        self._failure: CbnetError | None = None
        self._source: Mapping[str, int] = {}

    def dry_run(self) -> DryRun:
        """Return how the columns of the messages map to attributes; match nothing."""
        job = self._job
        schema = frame_schema(self._spark, [job.messages], job.format, schema=job.schema, options=job.options)
        rows = read_stream(self._spark, job.messages, job.format, schema=schema, options=job.options)
        return explained(rows, ship_tables(self._spark, [*job.tables], filters=False), job.columns)

    def run(self, *, once: bool = False, every: float = 0.0) -> StreamSummary:
        """Match until interrupted, a batch every so many seconds; or `once`, all that is there now."""
        started = monotonic()
        rows = self._rows()
        writer = rows.writeStream.foreachBatch(self._match).option("checkpointLocation", self._checkpoint)
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every} seconds")
        query = writer.start()
        try:
            self._wait(query)
        except KeyboardInterrupt:
            pass  # this is how a stream without an end is ended
        finally:
            query.stop()
        self._source = _counted_by_source(query)
        return self._summary(monotonic() - started)

    def _wait(self, query: StreamingQuery) -> None:
        try:
            while not query.awaitTermination(1):
                pass
        except StreamingQueryException as error:
            if self._failure is not None:
                raise self._failure from None
            told = next((line for line in str(error).splitlines() if line.strip()), "")
            raise CbnetError(f"the stream failed: {told}") from error

    def _match(self, rows: DataFrame, batch: int) -> None:
        """Match a micro-batch, and write its folder over what an attempt before may have left there."""
        try:
            began = monotonic()
            files = self._pinned.of_batch(batch)
            tables = ship_tables(self._spark, [*files], filters=self._job.filters)
            pinned = monotonic()
            self._tallies.clear()
            matches = match_shipped(
                rows, tables, key=self._job.key, columns=self._job.columns, version=True, note=self._tallies.note
            )
            write_routed(matches, f"{self._out}/matches/batch={batch}", buckets=self._job.buckets)
            self._note(batch, version_of_all(tables), (pinned - began, monotonic() - pinned))
        except CbnetError as error:
            self._failure = error  # Spark would tell it as a trace of Java
            raise

    def _note(self, batch: int, version: str, seconds: tuple[float, float]) -> None:
        tally = self._tallies.total()
        self._total += tally
        self._batches += 1
        self._versions[version] = None
        for step, spent in zip(self._steps, seconds, strict=True):
            self._steps[step] += spent
        report = BatchReport(batch, tally.records, tally.matches, dict(tally.rejected), version, round(sum(seconds), 3))
        self._report(report)

    def _summary(self, seconds: float) -> StreamSummary:
        rest = seconds - sum(self._steps.values())
        steps = {**self._steps, "start, wait and keep records": rest}
        return StreamSummary(
            batches=self._batches,
            records=self._total.records,
            matches=self._total.matches,
            rejected=dict(self._total.rejected),
            versions=[*self._versions],
            seconds=round(seconds, 3),
            steps={step: round(spent, 3) for step, spent in steps.items()},
            encode_s=round(self._total.encode_s, 3),
            match_s=round(self._total.match_s, 3),
            source=self._source,
        )

    def _rows(self) -> DataFrame:
        """Return the messages to come, with the columns that the stream was begun with."""
        job = self._job
        begun = read_text(self._spark, f"{self._checkpoint}/cbnet/stream.json")
        if begun is None:
            schema = frame_schema(self._spark, [job.messages], job.format, schema=job.schema, options=job.options)
            about = {"stream": uuid4().hex, "schema": json.loads(schema.json())}
        else:
            about = json.loads(begun)
            schema = StructType.fromJson(about["schema"])
            self._check_columns(schema)
        rows = read_stream(self._spark, job.messages, job.format, schema=schema, options=job.options)
        self._claim(about, is_new=begun is None)
        return rows

    def _check_columns(self, schema: StructType) -> None:
        job = self._job
        if job.schema is not None:
            said = frame_schema(self._spark, [job.messages], job.format, schema=job.schema)
            if said != schema:
                problem = f"the stream was begun with other columns: {schema.simpleString()}"
                raise InputError(problem, hint="leave --schema away, or begin another stream", file=self._out)

    def _claim(self, about: dict[str, Any], *, is_new: bool) -> None:
        """Make sure that this stream alone writes to the folder: the numbers of its batches are names there."""
        owner = read_text(self._spark, f"{self._out}/{MANIFEST}")
        if owner is not None and json.loads(owner).get("stream") != about["stream"]:
            hint = "name its checkpoint with --checkpoint, or another folder"
            raise InputError("the folder belongs to another stream", hint=hint, file=self._out)
        if owner is None:
            check_out(self._spark, self._out, {CHECKPOINT})
        if is_new:
            write_text(self._spark, f"{self._checkpoint}/cbnet/stream.json", json.dumps(about) + "\n")
        if owner is None:
            told = {"stage": "stream", "stream": about["stream"], "messages": self._job.messages}
            write_text(self._spark, f"{self._out}/{MANIFEST}", json.dumps(told, indent=2) + "\n")


def _counted_by_source(query: StreamingQuery) -> Mapping[str, int]:
    """Return what a live network counts in the offset of the last batch; nothing for other sources."""
    progress = query.lastProgress
    offset = json.loads(progress["sources"][0]["endOffset"] or "null") if progress else None
    return offset if isinstance(offset, dict) and offset.keys() >= {"taken", "lost"} else {}


def read_whole_batches(spark: SparkSession, out: str) -> DataFrame | None:
    """Return the matches of all batches that are whole; None if there are none yet."""
    folder = f"{out}/matches"
    whole = [
        f"{folder}/{name}"
        for name in list_names(spark, folder)
        if exists(spark, f"{folder}/{name}/{_DONE}") and len(list_names(spark, f"{folder}/{name}")) > 1
    ]
    return spark.read.option("basePath", folder).parquet(*whole) if whole else None
