"""The match job: files of messages and a table in; matches, counts and a summary out.

out/matches        a row for each message and each of its rules, in buckets; see `stored_matches`
out/counts         the number of matches of each rule, sorted by rule
out/rejected       the rows that are not valid messages, each with its `_error`; absent if there are none
out/_cbnet.json    the summary of the job, and the names of the folders; written last

The folders are replaced when all of them are written (see `pipeline.spark.results`). A job that is killed between their
renames leaves no out/_cbnet.json; the next job first completes them. Under Spark Connect a client cannot delete or
write single files: there the output folder must be new, and has no manifests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from time import monotonic
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession

from cbnet.errors import InputError
from cbnet.matching.frames import AnyTable
from cbnet.matching.storage.attribute_columns import AttributeColumn
from cbnet.pipeline.match.batch_matcher import COLUMN, DROP, ERROR, FAIL, OnError
from cbnet.pipeline.match.dataframe_matcher import (
    FOLDER,
    LINE,
    check_tables,
    dead_letters,
    match_shipped,
    message_columns_of,
    observe_counts,
    observed_counts,
    start_workers,
    used_names,
)
from cbnet.pipeline.match.message_columns import UsedNames, attributes_of, open_columns
from cbnet.pipeline.match.message_dataframes import (
    KAFKA,
    KAFKA_COLUMNS,
    MessageFormat,
    MessageFrame,
    check_session,
    read_messages,
)
from cbnet.pipeline.match.shipped_tables import ShippedTable, joint_version, ship_tables
from cbnet.pipeline.match.stored_matches import JOB_BUCKETS, MATCHES, bucketed, partitions, rule_counts
from cbnet.pipeline.spark.failures import one_line_errors
from cbnet.pipeline.spark.filesystem import check_paths, list_names, spark_path
from cbnet.pipeline.spark.lock import LOCK
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import (
    MANIFEST,
    NEW,
    OLD,
    Provenance,
    StoredResult,
    draft_result,
    publish_together,
    writing,
)
from cbnet.pipeline.spark.session import heap_bytes, machine_memory
from cbnet.pipeline.spark.session_target import is_connect

_COUNTS, _REJECTED = "counts", "rejected"
_RESULTS = (MATCHES, _COUNTS, _REJECTED)


@dataclass(frozen=True, kw_only=True)
class MatchTask(MessageFormat):
    """What jobs and streams share: the form of the messages, the tables, and the form of the result."""

    tables: Sequence[AnyTable]
    key: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    details: bool = False
    filters: bool = False
    on_error: OnError = COLUMN
    strict: bool = False  # rules that do not fit the columns are an error

    def attributes(self, rows: DataFrame, used: UsedNames) -> list[AttributeColumn]:
        """Return the attributes of messages; refuse columns of the task that they cannot have."""
        schema = message_columns_of(rows)
        if LINE not in rows.columns:
            found = attributes_of(schema, self.columns, used)
            return [replace(each, is_inferred=self.infers(str(each.path[0]))) for each in found]
        for name in (field.name for field in rows.schema if FOLDER in field.metadata):
            if name in (used.names if self.columns is None else self.columns):
                problem = f"{name!r} is in the names of folders, not in the lines: no rule can use it"
                raise InputError(problem, hint="write it into the lines; if it is there, give the folders as a pattern")
        if self.schema is not None:
            self._check_columns(schema.names)
        return attributes_of(schema, self.columns, used, of_lines=True)

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns that are not in the schema that is stated."""
        for name in self.columns or ():
            if not any(name == each or name.startswith(f"{each}.") for each in names):
                near = get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]!r}?" if near else "add it to --schema"
                raise InputError(f"--column: no column {name!r} in --schema", hint=hint)

    def warning(self, rows: DataFrame, tables: Sequence[ShippedTable]) -> str | None:
        """Return a warning about rules that do not fit the columns; raise it if the task is strict."""
        of_lines, used = LINE in rows.columns, used_names(tables)
        found = self.attributes(rows, used)
        if self.format == KAFKA and (named := used.names.intersection(KAFKA_COLUMNS)):
            problem = (
                f"{min(named)!r} is a column of Kafka's records, not an attribute: rules see the JSON of their values"
            )
            if self.strict:
                raise InputError(problem, hint="match a DataFrame with this column, in a program")
            return problem
        if of_lines and self.schema is not None and self.columns is None:
            return None
        report = check_tables(
            tables, open_columns(found) if of_lines else found, strict=self.strict, names_only=of_lines
        )
        if self.strict:
            report.check("columns")
        return report.warning

    @property
    def policy(self) -> OnError:
        """The policy for matching: rejected rows are collected afterwards, if there are any."""
        return FAIL if self.on_error == FAIL else DROP


