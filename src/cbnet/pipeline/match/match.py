"""Matched: which interfaces does each row of a DataFrame go to?

    match(trades, "table.cbt", key="id")    # id, interface

Rows go to the Python workers as Arrow batches, with only the columns that a filter asks for, and from there into the
kernels. It does not matter whether they are a batch or a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from cbnet.errors import InputError
from cbnet.pipeline.match.batch_matcher import Note, Plan, match_batches
from cbnet.pipeline.match.message_columns import TAGS, Attribute, attributes_of
from cbnet.pipeline.match.shipped_tables import AnyTable, OpenTable, ShippedTable, ship_tables, version_of_all

CORRUPT = "_corrupt_record"  # where Spark puts a line that it cannot read
_OWN = ("interface", "filter", "version", "bucket", "batch")  # columns of the result and of its folders


def match(
    df: DataFrame,
    table: AnyTable | Sequence[AnyTable],
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    filters: bool = False,
    version: bool = False,
) -> DataFrame:
    """Return a row for each row of `df` and each interface that it goes to: key, interface.

    `table` is a table, or its compiled file, or several that together are one. `key` are the columns that the result
    has beside `interface`, by default all. `columns` are those that are attributes, by default all. With `filters`
    there is a row for each matching filter and a column with its text, `filter`; with `version` one with the version of
    the table, `version`.

    A row that is no message, as it holds NaN, goes nowhere.
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
    note: Note | None = None,
) -> DataFrame:
    """Match with tables that the executors have; `note` is called with the tally of each partition, in the worker."""
    keys = _keys(df, key)
    _, asked = asked_attributes(df, tables, columns)
    opened = [table.open() for table in tables]
    schema = _result_schema(df, keys, opened, filters=tables[0].with_filters)
    plan = Plan(
        tables=tuple(tables),
        keys=len(keys),
        attributes=tuple(asked),
        has_corrupt=CORRUPT in df.columns,
        names=tuple(schema.names),
        are_ints=isinstance(schema["interface"].dataType, LongType),
        with_filters=tables[0].with_filters,
        is_overlapping=_overlap(opened),
    )
    taken = [_quoted(name) for name in keys]
    read = [attribute.column() for attribute in asked]
    corrupt = [F.col(CORRUPT).isNotNull()] if plan.has_corrupt else []
    given = [column.alias(f"c{place}") for place, column in enumerate([*taken, *read, *corrupt] or [F.lit(1)])]
    result = df.select(*given).mapInArrow(partial(match_batches, plan=plan, note=note), schema)
    return result.withColumn("version", F.lit(version_of_all(tables))) if version else result


def asked_attributes(
    df: DataFrame, tables: Sequence[ShippedTable], columns: Sequence[str] | None
) -> tuple[list[Attribute], list[Attribute]]:
    """Return the attributes of a DataFrame, and those of them that a filter asks for."""
    attributes = attributes_of(_without_corrupt(df.schema), columns)
    opened = [table.open() for table in tables]
    return attributes, [attribute for attribute in attributes if any(_asks(table, attribute) for table in opened)]


def _keys(df: DataFrame, key: str | Sequence[str] | None) -> list[str]:
    named = [name for name in df.columns if name != CORRUPT] if key is None else [key] if isinstance(key, str) else key
    keys = list(dict.fromkeys(named))
    for name in keys:
        if name not in df.columns:
            raise InputError(f"there is no column {name!r} to be a key", hint=f"there are {', '.join(df.columns)}")
        if name in _OWN:
            raise InputError(f"the result has a column {name!r} of its own", hint="rename the key")
    return keys


def _without_corrupt(schema: StructType) -> StructType:
    return StructType([field for field in schema if field.name != CORRUPT])


def _quoted(name: str) -> Any:
    return F.col(f"`{name.replace('`', '``')}`")


def _asks(table: OpenTable, attribute: Attribute) -> bool:
    symbols = table.matcher.symbols
    return symbols.count > symbols.names if attribute.name == TAGS else symbols.symbol(attribute.name, False) >= 0


def _result_schema(df: DataFrame, keys: Sequence[str], tables: Sequence[OpenTable], *, filters: bool) -> StructType:
    are_ints = all(pa.types.is_integer(table.labels.type) for table in tables)
    interface = StructField("interface", LongType() if are_ints else StringType(), False)
    more = [StructField("filter", StringType(), False)] if filters else []
    return StructType([*(df.schema[name] for name in keys), interface, *more])


def _overlap(tables: Sequence[OpenTable]) -> bool:
    """Return whether an interface is in several tables; then it could be found twice."""
    labels = [table.labels.cast(pa.string()) for table in tables] if len(tables) > 1 else []
    return len(pa.chunked_array(labels, pa.string()).unique()) < sum(map(len, labels))
