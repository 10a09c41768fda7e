"""Rows of users, items, tags and texts from separated lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import Layout, Mask, ParsedLines
from cbnet.pipeline.ingest.source import BLANKS, Source
from cbnet.pipeline.spark.list_columns import filter_elements, from_lengths, lengths_of

_MAY_BE_EMPTY = ("item", "tags")  # a tweet may have no link, but must have a user


def parse_text(lines: pa.Array, layout: Layout, names: Sequence[str], schema: pa.Schema, source: Source) -> ParsedLines:
    """Parse lines to rows of `schema`; the layout splits them into the columns `names`."""
    fields = layout.split(lines).trim()
    for index, name in enumerate(names):
        if name not in _MAY_BE_EMPTY:
            fields = fields.reject(_is_absent(fields.columns[index], source), f"no {name}")
    texts = dict(zip(names, fields.columns, strict=True))
    columns = []
    for column in schema:
        if column.name == "tags":
            columns.append(tag_lists(texts["tags"], source))
        elif column.name in texts:
            columns.append(_null_if(texts[column.name], _is_absent(texts[column.name], source)))
        else:
            columns.append(pa.nulls(len(fields.lines), column.type))
    return ParsedLines(pa.RecordBatch.from_arrays(columns, schema=schema), fields.lines, fields.rejected)


def tag_lists(texts: pa.Array, source: Source) -> pa.Array:
    """Split texts into lists of tags without their prefix; empty tags are dropped."""
    texts = pc.if_else(pa.array(_is_absent(texts, source)), "", texts)
    if source.tag_separator == BLANKS:
        lists = pc.utf8_split_whitespace(texts)
    else:
        lists = pc.split_pattern(texts, source.tag_separator)
    tags = bare_tags(lists.flatten(), source.tag_prefix)
    lists = from_lengths(tags, lengths_of(lists))
    return filter_elements(lists, np.asarray(pc.not_equal(tags, "")))


def bare_tags(tags: pa.Array, prefix: str) -> pa.Array:
    """Strip white space and one prefix from tags."""
    tags = pc.utf8_trim_whitespace(tags)
    if not prefix:
        return tags
    stripped = pc.utf8_slice_codeunits(tags, len(prefix))
    return pc.if_else(pc.starts_with(tags, prefix), stripped, tags)


def _is_absent(texts: pa.Array, source: Source) -> Mask:
    absent = pc.is_in(texts, pa.array([*source.absent, ""], pa.string()))
    return np.asarray(absent)


def _null_if(texts: pa.Array, absent: Mask) -> pa.Array:
    return pc.if_else(pa.array(absent), pa.scalar(None, texts.type), texts) if absent.any() else texts
