"""Readers: how does Spark read a trace, whatever its files look like?

A trace is text, one row a line, in any number of files and folders, compressed or not. Spark cuts plain and bzip2
files into blocks, which are read side by side; a gzip or zstd file is one block.

What a row's number costs: nothing, unless it is needed. Word counts name their documents by it, and rejected rows are
reported with it; both then let Spark count the lines of every block once more, without Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from urllib.parse import unquote

import pyarrow as pa
from pyspark import Accumulator, AccumulatorParam
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, the name that Spark's own documents use
from pyspark.sql.types import ArrayType, BooleanType, DataType, DoubleType, LongType, StringType, StructType

from cbnet.errors import InputError
from cbnet.pipeline.ingest.fields import Layout, split_fields
from cbnet.pipeline.ingest.line_reader import BYTE_ORDER_MARK, WRONG_HEADER, Block, Reader, Tally, read_pieces
from cbnet.pipeline.ingest.parse_result import Parser
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.ingest.text_parser import parse_text
from cbnet.pipeline.ingest.tweet_parser import parse_tweets
from cbnet.pipeline.ingest.typed_parser import parse_pairs, parse_table
from cbnet.pipeline.ingest.word_count_parser import parse_word_counts
from cbnet.pipeline.schemas import COUNTS, FOLLOWS, PAIRS, POSTS, REJECTED, TAGGED, arrow_schema

_SCHEMAS = {
    "tagged": TAGGED, "tweets": TAGGED, "posts": POSTS, "pairs": PAIRS, "follows": FOLLOWS, "wordcounts": COUNTS,
}  # fmt: skip
_TYPES: dict[str, DataType] = {
    "string": StringType(), "int": LongType(), "float": DoubleType(), "bool": BooleanType(),
    "tags": ArrayType(StringType()),
}  # fmt: skip
_LONGEST_TEXT = 1000  # characters of a rejected line that are kept

Note = Callable[[Block, Tally], None]


@dataclass(frozen=True)
class Reading:
    """A trace that is being read: its rows now; after an action on them, their count and what was rejected."""

    source: Source
    rows: DataFrame
    _lines: DataFrame
    _reader: Reader
    _noted: Accumulator[dict[Block, Tally]]

    def tally(self) -> Tally:
        """Return how many lines, rows and rejected lines there were, as far as the rows have been computed."""
        return sum(self._noted.value.values(), Tally())

    def rejected(self) -> DataFrame:
        """Return the lines that say no row, in the schema REJECTED; this reads the trace once more."""
        first = first_in_file(_block_sizes(self._lines))
        note = partial(_note, self._noted)
        return self._lines.mapInArrow(partial(_rejected, reader=self._reader, note=note, first=first), REJECTED)

    def check(self) -> Tally:
        """Return the tally; raise an error if more was rejected than the source allows, or if headers differ."""
        tally = self.tally()
        where = ", ".join(self.source.paths)
        if tally.rejected[WRONG_HEADER]:
            raise InputError(f"{where}: files have different headers", hint="read them as sources of their own")
        if tally.rejected.total() > self.source.most_rejected * tally.lines:
            raise InputError(
                f"{where}: too many malformed rows: {tally}",
                hint=f"most_rejected = {self.source.most_rejected:g} allows fewer",
            )
        return tally


def read(spark: SparkSession, source: Source) -> Reading:
    """Read a trace, into the schema of its format."""
    source.check()
    lines = _lines(spark, source.paths)
    header = _header(lines) if source.header else None
    schema = schema_of(source)
    parse = _parser(source, header, arrow_schema(schema), _vocabulary(spark, source))
    reader = Reader(parse, header, source.comment)
    noted = spark.sparkContext.accumulator({}, _Union())
    first = first_in_all(_block_sizes(lines)) if source.format == "wordcounts" else None
    work = partial(_rows, reader=reader, note=partial(_note, noted), first=first)
    return Reading(source, lines.mapInArrow(work, schema), lines, reader, noted)


def schema_of(source: Source) -> StructType:
    """Return the columns that a source is read into."""
    if source.format in _SCHEMAS:
        return _SCHEMAS[source.format]
    schema = StructType()
    for name, type in source.types.items():
        schema = schema.add(name, _TYPES[type])
    return schema


def first_in_file(sizes: Mapping[Block, int]) -> dict[Block, int]:
    """Return how many lines of its file stand before each block of this many lines."""
    first, before = {}, Counter[str]()
    for block in sorted(sizes):
        first[block] = before[block.file]
        before[block.file] += sizes[block]
    return first


def first_in_all(sizes: Mapping[Block, int]) -> dict[Block, int]:
    """Return how many lines stand before each block, in its file and in the files before it, by their names."""
    blocks = sorted(sizes)
    before = accumulate((sizes[block] for block in blocks), initial=0)
    return dict(zip(blocks, before, strict=False))


class _Union(AccumulatorParam[dict[Block, Tally]]):
    """Each block's tally, however often the block is read: a task that is run again changes nothing."""

    def zero(self, value: dict[Block, Tally]) -> dict[Block, Tally]:  # noqa: ARG002
        return {}

    def addInPlace(self, one: dict[Block, Tally], other: dict[Block, Tally]) -> dict[Block, Tally]:  # noqa: N802
        return one | other


