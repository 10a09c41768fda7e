"""Messages read by Spark, as a batch or as a stream.

Formats: parquet, orc, json (one object per line), csv and the presets of messages, such as flights; for streams also
kafka and cbnet, a live network.

JSON is read as text, and its lines go to the kernels that read files: so a line means the same to `cbnet match`,
whatever type Spark infers for a column. Spark's columns of JSON are keys of the result only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructField, StructType

from cbnet.errors import InputError
from cbnet.matching.files.columnar_files import OTHERS, check_types, stated_types
from cbnet.pipeline.ingest.presets import PRESETS
from cbnet.pipeline.ingest.readers import read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.match import router_source
from cbnet.pipeline.match.dataframe_matcher import CORRUPT, FILE, FOLDER, LINE, START
from cbnet.pipeline.match.message_columns import column
from cbnet.pipeline.spark.failures import cause
from cbnet.pipeline.spark.session import require_classic

FILES = ("parquet", "orc", "json", "csv")
KAFKA = "kafka"
KAFKA_COLUMNS = ("topic", "partition", "offset")  # of the result
ROUTER = router_source.NAME
STREAM_FORMATS = (KAFKA, ROUTER)  # streams that are no files, and have no schema
MESSAGE_PRESETS = tuple(name for name, members in PRESETS.items() if members["format"] in ("table", "quotes"))
_TYPES: dict[str, DataType] = {"int": LongType(), "float": DoubleType(), "bool": BooleanType(), "string": StringType()}
_SUFFIXES = {".jsonl": "json", ".ndjson": "json"}
# As other readers have CSV: quotes in quoted cells are doubled; such a cell may hold line breaks, and is not absent.
_CSV_OPTIONS = {"header": "true", "escape": '"', "multiLine": "true", "nullValue": "\ue000absent\ue000"}
_DDL = "write 'id bigint, price double'"
_SAME_NAMES = "names are repeated in a message, or differ in case only: state the columns of the result with --schema"
_KAFKA_PACKAGE = "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13"


@dataclass(frozen=True, kw_only=True)
class MessageFormat:
    """The format of messages, their schema in Spark's DDL if it is not inferred, and options of Spark's reader.

    types: of the columns of CSV, by name, and of the others as `all`: int, float, bool or string.
    """

    format: str
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def infers(self, column: str) -> bool:
        """Return whether the type of a column is inferred from its cells."""
        return self.format == "csv" and self.schema is None and not {column, OTHERS} & self.types.keys()


@dataclass(frozen=True)
class MessageFrame:
    """Messages and, after they have been read, the numbers of malformed lines by reason, if the reader counts them."""

    rows: DataFrame
    rejected: Callable[[], Counter[str]] = Counter


def format_of(path: str) -> str:
    """Return the format by the suffix of a file name; parquet by default."""
    name = path.removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2").rstrip("/*")
    suffix = f".{name.rpartition('.')[2]}"
    format = _SUFFIXES.get(suffix, suffix[1:])
    return format if format in FILES else "parquet"


def read_messages(spark: SparkSession, paths: Sequence[str], of: MessageFormat) -> MessageFrame:
    """Read messages as a batch. Malformed lines have a column of their own."""
    if of.format in MESSAGE_PRESETS:
        reading = read(spark, Source.of({"preset": of.format, "path": [*paths]}))
        return MessageFrame(reading.rows, lambda: reading.counts().rejected)
    with _read_errors(paths):
        return MessageFrame(_load(spark.read, [*paths], of, message_schema(spark, paths, of)))


def check_session(spark: SparkSession, format: str) -> None:
    """Raise an error if a session cannot read a format: presets count bad lines, which Spark Connect cannot."""
    if format in MESSAGE_PRESETS:
        require_classic(spark, f"format {format}")


def read_stream(spark: SparkSession, path: str, of: MessageFormat, schema: StructType) -> DataFrame:
    """Read messages as a stream: new files of a folder, JSON values of Kafka, or a live network."""
    if of.format == KAFKA:
        return _kafka(spark, schema, of.options)
    if of.format == ROUTER:
        return _router(spark, schema, of.options)
    with _read_errors([path]):
        return _load(spark.readStream, path, of, schema)


def message_schema(spark: SparkSession, paths: Sequence[str], of: MessageFormat) -> StructType:
    """Return the schema of messages: that of their format, else inferred from the files."""
    if of.format not in STREAM_FORMATS:
        _check_format(of.format)
    if of.format == "json" and not _is_document(of):
        _check_line_options(of)
    check_types(of.types)
    if of.types and (of.format != "csv" or of.schema is not None):
        raise InputError("only columns of CSV without a schema have types to state", hint="write a --schema alone")
    with _read_errors(paths):
        if of.schema is not None:
            columns = parse_schema(of.schema)
        elif of.format in STREAM_FORMATS:
            raise InputError(f"format {of.format} needs a schema", hint="use --schema 'price double, ...'")
        else:
            inferring = {"inferSchema": "true", **_CSV_OPTIONS} if of.format == "csv" else {}
            columns = spark.read.format(of.format).options(**{**inferring, **of.options}).load([*paths]).schema
            columns = _with_types(columns, of, paths)
    columns = StructType([field for field in columns if field.name != CORRUPT])
    if not columns.names:
        hint = "if there are no messages yet, use --schema 'price double, ...'"
        raise InputError("the messages have no columns", hint=hint, file=", ".join(paths))
    return columns.add(CORRUPT, StringType()) if of.format == "csv" or _is_document(of) else columns


def _with_types(columns: StructType, of: MessageFormat, paths: Sequence[str]) -> StructType:
    """Return columns with the types that are stated."""
    try:
        stated = stated_types(of.types, columns.names)
    except InputError as error:
        raise error.at(file=", ".join(paths)) from None
    types = {
        column.name: _TYPES[stated[column.name]] if column.name in stated else column.dataType for column in columns
    }
    return StructType([StructField(name, type) for name, type in types.items()])


def parse_schema(ddl: str) -> StructType:
    """Parse a schema in Spark's DDL, such as `id bigint, price double`."""
    try:
        schema: DataType = StructType.fromDDL(ddl)
    except ParseException as error:
        raise InputError(f"{ddl!r} is not a schema: {cause(error)}", hint=_DDL) from None
    if not isinstance(schema, StructType):  # `bigint` alone is a type
        raise InputError(f"{ddl!r} is not a schema", hint=_DDL)
    return schema


