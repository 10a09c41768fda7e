"""Rows of messages, or of other typed values, from lines.

A column per attribute, null where it is absent, and a column of lists of strings for the tags, as a table matches them
in bulk. Two syntaxes: separated fields, and the pairs of publish/subscribe traces:

    [class,'STOCK'],[symbol,'ABIX'],[open,9.25],[volume,59500]
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import FieldColumns, Layout, Mask, ParsedLines
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.ingest.text_parser import tag_lists
from cbnet.pipeline.spark.list_columns import Numbers, lengths_of, rows_of

# Patterns of values: an int fits into 64 bits, a float is finite.
_PATTERNS = {
    "int": r"^[+-]?[0-9]{1,18}$",
    "float": r"^[+-]?([0-9]{1,99}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$",
    "bool": r"^(true|false|True|False|TRUE|FALSE)$",
}
_PAIR = r"^[^,\[\]']+,\s*('[^']*'|[^',\[\]]+)\s*$"

NOT_PAIRS = "not a list of [name,value]"
TWICE = "repeated attribute"
NO_TYPE = "attribute without a type"


def parse_table(lines: pa.Array, layout: Layout, schema: pa.Schema, source: Source) -> ParsedLines:
    """Parse separated lines, which the layout splits into the columns of `source.types`."""
    return _convert(layout.split(lines).trim(), schema, source)


def parse_pairs(lines: pa.Array, schema: pa.Schema, source: Source) -> ParsedLines:
    """Parse lines of pairs in brackets."""
    names = [*source.types]
    rows, indexes, values, rejected = _pairs(lines, names)
    for wrong, reason in ((rows[indexes < 0], NO_TYPE), (_rows_with_repetition(rows, indexes, len(names)), TWICE)):
        rejected = {**dict.fromkeys(wrong.tolist(), reason), **rejected}
    kept = np.setdiff1d(np.arange(len(lines)), [*rejected])
    columns = []
    for index in range(len(names)):
        of_line = np.full(len(lines), -1)
        pairs = np.flatnonzero(indexes == index)
        of_line[rows[pairs]] = pairs
        of_row = of_line[kept]
        columns.append(values.take(pa.array(of_row, mask=of_row < 0)))
    return _convert(FieldColumns(columns, kept, rejected), schema, source)


def _pairs(lines: pa.Array, names: list[str]) -> tuple[Numbers, Numbers, pa.Array, dict[int, str]]:
    """Return the line of each pair, the index of its name or -1, and its value; and the rejected lines."""
    framed = np.asarray(pc.match_substring_regex(lines, r"^\s*\[.*\]\s*$"))
    lists = pc.split_pattern(pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(lines), 1, -1), "],[")
    pairs, rows = lists.flatten(), rows_of(lengths_of(lists))
    good = np.asarray(pc.match_substring_regex(pairs, _PAIR))
    split = pc.utf8_trim_whitespace(pc.split_pattern(pairs.filter(pa.array(good)), ",", max_splits=1).flatten())
    indexes = np.asarray(pc.index_in(split[::2], pa.array(names, pa.string())).fill_null(-1)).astype(np.int64)
    wrong = np.union1d(np.flatnonzero(~framed), rows[~good])
    return rows[good], indexes, pc.utf8_trim(split[1::2], "'"), dict.fromkeys(wrong.tolist(), NOT_PAIRS)


def _rows_with_repetition(rows: Numbers, indexes: Numbers, count: int) -> Numbers:
    keys, counts = np.unique(rows * count + indexes, return_counts=True)
    repeated: Numbers = keys[counts > 1]
    return repeated // count


def _convert(fields: FieldColumns, schema: pa.Schema, source: Source) -> ParsedLines:
    """Convert columns of text to their types; absent values are null."""
    absent = pa.array([*source.absent], pa.string())
    texts = [pc.if_else(pc.is_in(column, absent), pa.scalar(None, pa.string()), column) for column in fields.columns]
    fields = FieldColumns(texts, fields.lines, fields.rejected)
    for index, (name, type) in enumerate(source.types.items()):
        if type in _PATTERNS:
            fields = fields.reject(_mismatches(fields.columns[index], type), f"{name} is not {_article(type)}")
    columns = [
        tag_lists(column.fill_null(""), source) if type == "tags" else _cast(column, field.type)
        for column, type, field in zip(fields.columns, source.types.values(), schema, strict=True)
    ]
    return ParsedLines(pa.RecordBatch.from_arrays(columns, schema=schema), fields.lines, fields.rejected)


def _cast(column: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_string(type):
        return column
    plain = pc.utf8_lower(column) if pa.types.is_boolean(type) else pc.utf8_ltrim(column, "+")
    return plain.cast(type)


def _mismatches(column: pa.Array, type: str) -> Mask:
    right = pc.match_substring_regex(column, _PATTERNS[type]).fill_null(True)
    return ~np.asarray(right)


def _article(type: str) -> str:
    return {"int": "an int", "float": "a float", "bool": "true or false"}[type]