def _note(noted: Accumulator[dict[Block, Tally]], block: Block, tally: Tally) -> None:
    noted.add({block: tally})


def _lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return the lines of files, each with the block that it is from, in the order that `lines.pieces` needs."""
    try:
        text = spark.read.text(paths, lineSep="\n")
    except AnalysisException as error:
        raise InputError(f"cannot read {', '.join(paths)}: {_first_line(error)}") from None
    file, start = F.col("_metadata.file_path"), F.col("_metadata.file_block_start")
    return text.select("value", file.alias("file"), start.alias("start"))


def _block_sizes(lines: DataFrame) -> dict[Block, int]:
    """Return how many lines each block has: a number for some 100 megabytes, so not many."""
    return {Block(file, start): count for file, start, count in lines.groupBy("file", "start").count().collect()}


def _header(lines: DataFrame) -> str:
    """Return the first line of a file, the same one for all files of a source."""
    found = lines.where("start = 0").select("value").head(1)
    return found[0][0].rstrip("\r").removeprefix(BYTE_ORDER_MARK) if found else ""


def _vocabulary(spark: SparkSession, source: Source) -> pa.Array:
    """Return the words that word counts name by their numbers."""
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
    return partial(parse_text, layout=layout, names=[*source.wanted], schema=schema, source=source)


def _layout(source: Source, header: str | None) -> Layout:
    found = split_fields(header, source.separator, source.quoted) if header else []
    places = []
    for name in source.wanted.values():
        if isinstance(name, str) and found and name not in found:
            raise InputError(f"{source.paths[0]}: there is no column {name!r}", hint=f"it has {', '.join(found)}")
        # An empty trace has no header, and no line that the place would matter for.
        places.append(name - 1 if isinstance(name, int) else found.index(name) if found else 0)
    return Layout(source.separator, places, len(found) or None, source.quoted)


def _rows(
    batches: Iterable[pa.RecordBatch], reader: Reader, note: Note, first: Mapping[Block, int] | None
) -> Iterator[pa.RecordBatch]:
    """Return the rows; with `first`, an item is named by the number of its line, from 0, in the whole trace."""
    for piece, parsed in read_pieces(batches, reader, note):
        rows = parsed.rows
        if first is not None:
            numbers = pa.array(parsed.lines + first[piece.block]).cast(pa.string())
            rows = rows.set_column(rows.schema.get_field_index("item"), "item", numbers)
        yield rows


def _rejected(
    batches: Iterable[pa.RecordBatch], reader: Reader, note: Note, first: Mapping[Block, int]
) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(REJECTED)
    for piece, parsed in read_pieces(batches, reader, note):
        if parsed.bad:
            texts = piece.lines.cast(pa.binary()).take([number - piece.first for number in parsed.bad])
            columns = [
                pa.array([path_of(piece.block.file)] * len(parsed.bad)),
                pa.array([number + first[piece.block] + 1 for number in parsed.bad]),
                pa.array([*parsed.bad.values()]),
                pa.array([text.decode(errors="replace")[:_LONGEST_TEXT] for text in texts.to_pylist()]),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def path_of(file: str) -> str:
    """Return a file as people write it: Spark gives a local one as file:/with%20blank."""
    return re.sub("^/+", "/", unquote(file.removeprefix("file:"))) if file.startswith("file:") else file


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")
