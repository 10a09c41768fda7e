"""The match stream: records matched exactly once as they arrive, while the table may change.

    out/matches/batch=7/bucket=2/…    the matches of micro-batch 7, each with the version of the table
    out/rejected/batch=7              the rows of it that are not valid messages, each with its `_error`
    out/_cbnet.json                   the identity of the stream
    out/_checkpoint                   the state for a restart: Spark's, and that of `table_versions`

Spark records the offsets of a batch before it is matched. After a crash the same batch is matched again, with the same
version of the table, and its folder is replaced. So nothing is lost or duplicated if the source can be replayed, as
files and Kafka can. (A live network cannot: messages delivered to a stream that crashes are lost, and counted after
the restart; see `router_source`.) The folder of a batch appears when it is complete; see `stored_matches`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.batch_matcher import COLUMN, MatchCounts
from cbnet.pipeline.match.dataframe_matcher import (
    CORRUPT,
    dead_letters,
    observe_counts,
    observed_counts,
    start_workers,
)
from cbnet.pipeline.match.match_job import (
    DryRun,
    MatchSummary,
    MatchTask,
    check_output_folder,
    count_reasons,
    explain_columns,
    timed,
)
from cbnet.pipeline.match.message_dataframes import STREAM_FORMATS, message_schema, read_stream
from cbnet.pipeline.match.shipped_tables import ShippedTable, joint_version, ship_tables
from cbnet.pipeline.match.stored_matches import (
    STREAM_BUCKETS,
    bucketed,
    compact_batches,
    draft_batch,
    finish_compaction,
)
from cbnet.pipeline.match.table_versions import TableVersions, match_versioned
from cbnet.pipeline.spark.failures import failure
from cbnet.pipeline.spark.filesystem import check_paths, has_rename, read_text, spark_path, write_text
from cbnet.pipeline.spark.results import Provenance, clean_up, publish, read_manifest, write_manifest, write_result
from cbnet.pipeline.spark.session import require_classic

CHECKPOINT = "_checkpoint"
_LATE = "Python worker failed to connect back"  # of Spark: 10 s, without a setting


@dataclass(frozen=True, kw_only=True)
class StreamJob(MatchTask):
    """The source of messages, the tables and the form of the result."""

    messages: str
    tables: Sequence[str]
    buckets: int = STREAM_BUCKETS
    compact: int = 0  # merge the folders of this many batches; 0: never


@dataclass(frozen=True)
class BatchReport:
    """Counts of a micro-batch."""

    batch: int
    records: int
    matches: int
    rejected: Mapping[str, int]
    version: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class StreamSummary(MatchSummary):
    """Counts and times of a stream since its start or restart."""

    batches: int
    versions: Sequence[str]  # of the table, in order of use
    source: Mapping[str, int] = field(default_factory=dict)  # of a live network, over all runs: taken, lost, misfits


class MatchStream:
    """A running match of a stream."""

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
        require_classic(spark, "a stream with versions of its table")
        folders = [job.messages] if job.format not in STREAM_FORMATS else []
        given = [path for path in (*folders, out, checkpoint) if path]  # a dry run needs no output folder
        check_paths(given, str(spark.sparkContext.master))
        if job.compact and not has_rename(out):
            problem = "an object store cannot replace the folders of batches at once"
            raise InputError(problem, hint="omit --compact", file=out)
        self._spark = spark
        self._job = replace(job, messages=spark_path(job.messages)) if folders else job
        self._out = spark_path(out)
        self._checkpoint = spark_path(checkpoint) if checkpoint else f"{self._out}/{CHECKPOINT}"
        self._report, self._remark = report, remark
        self._pinned = TableVersions([*job.tables], f"{self._checkpoint}/cbnet", remark)
        self._total, self._rejected = MatchCounts(), Counter[str]()
        self._versions: dict[str, None] = {}
        self._steps = {"start workers": 0.0, "pin and ship the table": 0.0, "match and write": 0.0, "compact": 0.0}
        self._batches = 0
        self._failure: CbnetError | None = None
        self._source: Mapping[str, int] = {}

    def dry_run(self) -> DryRun:
        """Return the attributes of the columns, without matching."""
        job = self._job
        rows = read_stream(self._spark, job.messages, job, message_schema(self._spark, [job.messages], job))
        return explain_columns(rows, ship_tables(self._spark, [*job.tables], filters=False), job)

    def run(self, *, once: bool = False, every: float = 0.0) -> StreamSummary:
        """Match until interrupted, a batch every `every` seconds; or, with `once`, all current messages."""
        started = monotonic()
        rows = self._rows()
        with timed(self._spark, self._steps, "start workers"):
            start_workers(self._spark)
        finish_compaction(self._spark, self._out)
        clean_up(self._spark, self._out)
        writer = rows.writeStream.foreachBatch(self._match).option("checkpointLocation", self._checkpoint)
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every} seconds")
        query = self._follow(writer)
        self._source = _source_counters(query)
        return self._summary(monotonic() - started)

    def _follow(self, writer: DataStreamWriter) -> StreamingQuery:
        """Run the query to its end or until interrupted; start it once more if Spark did not wait for its process."""
        is_second = False
        while True:
            query = writer.start()
            try:
                while not query.awaitTermination(1):
                    pass
                return query
            except KeyboardInterrupt:
                return query  # the usual end of a stream
            except StreamingQueryException as error:
                if self._failure is not None:
                    raise self._failure from None
                if is_second or _LATE not in str(error):
                    raise failure("the stream", error) from error
            finally:
                query.stop()
            self._remark("a process of Spark took more than 10 s to start: the stream is started once more")
            is_second = True

    def _match(self, rows: DataFrame, batch: int) -> None:
        """Match a micro-batch; replace its folder, which an earlier attempt may have left."""
        started = monotonic()
        try:
            with timed(self._spark, self._steps, "pin and ship the table"):
                tables = self._pinned.ship(self._spark, batch, filters=self._job.filters)
                version = joint_version(tables)
                if version not in self._versions:
                    self._warn(rows, tables)
                    self._versions[version] = None
            with timed(self._spark, self._steps, "match and write"):
                counts, rejected = self._write(rows, tables, batch)
            if self._job.compact:
                with timed(self._spark, self._steps, "compact"):
                    compact_batches(self._spark, self._out, batch, at_least=self._job.compact)
        except CbnetError as error:  # Spark would raise it as a Java stack trace
            self._failure = error
            raise
        self._total += counts
        self._rejected += rejected
        self._batches += 1
        seconds = round(monotonic() - started, 3)
        self._report(BatchReport(batch, counts.records, counts.matches, dict(rejected), version, seconds))

    def _warn(self, rows: DataFrame, tables: Sequence[ShippedTable]) -> None:
        if warning := self._job.warning(rows, tables):
            self._remark(f"warning: {warning}")

    def _write(self, rows: DataFrame, tables: Sequence[ShippedTable], batch: int) -> tuple[MatchCounts, Counter[str]]:
        """Write the matches of a batch, and its rejected rows; return the counts, and the reasons of rejected rows."""
        job, observation = self._job, Observation()
        matches = match_versioned(
            rows, tables, key=job.key, columns=job.columns, details=job.details, on_error=job.policy, is_counted=True
        )
        matches = observe_counts(bucketed(matches, job.buckets), observation)
        draft = draft_batch(self._spark, matches, self._out, batch, batch, job.buckets)
        counts = observed_counts(observation)
        rejected = self._write_rejected(rows, tables, batch) if counts.rejected else Counter[str]()
        publish(self._spark, self._out, draft)
        return counts, rejected

    def _write_rejected(self, rows: DataFrame, tables: Sequence[ShippedTable], batch: int) -> Counter[str]:
        """Write the rejected rows of a batch if the job says so; return their number by reason."""
        letters = dead_letters(rows, tables, columns=self._job.columns)
        if self._job.on_error == COLUMN:
            name, provenance = f"rejected/batch={batch}", Provenance("stream/rejected")
            letters = write_result(self._spark, letters, self._out, name, provenance, is_new=True).frame(self._spark)
        return count_reasons(letters)

    def _summary(self, seconds: float) -> StreamSummary:
        rest = seconds - sum(self._steps.values())
        steps = {**self._steps, "start, wait and checkpoint": rest}
        return StreamSummary(
            batches=self._batches,
            records=self._total.records,
            matches=self._total.matches,
            rejected=dict(self._rejected),
            versions=[*self._versions],
            seconds=round(seconds, 3),
            steps={step: round(spent, 3) for step, spent in steps.items()},
            encode_s=round(self._total.encode_s, 3),
            match_s=round(self._total.match_s, 3),
            source=self._source,
        )

    def _rows(self) -> DataFrame:
        """Return the stream of messages, with the schema of its first start."""
        job = self._job
        stored = read_text(self._spark, f"{self._checkpoint}/cbnet/stream.json")
        if stored is None:
            schema = message_schema(self._spark, [job.messages], job)
            identity = {"stream": uuid4().hex, "schema": json.loads(schema.json())}
        else:
            identity = json.loads(stored)
            schema = StructType.fromJson(identity["schema"])
            self._check_columns(schema)
        rows = read_stream(self._spark, job.messages, job, schema)
        self._claim(identity, is_new=stored is None)
        return rows

    def _check_columns(self, schema: StructType) -> None:
        if self._job.schema is None:
            return
        stated = message_schema(self._spark, [self._job.messages], self._job)
        # Streams of JSON of 0.2 have a column for unreadable lines.
        own, given = ([column for column in each if column.name != CORRUPT] for each in (schema, stated))
        if own != given:
            problem = f"the stream was started with another schema: {schema.simpleString()}"
            raise InputError(problem, hint="omit --schema, or start a new stream", file=self._out)

    def _claim(self, identity: dict[str, Any], *, is_new: bool) -> None:
        """Claim the output folder for this stream; batches of two streams would overwrite each other."""
        owner = read_manifest(self._spark, self._out)
        if owner is not None and owner.get("stream") != identity["stream"]:
            hint = "give its --checkpoint, or use another folder"
            raise InputError("the output folder belongs to another stream", hint=hint, file=self._out)
        if owner is None:
            check_output_folder(self._spark, self._out, {CHECKPOINT})
        elif owner.get("buckets") != self._job.buckets:  # no reader takes folders with and without buckets together
            problem = f"the stream was started with {owner.get('buckets', 'other')} buckets"
            raise InputError(problem, hint="give this number of --buckets, or start a new stream", file=self._out)
        if is_new:
            write_text(self._spark, f"{self._checkpoint}/cbnet/stream.json", json.dumps(identity) + "\n")
        if owner is None:
            manifest = {"stage": "stream", "stream": identity["stream"], "messages": self._job.messages}
            manifest |= {"buckets": self._job.buckets}
            write_manifest(self._spark, self._out, manifest)


def _source_counters(query: StreamingQuery) -> Mapping[str, int]:
    """Return the counters of a live network from the last offset; nothing for other sources."""
    progress = query.lastProgress
    offset = json.loads(progress.json)["sources"][0]["endOffset"] if progress else None
    return offset if isinstance(offset, dict) and offset.keys() >= {"taken", "lost"} else {}
