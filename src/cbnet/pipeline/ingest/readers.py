"""Traces read by Spark.

A trace is text, one row per line, in any number of files and folders, compressed or not. Spark splits plain and bzip2
files into blocks, which are read in parallel; a gzip or zstd file is one block.

Numbers of rows cost nothing unless they are needed: by word counts, whose documents have no other name, and by rejected
rows. Spark then counts the lines of every block once more, without Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import pyarrow as pa
from pyspark import Accumulator, AccumulatorParam
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name
from pyspark.sql.types import StructType

from cbnet.errors import InputError
from cbnet.pipeline.ingest.fields import Layout, Parser, split_fields
from cbnet.pipeline.ingest.line_reader import (
    BYTE_ORDER_MARK,
    WRONG_HEADER,
    Block,
    LineCounts,
    LineReader,
    path_of,
    read_lines,
)
from cbnet.pipeline.ingest.parsers import parse_pairs, parse_table, parse_text, parse_tweets, parse_word_counts
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.schemas import (
    COUNTS,
    FOLLOWS,
    PAIRS,
    POSTS,
    REJECTED,
    TAGGED,
    arrow_schema,
    record_batch,
    struct_type,
)
from cbnet.pipeline.spark.failures import cause

_SCHEMAS = {
    "tagged": TAGGED, "tweets": TAGGED, "posts": POSTS, "pairs": PAIRS, "follows": FOLLOWS, "wordcounts": COUNTS,
}  # fmt: skip
_TYPES = {"int": "long", "float": "double", "tags": "strings"}  # others have the same name in a schema
_MAX_TEXT = 1000  # characters of a rejected line that are kept

BlockCounts = dict[Block, LineCounts]
Count = Callable[[Block, LineCounts], None]


@dataclass(frozen=True)
class Reading:
    """The rows of a trace and, after an action on them, the counts and the rejected lines."""

    source: Source
    rows: DataFrame
    _lines: DataFrame
    _reader: LineReader
    _counts: Accumulator[BlockCounts]

    def counts(self) -> LineCounts:
        """Return the numbers of lines, rows and rejected lines of all blocks that have been read."""
        return sum(self._counts.value.values(), LineCounts())

    def rejected(self) -> DataFrame:
        """Return the rejected lines (REJECTED); this reads the trace again."""
        first = first_in_file(block_sizes(self._lines))
        count = partial(_add, self._counts)
        return self._lines.mapInArrow(partial(_rejected, reader=self._reader, count=count, first=first), REJECTED)

    def check(self) -> LineCounts:
        """Return the counts; raise an error if too many lines were rejected, or if headers differ."""
        counts = self.counts()
        paths = ", ".join(self.source.paths)
        if counts.rejected[WRONG_HEADER]:
            raise InputError(f"{paths}: files have different headers", hint="define a source for each header")
        if counts.rejected.total() > self.source.max_rejected * counts.lines:
            hint = f"correct them, or raise max_rejected = {self.source.max_rejected:g}"
            raise InputError(f"{paths}: too many malformed rows: {counts}", hint=hint)
        return counts


def read(spark: SparkSession, source: Source) -> Reading:
    """Read a trace into the schema of its format."""
    source.check()
    lines = _lines(spark, source.paths)
    header = _header(lines) if source.header else None
    schema = schema_of(source)
    parse = _parser(source, header, arrow_schema(schema), _vocabulary(spark, source))
    reader = LineReader(parse, header, source.comment)
    counts = spark.sparkContext.accumulator({}, _Union())
    first = first_in_all(block_sizes(lines)) if source.format == "wordcounts" else None
    work = partial(_rows, reader=reader, count=partial(_add, counts), first=first)
    return Reading(source, lines.mapInArrow(work, schema), lines, reader, counts)


def schema_of(source: Source) -> StructType:
    """Return the schema of the rows of a source."""
    if source.format in _SCHEMAS:
        return _SCHEMAS[source.format]
    return struct_type(**{name: _TYPES.get(type, type) for name, type in source.types.items()})


def first_in_file(sizes: Mapping[Block, int]) -> dict[Block, int]:
    """Return the number of lines of its file before each block; sizes: lines of each block."""
    first, before = {}, Counter[str]()
    for block in sorted(sizes):
        first[block] = before[block.file]
        before[block.file] += sizes[block]
    return first


def first_in_all(sizes: Mapping[Block, int]) -> dict[Block, int]:
    """Return the number of lines before each block, in its file and in the files before it by name."""
    blocks = sorted(sizes)
    before = accumulate((sizes[block] for block in blocks), initial=0)
    return dict(zip(blocks, before, strict=False))


class _Union(AccumulatorParam[BlockCounts]):
    """The counts of each block once, however often it is read: a repeated task changes nothing."""

    def zero(self, value: BlockCounts) -> BlockCounts:  # noqa: ARG002
        return {}

    def addInPlace(self, one: BlockCounts, other: BlockCounts) -> BlockCounts:  # noqa: N802
        return one | other


def _add(total: Accumulator[BlockCounts], block: Block, counts: LineCounts) -> None:
    total.add({block: counts})


def _lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return the lines of files, each with its block, in the order that `line_runs` needs."""
    try:
        text = spark.read.text(paths, lineSep="\n")
    except AnalysisException as error:
        raise InputError(f"cannot read {', '.join(paths)}: {cause(error)}") from None
    file, start = F.col("_metadata.file_path"), F.col("_metadata.file_block_start")
    return text.select("value", file.alias("file"), start.alias("start"))