@dataclass(frozen=True, kw_only=True)
class MatchJob(MatchTask):
    """Files of messages, the tables and the form of the result."""

    messages: Sequence[str]
    buckets: int = JOB_BUCKETS

    def read(self, spark: SparkSession) -> MessageFrame:
        """Return the messages."""
        paths = self.messages if is_connect(spark) else [*map(spark_path, self.messages)]
        return read_messages(spark, paths, self)


@dataclass(frozen=True, kw_only=True)
class MatchSummary:
    """Counts and times of matching."""

    records: int
    matches: int
    rejected: Mapping[str, int]  # by reason
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


@dataclass(frozen=True, kw_only=True)
class JobSummary(MatchSummary):
    """Counts and times of a job."""

    rules: int  # with matches
    version: str  # of the table
    warning: str | None = None  # about rules that do not fit the columns


@dataclass(frozen=True)
class DryRun:
    """The attributes of messages, and the size of the tables beside the memory available for them."""

    attributes: Sequence[AttributeColumn]
    version: str
    table_bytes: int
    memory_share: int  # bytes of this machine outside of Java's heap
    warning: str | None = None  # about rules that do not fit the columns


def dry_run(spark: SparkSession, job: MatchJob) -> DryRun:
    """Return the attributes of the columns, without matching."""
    check_session(spark, job.format)
    tables = ship_tables(spark, job.tables, filters=False)
    return explain_columns(job.read(spark).rows, tables, job)


def explain_columns(rows: DataFrame, tables: Sequence[ShippedTable], task: MatchTask) -> DryRun:
    """Return the attributes of columns, and the size of the tables."""
    memory = machine_memory()
    return DryRun(
        task.attributes(rows, used_names(tables)),
        joint_version(tables),
        sum(table.size for table in tables),
        memory - heap_bytes(memory),
        task.warning(rows, tables),
    )


def run_match(
    spark: SparkSession, job: MatchJob, out: str, remark: Callable[[str], None] = lambda _: None
) -> JobSummary:
    """Match files of messages; write matches and counts to a folder, in place of those of an earlier job.

    remark: called with the warning of the summary, before anything is matched.
    """
    check_session(spark, job.format)
    if is_connect(spark):
        return _run(spark, job, out, remark)
    check_paths([*job.messages, out], str(spark.sparkContext.master))
    out = spark_path(out)
    check_output_folder(spark, out, {*_RESULTS, MANIFEST})
    with writing(spark, out) as check:
        return _run(spark, job, out, remark, check)


