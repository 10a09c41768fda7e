"""Message frames: how are messages read, of any format that Spark reads, as a batch or as a stream?

Formats: parquet, orc, json (an object to a line), csv, kafka, and the presets of messages, such as flights; of streams
also cbnet, a live network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from cbnet.pipeline.match.match import CORRUPT

FILES = ("parquet", "orc", "json", "csv")
KAFKA = "kafka"
ROUTER = router_source.NAME
WITHOUT_FILES = (KAFKA, ROUTER)  # streams that come from elsewhere, and do not say their columns
MESSAGE_PRESETS = tuple(name for name, members in PRESETS.items() if members["format"] in ("table", "quotes"))
_TEXTS = ("json", "csv")  # whose lines may be wrong
_SUFFIXES = {".jsonl": "json", ".ndjson": "json"}
_DDL = "write 'id bigint, price double'"
_KAFKA_PACKAGE = "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION"


@dataclass(frozen=True)
class Frame:
    """Messages; and after they have been read, the lines that said none, by reason, where the reader counts them."""

    rows: DataFrame
    rejected: Callable[[], Counter[str]] = Counter


def format_of(path: str) -> str:
    """Return the format that the name of a file suggests; parquet if it suggests none."""
    name = path.removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2").rstrip("/*")
    suffix = f".{name.rpartition('.')[2]}"
    found = _SUFFIXES.get(suffix, suffix[1:])
    return found if found in FILES else "parquet"


def read_frame(
    spark: SparkSession,
    paths: Sequence[str],
    format: str,
    *,
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Frame:
    """Return messages as they are now; `options` are those of Spark's reader. A bad line has its own column."""
    if format in MESSAGE_PRESETS:
        reading = read(spark, Source.of({"preset": format, "path": [*paths]}))
        return Frame(reading.rows, lambda: reading.counts().rejected)
    with _explained(paths):
        columns = frame_schema(spark, paths, format, schema=schema, options=options)
        return Frame(_reader(spark.read, format, columns, options).load([*paths]))


def read_stream(
    spark: SparkSession, path: str, format: str, *, schema: StructType | None, options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return messages as they come: new files of a folder; of Kafka, JSON of the schema; of a live network."""
    if format == KAFKA:
        return _kafka(spark, schema, options or {})
    if format == ROUTER:
        return _router(spark, schema, options or {})
    with _explained([path]):
        frame: DataFrame = _reader(spark.readStream, format, schema, options).load(path)
        return frame


def frame_schema(
    spark: SparkSession,
    paths: Sequence[str],
    format: str,
    *,
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
) -> StructType:
    """Return the columns of files: those that are given in Spark's DDL, or else what the files say."""
    if format not in WITHOUT_FILES:
        _check_format(format)
    with _explained(paths):
        if schema is not None:
            found = parsed_schema(schema)
        elif format in WITHOUT_FILES:
            hint = "give the columns with --schema 'price double, ...'"
            raise InputError(f"messages of {format} do not say their columns", hint=hint)
        else:
            inferring = {"inferSchema": "true", "header": "true"} if format == "csv" else {}
            found = spark.read.format(format).options(**{**inferring, **(options or {})}).load([*paths]).schema
    found = StructType([field for field in found if field.name != CORRUPT])
    if not found.names:
        hint = "is there nothing in it? Give the columns with --schema 'price double, ...'"
        raise InputError("the messages have no columns", hint=hint, file=", ".join(paths))
    return found.add(CORRUPT, StringType()) if format in _TEXTS else found


def parsed_schema(ddl: str) -> StructType:
    """Return the columns that Spark's DDL says, such as `id bigint, price double`."""
    try:
        found: DataType = StructType.fromDDL(ddl)
    except ParseException as error:
        raise InputError(f"{ddl!r} is no schema: {_first_line(error)}", hint=_DDL) from None
    if not isinstance(found, StructType):  # `bigint` alone is a type
        raise InputError(f"{ddl!r} is no schema", hint=_DDL)
    return found


def _reader(reader: Any, format: str, schema: StructType | None, options: Mapping[str, str] | None) -> Any:
    ours = {"columnNameOfCorruptRecord": CORRUPT, **({"header": "true"} if format == "csv" else {})}
    return reader.format(format).schema(schema).options(**{**ours, **(options or {})})


def _kafka(spark: SparkSession, schema: StructType | None, options: Mapping[str, str]) -> DataFrame:
    """Return the values of Kafka's records, with where they stood: topic, partition, offset."""
    assert schema is not None
    known = StructType([*schema, *([] if CORRUPT in schema.names else StructType().add(CORRUPT, StringType()))])
    try:
        records = spark.readStream.format(KAFKA).options(**options).load()
    except AnalysisException as error:
        hint = f"add {_KAFKA_PACKAGE}, with the version of Spark, and its --option"
        raise InputError(f"cannot read from Kafka: {_first_line(error)}", hint=hint) from None
    value = F.from_json(F.col("value").cast("string"), known, {"columnNameOfCorruptRecord": CORRUPT})
    return records.select("topic", "partition", "offset", value.alias("value")).select(
        "topic", "partition", "offset", "value.*"
    )


def _router(spark: SparkSession, schema: StructType | None, options: Mapping[str, str]) -> DataFrame:
    """Return the messages of a live network that its options ask for."""
    if "router" not in options:
        raise InputError("which router?", hint="name one with --option router=127.0.0.1:4001")
    assert schema is not None
    spark.dataSource.register(router_source.RouterSource)
    return spark.readStream.format(ROUTER).schema(schema).options(**options).load()


def _check_format(format: str) -> None:
    if format not in FILES:
        known = (*FILES, *WITHOUT_FILES, *MESSAGE_PRESETS)
        raise InputError(f"there is no format {format!r} for this", hint=f"there are {', '.join(known)}")


@contextmanager
def _explained(paths: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except AnalysisException as error:
        raise InputError(f"cannot read: {_first_line(error)}", file=", ".join(paths)) from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")
