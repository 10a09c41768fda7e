"""Matching of the rows of a DataFrame, batch or stream.

    match(trades, "table.cbt", key="id")    # id, interface

Rows go to the Python workers as Arrow batches, with only the columns that filters use, and are matched by the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import LongType, StringType, StructField, StructType

from cbnet.errors import InputError
from cbnet.pipeline.match.batch_matcher import AddCounts, MatchPlan, match_batches
from cbnet.pipeline.match.message_columns import UsedNames, column, used_columns
from cbnet.pipeline.match.shipped_tables import AnyTable, OpenTable, ShippedTable, joint_version, ship_tables

CORRUPT = "_corrupt_record"  # Spark's column for unreadable lines
_RESERVED = ("interface", "filter", "version", "bucket", "batch")  # columns of the result and of its folders


def match(
    df: DataFrame,
    table: AnyTable | Sequence[AnyTable],
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    filters: bool = False,
    version: bool = False,
) -> DataFrame:
    """Return a row for each row of `df` and each interface that it matches: key, interface.

    table: a table, its compiled file, or several that form one. key: columns of the result beside `interface`, by
    default all. columns: those that are attributes, by default all. With `filters` there is a row for each matching
    filter, with its text in the column `filter`; with `version` a column with the version of the table.

    Columns mean the same as in `Table.match_frame`; only those that filters use are read. A row that is not a valid
    message, for example because of a NaN, matches nothing.
    """
    tables = ship_tables(df.sparkSession, table, filters=filters)
    return match_shipped(df, tables, key=key, columns=columns, version=version)


def match_shipped(
    df: DataFrame,
    tables: Sequence[ShippedTable],
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    version: bool = False,
    add_counts: AddCounts | None = None,
) -> DataFrame:
    """Match with shipped tables; workers call `add_counts` with the counts of each partition."""
    keys = _keys(df, key)
    used = used_columns(message_columns_of(df), columns, used_names(tables))
    opened = [table.open() for table in tables]
    schema = _result_schema(df, keys, opened, filters=tables[0].with_filters)
    plan = MatchPlan(
        tables=tuple(tables),
        keys=len(keys),
        attributes=tuple(used),
        has_corrupt=CORRUPT in df.columns,
        names=tuple(schema.names),
        are_ints=isinstance(schema["interface"].dataType, LongType),
        with_filters=tables[0].with_filters,
        is_overlapping=_overlap(opened),
    )
    corrupt = [F.col(CORRUPT).isNotNull()] if plan.has_corrupt else []
    selected = [*map(column, keys), *used.values(), *corrupt] or [F.lit(1)]
    rows = df.select(*(each.alias(f"c{index}") for index, each in enumerate(selected)))
    result = rows.mapInArrow(partial(match_batches, plan=plan, add_counts=add_counts), schema)
    return result.withColumn("version", F.lit(joint_version(tables))) if version else result


def message_columns_of(df: DataFrame) -> StructType:
    """Return the columns of a DataFrame that may be attributes."""
    return StructType([field for field in df.schema if field.name != CORRUPT])


def used_names(tables: Sequence[ShippedTable]) -> UsedNames:
    """Return the attributes that the filters of tables use."""
    opened = [table.open() for table in tables]
    names = frozenset(name for table in opened for name in table.names)
    return UsedNames(names, any(table.has_tags for table in opened))


def _keys(df: DataFrame, key: str | Sequence[str] | None) -> list[str]:
    if key is None:
        key = [name for name in df.columns if name != CORRUPT]
    keys = list(dict.fromkeys([key] if isinstance(key, str) else key))
    for name in keys:
        if name not in df.columns:
            raise InputError(f"no column {name!r} for the key", hint=f"columns: {', '.join(df.columns)}")
        if name in _RESERVED:
            raise InputError(f"the key column {name!r} is a column of the result", hint="rename the key column")
        try:
            to_arrow_type(df.schema[name].dataType, timezone="UTC")
        except PySparkTypeError:
            problem = f"the key column {name!r}: Spark cannot pass {df.schema[name].dataType.simpleString()} to Python"
            raise InputError(problem, hint="cast it to string, or select the columns of the result") from None
    return keys


def _result_schema(df: DataFrame, keys: Sequence[str], tables: Sequence[OpenTable], *, filters: bool) -> StructType:
    are_ints = all(pa.types.is_integer(table.labels.type) for table in tables)
    interface = StructField("interface", LongType() if are_ints else StringType(), False)
    more = [StructField("filter", StringType(), False)] if filters else []
    return StructType([*(df.schema[name] for name in keys), interface, *more])


def _overlap(tables: Sequence[OpenTable]) -> bool:
    """Return whether an interface is in several tables, which could match it twice."""
    labels = [table.labels.cast(pa.string()) for table in tables] if len(tables) > 1 else []
    return len(pa.chunked_array(labels, pa.string()).unique()) < sum(map(len, labels))