def _run(
    spark: SparkSession,
    job: MatchJob,
    out: str,
    remark: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
) -> JobSummary:
    """Match and write; `check` that the output folder is still that of this run before its results are replaced."""
    steps: dict[str, float] = {}
    started = monotonic()
    with timed(spark, steps, "ship tables"):
        tables = ship_tables(spark, job.tables, filters=job.filters)
    with timed(spark, steps, "read the schema"):
        frame = job.read(spark)
        warning = job.warning(frame.rows, tables)
    if warning:
        remark(warning)
    with timed(spark, steps, "start workers"):
        start_workers(spark)
    results = _Results(spark, out, _provenance(job, tables))
    with timed(spark, steps, "match and write"):
        observation = Observation()
        matches = results.write(MATCHES, _matches(frame.rows, tables, job, observation))
        counts = observed_counts(observation)
    with timed(spark, steps, "count by rule"):
        rules = results.write(_COUNTS, rule_counts(matches).sort("rule")).count()
    rejected = frame.rejected()  # lines that the reader could not parse
    records = counts.records + rejected.total()
    if counts.rejected:
        with timed(spark, steps, "collect rejected rows"):
            # A second pass over the rows, only for data with such rows.
            letters = dead_letters(frame.rows, tables, columns=job.columns)
            rejected += count_reasons(results.write(_REJECTED, letters) if job.on_error == COLUMN else letters)
    summary = JobSummary(
        records=records,
        matches=counts.matches,
        rejected=dict(rejected),
        rules=rules,
        version=joint_version(tables),
        seconds=round(monotonic() - started, 3),
        steps={name: round(spent, 3) for name, spent in steps.items()},
        encode_s=round(counts.encode_s, 3),
        match_s=round(counts.match_s, 3),
        warning=warning,
    )
    if not is_connect(spark):
        check()
        results.publish(job, summary)
    return summary


def _matches(rows: DataFrame, tables: Sequence[ShippedTable], job: MatchJob, observation: Observation) -> DataFrame:
    matches = match_shipped(
        rows, tables, key=job.key, columns=job.columns, details=job.details, on_error=job.policy, is_counted=True
    )
    # Counts are observed after the shuffle: there repeated tasks count once, and an empty plan is not optimized away.
    return observe_counts(bucketed(matches, job.buckets), observation)


class _Results:
    """The results of a job, which replace those of an earlier one together."""

    def __init__(self, spark: SparkSession, out: str, provenance: Provenance) -> None:
        self._spark, self._out, self._provenance = spark, out, provenance
        self._drafts: dict[str, StoredResult] = {}

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write rows, and return them as they are stored."""
        spark, columns = self._spark, partitions(rows)
        if is_connect(spark):
            folder = f"{self._out}/{name}"
            rows.write.partitionBy(*columns).parquet(folder)
            return spark.read.schema(rows.schema).parquet(folder)
        own = replace(self._provenance, stage=f"match/{name}")
        self._drafts[name] = draft_result(spark, rows, self._out, name, own, partition_by=columns)
        return self._drafts[name].frame(spark)

    def publish(self, job: MatchJob, summary: JobSummary) -> None:
        """Let the results take the place of the earlier ones, and write the manifest of the job."""
        members = {**asdict(self._provenance), "messages": [*job.messages], "summary": summary.members()}
        publish_together(self._spark, self._out, {name: self._drafts.get(name) for name in _RESULTS}, members)


def count_reasons(letters: DataFrame) -> Counter[str]:
    """Return the number of rejected rows of each reason."""
    return Counter({row[ERROR]: row["count"] for row in letters.groupBy(ERROR).count().collect()})


def check_output_folder(spark: SparkSession, out: str, names: set[str]) -> None:
    """Raise an error if the output folder contains other files."""
    foreign = [
        name for name in list_names(spark, out) if name not in {*names, NEW, OLD} and not name.startswith((".", LOCK))
    ]
    if foreign:
        raise InputError(f"the output folder contains {foreign[0]!r}", hint="use an empty folder", file=out)


@contextmanager
def timed(spark: SparkSession, steps: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds of a step to its earlier ones, and convert Spark's errors to one line."""
    start = monotonic()
    with one_line_errors("the job"), step(spark, name):
        yield
    steps[name] = steps.get(name, 0.0) + monotonic() - start


def _provenance(job: MatchJob, tables: Sequence[ShippedTable]) -> Provenance:
    parameters = {"format": job.format, "key": job.key, "columns": job.columns, "buckets": job.buckets}
    parameters["on_error"] = job.on_error
    return Provenance("match", parameters, {f"table {number}": table.version for number, table in enumerate(tables, 1)})
