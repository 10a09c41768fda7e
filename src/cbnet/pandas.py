"""Matching in pandas: the accessor `cbnet` of data frames.

import cbnet.pandas

orders.cbnet.match(table)    # orders with a column `rules`: a list of names for each row
"""

from __future__ import annotations

import pandas as pd

from cbnet.matching.frames import RULES, AnyTable, match_columns

__all__: list[str] = []


@pd.api.extensions.register_dataframe_accessor("cbnet")
class _DataFrameAccessor:
    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def match(self, table: AnyTable, *, column: str = RULES, threads: int = 1, strict: bool = False) -> pd.DataFrame:
        """Return the frame with the rules of each row in a new column; arguments as of `Table.match_frame`."""
        found = match_columns(table, self._frame, self._frame.columns, column, threads=threads, strict=strict)
        return self._frame.assign(**{column: pd.Series(found.to_pylist(), self._frame.index, object)})
