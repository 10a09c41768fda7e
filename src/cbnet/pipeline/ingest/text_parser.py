"""Text rows: which users, items, tags and texts do separated lines hold?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import Cut, Layout, Mask
from cbnet.pipeline.ingest.parse_result import Parsed
from cbnet.pipeline.ingest.source import BLANKS, Source
from cbnet.pipeline.spark.list_columns import from_lengths, lengths_of, only

_MAY_BE_EMPTY = ("item", "tags")  # a tweet without a link is a fact, a tweet without a user is a mistake


def parse_text(lines: pa.Array, layout: Layout, names: Sequence[str], schema: pa.Schema, source: Source) -> Parsed:
    """Return the rows of `schema` that lines say; the layout cuts them into the columns `names`."""
    cut = layout.cut(lines)
    cut = Cut([pc.utf8_trim_whitespace(column) for column in cut.columns], cut.lines, cut.bad)
    for place, name in enumerate(names):
        if name not in _MAY_BE_EMPTY:
            cut = cut.without(_is_absent(cut.columns[place], source), f"no {name}")
    found = dict(zip(names, cut.columns, strict=True))
    columns = []
    for wanted in schema:
        if wanted.name == "tags":
            columns.append(tag_lists(found["tags"], source))
        elif wanted.name in found:
            columns.append(_null_if(found[wanted.name], _is_absent(found[wanted.name], source)))
        else:
            columns.append(pa.nulls(len(cut.lines), wanted.type))
    return Parsed(pa.RecordBatch.from_arrays(columns, schema=schema), cut.lines, cut.bad)


def tag_lists(texts: pa.Array, source: Source) -> pa.Array:
    """Return the tags that each text lists, in its order, without empty ones and without their prefix."""
    texts = pc.if_else(pa.array(_is_absent(texts, source)), "", texts)
    if source.tag_separator == BLANKS:
        lists = pc.utf8_split_whitespace(texts)
    else:
        lists = pc.split_pattern(texts, source.tag_separator)
    tags = bare_tags(lists.flatten(), source.tag_prefix)
    lists = from_lengths(tags, lengths_of(lists))
    return only(lists, np.asarray(pc.not_equal(tags, "")))


def bare_tags(tags: pa.Array, prefix: str) -> pa.Array:
    """Return tags without blanks around them, and without one prefix before them."""
    tags = pc.utf8_trim_whitespace(tags)
    if not prefix:
        return tags
    cut = pc.utf8_slice_codeunits(tags, len(prefix))
    return pc.if_else(pc.starts_with(tags, prefix), cut, tags)


def _is_absent(texts: pa.Array, source: Source) -> Mask:
    absent = pc.is_in(texts, pa.array([*source.absent, ""], pa.string()))
    return np.asarray(absent)


def _null_if(texts: pa.Array, absent: Mask) -> pa.Array:
    return pc.if_else(pa.array(absent), pa.scalar(None, texts.type), texts) if absent.any() else texts
