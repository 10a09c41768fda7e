"""Parsers of the lines of a trace, a batch at a time.

parse_text          users, items, tags and texts from separated fields
parse_table         messages, or other typed values, from separated fields: a column per attribute, null where it is
                    absent, and a column of lists of strings for the tags, as a table matches them in bulk
parse_pairs         the same from pairs:  [class,'STOCK'],[symbol,'ABIX'],[open,9.25],[volume,59500]
parse_word_counts   documents in the LDA-C format, with a vocabulary:  3 0:2 7:1 12:1  has three different words,
                    word 0 of the vocabulary twice, words 7 and 12 once
parse_tweets        users, links and hashtags from JSON with entities, as of Twitter's interfaces:
                    {"user": {"id_str": "7"}, "entities": {"hashtags": [{"text": "sun"}], "urls": [{"url": "http://…"}]}}
                    {"author_id": "7", "entities": {"hashtags": [{"tag": "sun"}], "urls": [{"expanded_url": "http://…"}]}}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import FieldColumns, Layout, Mask, ParsedLines
from cbnet.pipeline.ingest.list_columns import Numbers, filter_elements, from_lengths, lengths_of, rows_of
from cbnet.pipeline.ingest.source import BLANKS, Source

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


_LINE = r"^\s*[0-9]{1,9}(\s+[0-9]{1,9}:[0-9]{1,9})*\s*$"

NOT_COUNTS = "not a count and pairs of word:count"
WRONG_NUMBER = "number of words differs from the first field"
UNKNOWN_WORD = "word number outside the vocabulary"


def parse_word_counts(lines: pa.Array, schema: pa.Schema, vocabulary: pa.Array) -> ParsedLines:
    """Parse documents to words and counts; the caller sets the item, the number of the line."""
    is_line = np.asarray(pc.match_substring_regex(lines, _LINE))
    rejected = dict.fromkeys(np.flatnonzero(~is_line).tolist(), NOT_COUNTS)
    numbers = np.flatnonzero(is_line)
    parts = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(lines.filter(pa.array(is_line))))
    lengths, elements = lengths_of(parts), parts.flatten()
    heads = np.cumsum(lengths) - lengths
    declared = elements.take(pa.array(heads)).cast(pa.int64()).to_numpy()
    is_pair = np.ones(len(elements), dtype=bool)
    is_pair[heads] = False
    halves = pc.split_pattern(elements.filter(pa.array(is_pair)), ":").flatten().cast(pa.int32())
    words, counts = halves[::2], halves[1::2]

    lengths = lengths - 1
    unknown = np.zeros(len(lengths), dtype=bool)
    unknown[np.repeat(np.arange(len(lengths)), lengths)[words.to_numpy() >= len(vocabulary)]] = True
    rejected.update(dict.fromkeys(numbers[unknown].tolist(), UNKNOWN_WORD))
    rejected.update(dict.fromkeys(numbers[declared != lengths].tolist(), WRONG_NUMBER))

    right = ~unknown & (declared == lengths)
    kept = pa.array(np.repeat(right, lengths))
    columns = [
        pa.nulls(int(right.sum()), pa.string()),
        from_lengths(vocabulary.take(words.filter(kept)), lengths[right]),
        from_lengths(counts.filter(kept), lengths[right]),
    ]
    return ParsedLines(pa.RecordBatch.from_arrays(columns, schema=schema), numbers[right], rejected)


NOT_A_TWEET = "not the JSON object of a tweet"
NO_USER = "no user"


class _User(msgspec.Struct):
    id_str: str | None = None
    id: int | str | None = None
    screen_name: str | None = None


class _Hashtag(msgspec.Struct):
    text: str | None = None
    tag: str | None = None


class _Link(msgspec.Struct):
    expanded_url: str | None = None
    url: str | None = None


class _Entities(msgspec.Struct):
    hashtags: list[_Hashtag] | None = None
    urls: list[_Link] | None = None


class _Tweet(msgspec.Struct):
    user: _User | None = None
    author_id: int | str | None = None
    entities: _Entities | None = None
    text: str | None = None


_decode = msgspec.json.Decoder(_Tweet).decode


def parse_tweets(lines: pa.Array, schema: pa.Schema, prefix: str = "#") -> ParsedLines:
    """Parse tweets to a row for each link."""
    users, items, tags, numbers = [], [], [], []
    rejected: dict[int, str] = {}
    for number, line in enumerate(lines.to_pylist()):
        try:
            tweet = _decode(line)
        except msgspec.MsgspecError:
            rejected[number] = NOT_A_TWEET
            continue
        author = _author(tweet)
        if author is None:
            if tweet.text is not None or tweet.entities is not None:
                rejected[number] = NO_USER
            continue
        hashtags = _hashtags(tweet)
        for link in _links(tweet):
            users.append(author)
            items.append(link)
            tags.append(hashtags)
            numbers.append(number)
    lists = pa.array(tags, pa.list_(pa.string()))
    lists = pa.ListArray.from_arrays(lists.offsets, bare_tags(lists.flatten(), prefix))
    columns = [pa.array(users, pa.string()), pa.array(items, pa.string()), lists]
    return ParsedLines(pa.RecordBatch.from_arrays(columns, schema=schema), np.array(numbers, dtype=np.int64), rejected)


def _author(tweet: _Tweet) -> str | None:
    user = tweet.user or _User()
    names = (user.id_str, user.id, tweet.author_id, user.screen_name)
    return next((str(name) for name in names if name not in (None, "")), None)


def _hashtags(tweet: _Tweet) -> list[str]:
    hashtags = tweet.entities.hashtags if tweet.entities else None
    return [tag for each in hashtags or () if (tag := (each.text or each.tag or "").strip())]


def _links(tweet: _Tweet) -> Iterator[str | None]:
    """Yield the distinct links of a tweet; None once if it has none."""
    urls = tweet.entities.urls if tweet.entities else None
    links = [link for each in urls or () if (link := each.expanded_url or each.url)]
    yield from dict.fromkeys(links) if links else (None,)