def _load(reader: Any, paths: str | list[str], of: MessageFormat, schema: StructType) -> DataFrame:
    if of.format == "json" and not _is_document(of):
        lines = reader.format("text").options(**{**of.options, "lineSep": "\n"}).load(paths)
        # Columns of folders such as date=2026-07-31, with their types in the schema.
        types = {field.name.lower(): field.dataType for field in schema}
        folders = {
            field.name: column(field.name)
            .cast(types.pop(field.name.lower(), field.dataType))
            .alias(field.name, metadata={FOLDER: True})
            for field in lines.schema
            if field.name != "value"
        }
        own = StructType([field for field in schema if field.name.lower() in types])
        file, start = F.col("_metadata.file_path").alias(FILE), F.col("_metadata.file_block_start").alias(START)
        rows = lines.select("value", *folders.values(), file, start)
        return _with_columns(rows, own, of.options, "columns.*", *map(column, folders), FILE, START)
    defaults = {"columnNameOfCorruptRecord": CORRUPT, **(_CSV_OPTIONS if of.format == "csv" else {})}
    frame: DataFrame = reader.format(of.format).schema(schema).options(**{**defaults, **of.options}).load(paths)
    return frame


def _with_columns(
    lines: DataFrame, schema: StructType, options: Mapping[str, str], *selected: str | Column
) -> DataFrame:
    """Return the selected columns and the JSON values as lines; `columns.*` are those of a schema in the values."""
    if taken := {LINE, FILE, START}.intersection(name.lower() for name in schema.names):
        raise InputError(f"the name {min(taken)!r} is reserved", hint="state the columns of the result with --schema")
    parsed = F.from_json(F.col("value"), schema, {**options} or None).alias("columns")  # Connect refuses empty options
    return lines.select("*", parsed, F.col("value").alias(LINE)).select(*selected, LINE)


def _is_document(of: MessageFormat) -> bool:
    """Return whether Spark has to read the JSON of a file, as a message may be on several lines."""
    return of.format == "json" and _option(of, "multiline") == "true"


def _option(of: MessageFormat, name: str) -> str:
    """Return the value of an option in lower case; Spark ignores the case of names."""
    return next((value.lower() for key, value in of.options.items() if key.lower() == name), "")


def _check_line_options(of: MessageFormat) -> None:
    """Refuse options of Spark's parser of JSON that do not hold for lines, which are read as text."""
    if _option(of, "mode") == "dropmalformed":
        raise InputError("JSON Lines have no option mode=DROPMALFORMED", hint="use --on-error drop")
    if {_option(of, "encoding"), _option(of, "charset")} - {"", "utf-8", "utf8"}:
        raise InputError("JSON Lines must be UTF-8", hint="convert them")


def _kafka(spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> DataFrame:
    """Return the values of Kafka's records with topic, partition and offset."""
    try:
        records = spark.readStream.format(KAFKA).options(**options).load()
    except AnalysisException as error:
        hint = f"add {_KAFKA_PACKAGE}:{spark.version} and the --option values of Kafka"
        raise InputError(f"cannot read from Kafka: {cause(error)}", hint=hint) from None
    values = records.withColumn("value", F.col("value").cast("string"))
    return _with_columns(values, schema, {}, *KAFKA_COLUMNS, "columns.*")


def _router(spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> DataFrame:
    """Return the messages of a live network."""
    if "router" not in options:
        raise InputError("no router given", hint="use --option router=127.0.0.1:4001")
    spark.dataSource.register(router_source.RouterSource)
    return spark.readStream.format(ROUTER).schema(schema).options(**options).load()


def _check_format(format: str) -> None:
    if format not in FILES:
        known = (*FILES, *STREAM_FORMATS, *MESSAGE_PRESETS)
        raise InputError(f"unknown format {format!r}", hint=f"use one of {', '.join(known)}")


@contextmanager
def _read_errors(paths: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except AnalysisException as error:
        hint = _SAME_NAMES if error.getCondition() == "COLUMN_ALREADY_EXISTS" else None
        raise InputError(f"cannot read: {cause(error)}", hint=hint, file=", ".join(paths)) from None