def block_sizes(lines: DataFrame) -> dict[Block, int]:
    """Return the number of lines of each block; a block is some 100 megabytes, so there are few."""
    return {Block(file, start): count for file, start, count in lines.groupBy("file", "start").count().collect()}


def _header(lines: DataFrame) -> str:
    """Return the first line of one of the files."""
    first = lines.where("start = 0").select("value").head(1)
    return first[0][0].rstrip("\r").removeprefix(BYTE_ORDER_MARK) if first else ""


def _vocabulary(spark: SparkSession, source: Source) -> pa.Array:
    """Return the words of word counts, by number."""
    if not source.vocabulary:
        return pa.array([], pa.string())
    lines = _lines(spark, [source.vocabulary]).collect()
    lines.sort(key=lambda line: line.start)  # Python's sort keeps the order of the lines in a block
    return pa.array([line.value.strip() for line in lines], pa.string())


def _parser(source: Source, header: str | None, schema: pa.Schema, vocabulary: pa.Array) -> Parser:
    if source.format == "tweets":
        return partial(parse_tweets, schema=schema, prefix=source.tag_prefix)
    if source.format == "wordcounts":
        return partial(parse_word_counts, schema=schema, vocabulary=vocabulary)
    if source.format == "quotes":
        return partial(parse_pairs, schema=schema, source=source)
    layout = _layout(source, header)
    if source.format == "table":
        return partial(parse_table, layout=layout, schema=schema, source=source)
    return partial(parse_text, layout=layout, names=[*source.file_columns], schema=schema, source=source)


def _layout(source: Source, header: str | None) -> Layout:
    names = split_fields(header, source.separator, source.quoted) if header else []
    indexes = []
    for name in source.file_columns.values():
        if isinstance(name, str) and names and name not in names:
            raise InputError(f"{source.paths[0]}: no column {name!r}", hint=f"it has {', '.join(names)}")
        # An empty trace has no header, and no line to which the index would apply.
        indexes.append(name - 1 if isinstance(name, int) else names.index(name) if names else 0)
    return Layout(source.separator, indexes, len(names) or None, source.quoted)


def _rows(
    batches: Iterable[pa.RecordBatch], reader: LineReader, count: Count, first: Mapping[Block, int] | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows; with `first`, the item is the number of the line in the whole trace, from 0."""
    for run, parsed in read_lines(batches, reader, count):
        rows = parsed.rows
        if first is not None:
            numbers = pa.array(parsed.lines + first[run.block]).cast(pa.string())
            rows = rows.set_column(rows.schema.get_field_index("item"), "item", numbers)
        yield rows


def _rejected(
    batches: Iterable[pa.RecordBatch], reader: LineReader, count: Count, first: Mapping[Block, int]
) -> Iterator[pa.RecordBatch]:
    for run, parsed in read_lines(batches, reader, count):
        if parsed.rejected:
            texts = run.lines.cast(pa.binary()).take([number - run.first for number in parsed.rejected])
            yield record_batch(
                REJECTED,
                [path_of(run.block.file)] * len(parsed.rejected),
                [number + first[run.block] + 1 for number in parsed.rejected],
                [*parsed.rejected.values()],
                [text.decode(errors="replace")[:_MAX_TEXT] for text in texts.to_pylist()],
            )
