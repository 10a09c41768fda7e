"""Matching in Polars: the namespace `cbnet` of data frames and lazy frames.

import cbnet.polars

orders.cbnet.match(table)                                # orders with a column `rules`: a list of names per row
pl.scan_parquet("orders.parquet").cbnet.match("rules.cbt").filter(pl.col("rules").list.contains("vip"))
"""

from __future__ import annotations

from functools import partial

import polars as pl

from cbnet.matching.frames import RULES, AnyTable, match_columns, opened

__all__: list[str] = []


@pl.api.register_dataframe_namespace("cbnet")
class _DataFrameNamespace:
    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def match(self, table: AnyTable, *, column: str = RULES, threads: int = 1, strict: bool = False) -> pl.DataFrame:
        """Return the frame with the rules of each row in a new column; arguments as of `Table.match_frame`."""
        found = match_columns(table, self._frame, self._frame.columns, column, threads=threads, strict=strict)
        return self._frame.with_columns(pl.Series(column, found))


@pl.api.register_lazyframe_namespace("cbnet")
class _LazyFrameNamespace:
    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def match(self, table: AnyTable, *, column: str = RULES, threads: int = 1, strict: bool = False) -> pl.LazyFrame:
        """Return the frame with the rules of each row in a new column, when it is collected."""
        table = opened(table)
        names = pl.Int64 if table.has_int_names else pl.String
        match = partial(_DataFrameNamespace.match, table=table, column=column, threads=threads, strict=strict)
        return self._frame.map_batches(
            lambda frame: match(_DataFrameNamespace(frame)),
            predicate_pushdown=False,  # Polars would have to know which columns the rules test
            projection_pushdown=False,
            schema={**self._frame.collect_schema(), column: pl.List(names)},
            streamable=True,
        )
