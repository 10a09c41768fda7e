"""SQL functions that match.

    register(spark, "rules_of", "table.cbt", key="id bigint")

    SELECT id, rules_of(struct(*)) FROM trades                        -- array<string>: the rules of each row
    SELECT id, rules_of(symbol => symbol, price => price) FROM trades -- only these attributes are sent to the workers
    SELECT id, rule FROM rules_of(TABLE(trades))                      -- a row for each match

A message is a struct, whose fields are attributes, or named arguments. Both functions take Arrow batches.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import arrow_udtf
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
from pyspark.sql.types import ArrayType, LongType, StringType, StructType

from cbnet.errors import InputError
from cbnet.matching.frames import AnyTable
from cbnet.pipeline.match.batch_matcher import (
    COLUMN,
    ERROR,
    FAIL,
    FILTER,
    METADATA,
    PRIORITY,
    RULE,
    MatchPlan,
    OnError,
    match_batches,
    match_lists,
)
from cbnet.pipeline.match.dataframe_matcher import check_policy, overlap, rule_type
from cbnet.pipeline.match.message_dataframes import parse_schema
from cbnet.pipeline.match.shipped_tables import ship_tables
from cbnet.pipeline.schemas import arrow_schema

_USAGE = "pass struct(*), or named columns such as price => price"


def register(
    spark: SparkSession,
    name: str,
    table: AnyTable | Sequence[AnyTable],
    *,
    key: str | StructType | None = None,
    details: bool = False,
    filters: bool = False,
    on_error: OnError = FAIL,
) -> Callable[..., Column]:
    """Register the function and the table function `name` in a session; replace those of an earlier call.

    Return the function for columns of DataFrames: `trades.select(rules_of(struct("*")))`.

    key: columns of the table function's result beside `rule`, with their types, such as "id bigint". With
    `details` it has the columns `rule_priority` and `rule_metadata`, and with `filters` a row for each matching filter,
    with its text in the column `filter`.

    A row that is not a valid message fails the query. With `on_error="drop"` the function returns null for it and the
    table function nothing; with "column" the table function returns its key and the reason, in the column `_error`.
    """
    check_policy(on_error)
    keys = parse_schema(key) if isinstance(key, str) else key or StructType()
    tables = ship_tables(spark, table, filters=filters)
    opened = [table.open_here() for table in tables]
    result = StructType().add(RULE, rule_type(opened))
    if details:
        result.add(PRIORITY, LongType()).add(METADATA, StringType())
    if filters:
        result.add(FILTER, StringType())
    if on_error == COLUMN:
        result.add(ERROR, StringType())
    plan = MatchPlan(tuple(tables), (), (), arrow_schema(result), overlap(opened), on_error)
    rows_plan = replace(plan, keys=tuple(keys.names))
    lists_plan = replace(plan, tables=tuple(replace(table, with_filters=False) for table in tables))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # type hints cannot describe optional and named arguments
        function = arrow_udf(_function(lists_plan), ArrayType(StringType()), ArrowUDFType.SCALAR)
    registered: Callable[..., Column] = spark.udf.register(name, function)
    table_function: Any = arrow_udtf(_handler(rows_plan), returnType=StructType([*keys, *result]))
    spark.udtf.register(name, table_function)
    return registered


def _function(plan: MatchPlan) -> Any:
    def rules(message: Any = None, **columns: Any) -> Any:
        if (message is None) == (not columns):
            raise InputError("give either one struct or named columns", hint=_USAGE)
        batch = _batch(message) if message is not None else pa.RecordBatch.from_pydict(columns)
        found = match_lists(batch, replace(plan, attributes=tuple(batch.schema.names)))
        return found if message is None or not message.null_count else pc.if_else(message.is_valid(), found, None)

    return rules


def _handler(plan: MatchPlan) -> type:
    class Matches:
        def eval(self, rows: Any) -> Iterator[Any]:
            batch = rows if isinstance(rows, pa.RecordBatch) else _batch(rows)
            for name in plan.keys:
                if batch.schema.get_field_index(name) < 0:
                    hint = f"its columns: {', '.join(batch.schema.names)}"
                    raise InputError(f"the table has no column {name!r} of the key", hint=hint)
            columns = [*(batch.column(name) for name in plan.keys), *batch.columns]
            names = [*plan.keys, *batch.schema.names]
            yield from match_batches(
                [pa.RecordBatch.from_arrays(columns, names)], replace(plan, attributes=tuple(batch.schema.names))
            )

    return Matches


def _batch(message: pa.Array) -> pa.RecordBatch:
    if not pa.types.is_struct(message.type):
        raise InputError(f"a message is a struct, not {message.type}", hint=_USAGE)
    return pa.RecordBatch.from_struct_array(message)
