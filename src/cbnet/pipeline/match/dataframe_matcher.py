"""Matching of the rows of a DataFrame, batch or stream.

    match(trades, "table.cbt", key="id")    # id, rule

Rows go to the Python workers as Arrow batches, with only the columns that filters use, and are matched by the kernels.
All of this works under Spark Connect too.

Counts of the match travel with the rows: a worker appends a row with its counts to each partition, and `observe_counts`
adds them up by Spark's `Observation` and removes them. Above the last shuffle of a query, a partition whose task is
repeated counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from cbnet.errors import InputError
from cbnet.matching.column_check import ColumnReport, check_columns
from cbnet.matching.frames import AnyTable
from cbnet.matching.storage.attribute_columns import AttributeColumn
from cbnet.matching.storage.used_leaves import UsedArrays
from cbnet.pipeline.ingest.line_reader import Block
from cbnet.pipeline.ingest.readers import block_sizes, first_in_file
from cbnet.pipeline.match.batch_matcher import (
    COLUMN,
    COUNTS,
    DETAILS,
    DROP,
    ERROR,
    FAIL,
    FILTER,
    METADATA,
    PLACE,
    PRIORITY,
    RULE,
    MatchCounts,
    MatchPlan,
    OnError,
    match_batches,
)
from cbnet.pipeline.match.message_columns import UsedNames, attributes_of, column, field_of, used_columns
from cbnet.pipeline.match.shipped_tables import OpenTable, ShippedTable, joint_version, ship_tables
from cbnet.pipeline.schemas import arrow_schema
from cbnet.pipeline.spark.parallelism import run_tasks
from cbnet.pipeline.spark.session_target import is_connect

CORRUPT = "_corrupt_record"  # Spark's column for unreadable lines
# Of messages in JSON Lines: the line, which the workers read, its file, and the first byte of its block.
LINE, FILE, START = "_cbnet_line", "_cbnet_file", "_cbnet_start"
FOLDER = "cbnet.folder"  # in the metadata of a column that is in the names of folders, not in lines
_NOT_ATTRIBUTES = (CORRUPT, LINE, FILE, START)
_TEXT = "_line"  # column of rejected lines
_RESERVED = (RULE, *DETAILS, FILTER, ERROR, COUNTS, "version", "bucket", "batch")  # of the result and of its folders
_COUNT_TYPES = {int: LongType(), float: DoubleType()}
COUNTS_TYPE = StructType([StructField(name, _COUNT_TYPES[type(zero)]) for name, zero in asdict(MatchCounts()).items()])

Keys = Mapping[str, tuple[tuple[str, ...], DataType, bool]]  # columns and fields to copy by name: path, type, nullable


def match(
    df: DataFrame,
    table: AnyTable | Sequence[AnyTable],
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    details: bool = False,
    filters: bool = False,
    version: bool = False,
    on_error: OnError = FAIL,
    strict: bool = False,
    observation: Observation | None = None,
) -> DataFrame:
    """Return a row for each row of `df` and each rule that it matches: key, rule.

    table: a table, its compiled file, or several that form one. key: columns of the result beside `rule`, by
    default all; also fields of structs, such as `order.number`. columns: those that are attributes, by default all.
    With `details` the columns `rule_priority` and `rule_metadata`, a JSON text or null, describe the rule. With
    `filters` there is a row for each matching filter, with its text in the column `filter`; with `version` a column
    with the version of the table.

    Columns mean the same as in `Table.match_frame`; only those that filters use are read. A row that is not a valid
    message, for example because of a NaN, fails the query; with `on_error="drop"` it matches nothing; with "column" it
    is in the result once, with the reason in the column `_error` and without a rule.

    strict: a rule that tests what the columns do not have, such as a misspelt one, is an error, not a `ColumnWarning`.

    observation: receives the numbers of records, matches and rejected rows with the first action on the result.
    """
    tables = ship_tables(df.sparkSession, table, filters=filters)
    rows = match_shipped(
        df, tables, key=key, columns=columns, details=details, version=version, on_error=on_error,
        is_counted=observation is not None,
    )  # fmt: skip
    found = attributes_of(message_columns_of(df), columns, used_names(tables))
    check_tables(tables, found, strict=strict).warn(strict=strict, stacklevel=2)
    return rows if observation is None else observe_counts(rows, observation)


def match_shipped(
    df: DataFrame,
    tables: Sequence[ShippedTable],
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    details: bool = False,
    version: bool = False,
    on_error: OnError = DROP,
    is_counted: bool = False,
) -> DataFrame:
    """Match with shipped tables; counts are in rows of their own, for `observe_counts`."""
    check_policy(on_error)
    keys = _keys(df, key)
    opened = [table.open_here() for table in tables]
    result = StructType([StructField(RULE, rule_type(opened), on_error == COLUMN or is_counted)])
    if details:
        result.add(PRIORITY, LongType(), result[RULE].nullable).add(METADATA, StringType())
    if tables[0].with_filters:
        result.add(FILTER, StringType(), result[RULE].nullable)
    if on_error == COLUMN:
        result.add(ERROR, StringType())
    if is_counted:
        result.add(COUNTS, COUNTS_TYPE)
    rows = _mapped(df, tables, keys, columns, result, on_error)
    return rows.withColumn("version", F.lit(joint_version(tables))) if version else rows


def new_observation() -> Observation:
    """Return an observation, for packages that do not import Spark."""
    return Observation()


def observe_counts(rows: DataFrame, observation: Observation) -> DataFrame:
    """Return the rows without counts; an action on them completes the observation."""
    sums = (F.coalesce(F.sum(f"{COUNTS}.{name}"), F.lit(0)).alias(name) for name in COUNTS_TYPE.names)
    return rows.observe(observation, *sums).where(F.col(COUNTS).isNull()).drop(COUNTS)


def observed_counts(observation: Observation) -> MatchCounts:
    """Return the counts of a completed observation."""
    return MatchCounts(**observation.get)


def dead_letters(df: DataFrame, tables: Sequence[ShippedTable], *, columns: Sequence[str] | None = None) -> DataFrame:
    """Return the rows that are not valid messages, with the reason in `_error`.

    JSON Lines also have `_line` and, of files, `_place`, in place of members with these names.
    """
    taken = (ERROR, FILE, START, *((_TEXT, PLACE) if LINE in df.columns else ()))
    fields = (field for field in df.schema if field.name.lower() not in taken and _is_arrow(field.dataType))
    keys = {field.name: ((field.name,), field.dataType, field.nullable) for field in fields}
    result = StructType().add(ERROR, StringType())
    first = None
    if FILE in df.columns:
        result.add(PLACE, StringType())
        first = first_in_file(block_sizes(df.select(F.col(FILE).alias("file"), F.col(START).alias("start"))))
    return _mapped(df, tables, keys, columns, result, COLUMN, first).withColumnRenamed(LINE, _TEXT)


def _mapped(
    df: DataFrame,
    tables: Sequence[ShippedTable],
    keys: Keys,
    columns: Sequence[str] | None,
    result: StructType,
    on_error: OnError,
    first: Mapping[Block, int] | None = None,
) -> DataFrame:
    has_lines = LINE in df.columns
    used = {} if has_lines else used_columns(message_columns_of(df), columns, used_names(tables))
    plan = MatchPlan(
        tables=tuple(tables),
        keys=tuple(keys),
        attributes=tuple(columns or ()) if has_lines else tuple(used),
        result=arrow_schema(result),
        is_overlapping=overlap([table.open_here() for table in tables]),
        on_error=on_error,
        has_corrupt=CORRUPT in df.columns,
        has_lines=has_lines,
        first=first,
    )
    last = [F.col(CORRUPT).isNotNull()] if plan.has_corrupt else []
    if has_lines:
        last = [F.col(LINE).cast("binary"), *([] if first is None else [F.col(FILE), F.col(START)])]
    selected = [*(column(*path) for path, _, _ in keys.values()), *used.values(), *last] or [F.lit(1)]
    rows = df.select(*(each.alias(f"c{index}") for index, each in enumerate(selected)))
    # The keys are null in rows with counts.
    copied = [
        StructField(name, type, is_nullable or COUNTS in result.names) for name, (_, type, is_nullable) in keys.items()
    ]
    return rows.mapInArrow(partial(match_batches, plan=plan), StructType([*copied, *result]))


def message_columns_of(df: DataFrame) -> StructType:
    """Return the columns of a DataFrame that may be attributes."""
    return StructType(
        [field for field in df.schema if field.name not in _NOT_ATTRIBUTES and FOLDER not in field.metadata]
    )


def used_names(tables: Sequence[ShippedTable]) -> UsedNames:
    """Return the attributes that the filters of tables use."""
    opened = [table.open_here() for table in tables]
    names = frozenset(name for table in opened for name in table.names)
    arrays = UsedArrays.of_names(names)
    plain = names.union(arrays.paths).difference(*arrays.names.values())
    return UsedNames(plain, any(table.has_tags for table in opened), frozenset(arrays.names))


def check_tables(
    tables: Sequence[ShippedTable], columns: Sequence[AttributeColumn], *, strict: bool, names_only: bool = False
) -> ColumnReport:
    """Return what the rules of tables test of columns that no row can pass; strict: check large tables, too."""
    opened = [table.open_here().compiled for table in tables]
    return check_columns(opened, columns, strict=strict, names_only=names_only)


def start_workers(spark: SparkSession) -> None:
    """Start the Python workers of a session, which takes seconds; those of Spark Connect start with the first match."""
    if not is_connect(spark):
        run_tasks(spark, [import_matching] * spark.sparkContext.defaultParallelism)


def import_matching() -> None:
    """Import this module in a worker: to find this function is to import it."""


def check_policy(on_error: str) -> None:
    """Raise an error for an unknown policy."""
    if on_error not in (FAIL, DROP, COLUMN):
        raise InputError(f"unknown error policy {on_error!r}", hint='use "fail", "drop" or "column"')


def rule_type(tables: Sequence[OpenTable]) -> LongType | StringType:
    """Return the type of the rules of tables."""
    return LongType() if all(pa.types.is_integer(table.compiled.rule_names.type) for table in tables) else StringType()


def overlap(tables: Sequence[OpenTable]) -> bool:
    """Return whether a rule is in several tables, which could match it twice."""
    labels = [table.compiled.rule_names.cast(pa.string()) for table in tables] if len(tables) > 1 else []
    return len(pa.chunked_array(labels, pa.string()).unique()) < sum(map(len, labels))


def _keys(df: DataFrame, key: str | Sequence[str] | None) -> Keys:
    if key is None:
        key = [name for name in df.columns if name not in _NOT_ATTRIBUTES]
    keys = {name: field_of(df.schema, name) for name in ([key] if isinstance(key, str) else key)}
    for name, (_, type, _) in keys.items():
        if name in _RESERVED:
            raise InputError(f"the key column {name!r} is a column of the result", hint="rename the key column")
        if not _is_arrow(type):
            problem = f"the key column {name!r}: Spark cannot pass {type.simpleString()} to Python"
            raise InputError(problem, hint="cast it to string, or select the columns of the result")
    return keys


def _is_arrow(type: DataType) -> bool:
    """Return whether Spark can pass values of a type to Python."""
    if isinstance(type, ArrayType):
        return _is_arrow(type.elementType)
    if isinstance(type, MapType):
        return _is_arrow(type.keyType) and _is_arrow(type.valueType)
    if isinstance(type, StructType):
        return all(_is_arrow(field.dataType) for field in type)
    return not isinstance(type, CalendarIntervalType | YearMonthIntervalType)
