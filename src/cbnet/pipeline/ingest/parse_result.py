"""Parsed: what came of some lines?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from cbnet.pipeline.spark.list_columns import Numbers


@dataclass(frozen=True)
class Parsed:
    """The rows that some lines say, and why each other line says none. Lines are counted from 0 here."""

    rows: pa.RecordBatch
    lines: Numbers  # which line each row comes from, rising
    bad: dict[int, str]  # line -> reason; few different reasons, so that they can be counted


Parser: TypeAlias = Callable[[pa.Array], Parsed]
