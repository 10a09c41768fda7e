"""Typed rows: which messages, or other typed values, do lines hold?

A column per attribute, null where it is absent, and a column of lists of strings for the tags: what a table matches
in bulk. Two syntaxes: separated fields, and the pairs of publish/subscribe traces:

    [class,'STOCK'],[symbol,'ABIX'],[open,9.25],[volume,59500]
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import Cut, Layout, Mask
from cbnet.pipeline.ingest.parse_result import Parsed
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.ingest.text_parser import tag_lists
from cbnet.pipeline.spark.list_columns import Numbers, lengths_of, rows_of

# What the text of a value must look like: so that an int fits into 64 bits, and a float is no NaN and not infinite.
_LOOKS = {
    "int": r"^[+-]?[0-9]{1,18}$",
    "float": r"^[+-]?([0-9]{1,99}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$",
    "bool": r"^(true|false|True|False|TRUE|FALSE)$",
}
_PAIR = r"^[^,\[\]']+,\s*('[^']*'|[^',\[\]]+)\s*$"

NOT_PAIRS = "not a list of [name,value]"
TWICE = "an attribute twice"
NO_TYPE = "an attribute without a type"


def parse_table(lines: pa.Array, layout: Layout, schema: pa.Schema, source: Source) -> Parsed:
    """Return the rows of separated lines, which the layout cuts into the columns of `source.types`."""
    cut = layout.cut(lines)
    cut = Cut([pc.utf8_trim_whitespace(column) for column in cut.columns], cut.lines, cut.bad)
    return _typed(cut, schema, source)


def parse_pairs(lines: pa.Array, schema: pa.Schema, source: Source) -> Parsed:
    """Return the rows of lines of pairs in brackets."""
    names = [*source.types]
    rows, places, values, bad = _pairs(lines, names)
    for wrong, reason in ((rows[places < 0], NO_TYPE), (_rows_with_repetition(rows, places, len(names)), TWICE)):
        bad = {**dict.fromkeys(wrong.tolist(), reason), **bad}
    kept = np.setdiff1d(np.arange(len(lines)), [*bad])
    columns = []
    for place in range(len(names)):
        of_line = np.full(len(lines), -1)
        there = np.flatnonzero(places == place)
        of_line[rows[there]] = there
        of_row = of_line[kept]
        columns.append(values.take(pa.array(of_row, mask=of_row < 0)))
    return _typed(Cut(columns, kept, bad), schema, source)


def _pairs(lines: pa.Array, names: list[str]) -> tuple[Numbers, Numbers, pa.Array, dict[int, str]]:
    """Return the line of each pair, the place of its name or -1, and its value; and which lines are wrong."""
    framed = np.asarray(pc.match_substring_regex(lines, r"^\s*\[.*\]\s*$"))
    lists = pc.split_pattern(pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(lines), 1, -1), "],[")
    pairs, rows = lists.flatten(), rows_of(lengths_of(lists))
    good = np.asarray(pc.match_substring_regex(pairs, _PAIR))
    split = pc.utf8_trim_whitespace(pc.split_pattern(pairs.filter(pa.array(good)), ",", max_splits=1).flatten())
    places = np.asarray(pc.index_in(split[::2], pa.array(names, pa.string())).fill_null(-1)).astype(np.int64)
    wrong = np.union1d(np.flatnonzero(~framed), rows[~good])
    return rows[good], places, pc.utf8_trim(split[1::2], "'"), dict.fromkeys(wrong.tolist(), NOT_PAIRS)


def _rows_with_repetition(rows: Numbers, places: Numbers, count: int) -> Numbers:
    keys, counts = np.unique(rows * count + places, return_counts=True)
    repeated: Numbers = keys[counts > 1]
    return repeated // count


def _typed(cut: Cut, schema: pa.Schema, source: Source) -> Parsed:
    """Return columns of text as columns of their types; absent values are null."""
    absent = pa.array([*source.absent], pa.string())
    texts = [pc.if_else(pc.is_in(column, absent), pa.scalar(None, pa.string()), column) for column in cut.columns]
    cut = Cut(texts, cut.lines, cut.bad)
    for place, (name, type) in enumerate(source.types.items()):
        if type in _LOOKS:
            cut = cut.without(_looks_wrong(cut.columns[place], type), f"{name} is not {_article(type)}")
    columns = [
        tag_lists(column.fill_null(""), source) if type == "tags" else _cast(column, wanted.type)
        for column, type, wanted in zip(cut.columns, source.types.values(), schema, strict=True)
    ]
    return Parsed(pa.RecordBatch.from_arrays(columns, schema=schema), cut.lines, cut.bad)


def _cast(column: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_string(type):
        return column
    plain = pc.utf8_lower(column) if pa.types.is_boolean(type) else pc.utf8_ltrim(column, "+")
    return plain.cast(type)


def _looks_wrong(column: pa.Array, type: str) -> Mask:
    right = pc.match_substring_regex(column, _LOOKS[type]).fill_null(True)
    return ~np.asarray(right)


def _article(type: str) -> str:
    return {"int": "an int", "float": "a float", "bool": "true or false"}[type]
