"""Conversion of Arrow batches of Spark's columns to messages.

A date becomes the text 2024-05-01 and a time the text 2024-05-01T10:00:00.000000, in UTC and always of this length. So
texts have the order of time, and every prefix is a bound: `at >= "2024-05-01T12"`, `at ^= "2024-05"`.

A row with a value that messages cannot have (NaN, infinity, text that is not UTF-8, a year beyond 9999) is rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet.pipeline.match.message_columns import Attribute

Mask = NDArray[np.bool_]

_DAY = 86_400_000_000  # microseconds
_FIRST = -62_135_596_800_000_000  # the year 1
_LAST = 253_402_300_799_999_999  # the end of the year 9999


@dataclass(frozen=True)
class Messages:
    """The rows that are valid messages, and the numbers of the others by reason."""

    batch: pa.RecordBatch
    rows: NDArray[np.int64] | None  # the row of each message; None if all rows are messages
    rejected: Counter[str]


def messages_of(columns: Sequence[pa.Array], attributes: Sequence[Attribute], count: int) -> Messages:
    """Convert the columns of `count` rows to messages; attributes: one per column."""
    bad = np.zeros(count, bool)
    rejected: Counter[str] = Counter()
    values = []
    for column, attribute in zip(columns, attributes, strict=True):
        value, wrong = _convert(column, attribute.kind)
        values.append(value)
        if wrong is not None:
            mask, reason = wrong
            rejected[f"{'.'.join(attribute.path)} is {reason}"] += int(np.count_nonzero(mask & ~bad))
            bad |= mask
    # A batch without columns would have no number of rows.
    names = [*(attribute.name for attribute in attributes), ""]
    batch = pa.RecordBatch.from_arrays([*values, pa.nulls(count)], names)
    if not rejected:
        return Messages(batch, None, rejected)
    return Messages(batch.filter(pa.array(~bad)), np.flatnonzero(~bad), rejected)


def _convert(column: pa.Array, kind: str) -> tuple[pa.Array, tuple[Mask, str] | None]:
    """Convert a column to values of the language; return also the mask of invalid rows and the reason, if any."""
    if kind in ("date", "time"):
        return _time_texts(column, kind)
    if kind == "float":
        return column, _marked(pc.invert(pc.is_finite(column)), "NaN or infinite")
    if kind == "tags":
        return _without_null_tags(column), _not_text(column)
    if kind == "string":
        return column, _not_text(column)
    return column, None


def _without_null_tags(column: pa.ListArray) -> pa.ListArray:
    tags = column.flatten()
    if not tags.null_count:
        return column
    is_tag = tags.is_valid()
    counts = np.bincount(np.asarray(pc.list_parent_indices(column).filter(is_tag)), minlength=len(column))
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
    return pa.ListArray.from_arrays(offsets, tags.filter(is_tag), mask=column.is_null())


def _time_texts(column: pa.Array, kind: str) -> tuple[pa.Array, tuple[Mask, str] | None]:
    if kind == "date":
        unit, days = pa.date32(), column.cast(pa.int32())
        outside = pc.or_(pc.less(days, _FIRST // _DAY), pc.greater(days, _LAST // _DAY))
    else:
        unit = pa.timestamp("us")
        ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        column = ticks.cast(unit)
        outside = pc.or_(pc.less(ticks, _FIRST), pc.greater(ticks, _LAST))
    wrong = _marked(outside, "not in the years 1 to 9999")
    if wrong is not None:
        column = pc.if_else(outside, pa.scalar(None, unit), column)
    texts = column.cast(pa.string())
    return texts if kind == "date" else pc.replace_substring(texts, " ", "T"), wrong


def _marked(wrong: pa.Array, reason: str) -> tuple[Mask, str] | None:
    """Return the mask of wrong values and the reason, or None; null is not wrong."""
    return (np.asarray(wrong.fill_null(False)), reason) if pc.any(wrong).as_py() else None


def _not_text(column: pa.Array) -> tuple[Mask, str] | None:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([not _is_text(value) for value in _as_bytes(column)]), "not UTF-8"
    return None


def _as_bytes(column: pa.Array) -> list[bytes | list[bytes | None] | None]:
    is_list = pa.types.is_list(column.type)
    listed: list[bytes | list[bytes | None] | None] = column.cast(
        pa.list_(pa.binary()) if is_list else pa.binary()
    ).to_pylist()
    return listed


def _is_text(value: bytes | list[bytes | None] | None) -> bool:
    try:
        for part in value if isinstance(value, list) else [value]:
            (part or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
