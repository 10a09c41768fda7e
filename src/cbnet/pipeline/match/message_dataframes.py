"""Messages read by Spark, as a batch or as a stream.

Formats: parquet, orc, json (one object per line), csv and the presets of messages, such as flights; for streams also
kafka and cbnet, a live network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, StringType, StructType

from cbnet.errors import InputError
from cbnet.pipeline.ingest.presets import PRESETS
from cbnet.pipeline.ingest.readers import read
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.match import router_source
from cbnet.pipeline.match.dataframe_matcher import CORRUPT
from cbnet.pipeline.spark.failures import cause
from cbnet.pipeline.spark.session import require_classic

FILES = ("parquet", "orc", "json", "csv")
KAFKA = "kafka"
ROUTER = router_source.NAME
STREAM_FORMATS = (KAFKA, ROUTER)  # streams that are no files, and have no schema
MESSAGE_PRESETS = tuple(name for name, members in PRESETS.items() if members["format"] in ("table", "quotes"))
_TEXTS = ("json", "csv")  # whose lines may be malformed
_SUFFIXES = {".jsonl": "json", ".ndjson": "json"}
_DDL = "write 'id bigint, price double'"
_KAFKA_PACKAGE = "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13"


@dataclass(frozen=True, kw_only=True)
class MessageFormat:
    """The format of messages, their schema in Spark's DDL if it is not inferred, and options of Spark's reader."""

    format: str
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


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
        return MessageFrame(_reader(spark.read, of, message_schema(spark, paths, of)).load([*paths]))


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
        frame: DataFrame = _reader(spark.readStream, of, schema).load(path)
        return frame


def message_schema(spark: SparkSession, paths: Sequence[str], of: MessageFormat) -> StructType:
    """Return the schema of messages: that of their format, else inferred from the files."""
    if of.format not in STREAM_FORMATS:
        _check_format(of.format)
    with _read_errors(paths):
        if of.schema is not None:
            columns = parse_schema(of.schema)
        elif of.format in STREAM_FORMATS:
            raise InputError(f"format {of.format} needs a schema", hint="use --schema 'price double, ...'")
        else:
            inferring = {"inferSchema": "true", "header": "true"} if of.format == "csv" else {}
            columns = spark.read.format(of.format).options(**{**inferring, **of.options}).load([*paths]).schema
    columns = StructType([field for field in columns if field.name != CORRUPT])
    if not columns.names:
        hint = "if there are no messages yet, use --schema 'price double, ...'"
        raise InputError("the messages have no columns", hint=hint, file=", ".join(paths))
    return columns.add(CORRUPT, StringType()) if of.format in _TEXTS else columns


def parse_schema(ddl: str) -> StructType:
    """Parse a schema in Spark's DDL, such as `id bigint, price double`."""
    try:
        schema: DataType = StructType.fromDDL(ddl)
    except ParseException as error:
        raise InputError(f"{ddl!r} is not a schema: {cause(error)}", hint=_DDL) from None
    if not isinstance(schema, StructType):  # `bigint` alone is a type
        raise InputError(f"{ddl!r} is not a schema", hint=_DDL)
    return schema


def _reader(reader: Any, of: MessageFormat, schema: StructType) -> Any:
    defaults = {"columnNameOfCorruptRecord": CORRUPT, **({"header": "true"} if of.format == "csv" else {})}
    return reader.format(of.format).schema(schema).options(**{**defaults, **of.options})


def _kafka(spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> DataFrame:
    """Return the values of Kafka's records with topic, partition and offset."""
    known = StructType([*schema, *([] if CORRUPT in schema.names else StructType().add(CORRUPT, StringType()))])
    try:
        records = spark.readStream.format(KAFKA).options(**options).load()
    except AnalysisException as error:
        hint = f"add {_KAFKA_PACKAGE}:{spark.version} and the --option values of Kafka"
        raise InputError(f"cannot read from Kafka: {cause(error)}", hint=hint) from None
    value = F.from_json(F.col("value").cast("string"), known, {"columnNameOfCorruptRecord": CORRUPT})
    return records.select("topic", "partition", "offset", value.alias("value")).select(
        "topic", "partition", "offset", "value.*"
    )


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
        raise InputError(f"cannot read: {cause(error)}", file=", ".join(paths)) from None
