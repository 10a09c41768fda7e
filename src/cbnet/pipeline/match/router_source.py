"""Spark source and sink for a live network.

    spark.dataSource.register(RouterSource)
    rows = spark.readStream.format("cbnet").schema("price double, `#` array<string>, payload binary")
    rows = rows.option("router", "127.0.0.1:4001").option("predicate", "price < 5").option("partitions", 8).load()
    rows.writeStream.format("cbnet").option("router", …)

**The source delivers at most once.** The driver subscribes, and a received message is stored nowhere else. Losses are
counted in the offset of each batch, which Spark's progress shows:

    taken     received messages
    lost      messages dropped by the router or by the queue here because Spark was slow, or not replayed by a restart
    misfits   values of another type than their column, which become null

Messages published while no stream runs are not counted.

A column holds the member of its name: `detail struct<state:string>` and `detail.state string` both read
{"detail": {"state": "on"}} and {"detail.state": "on"}. An array column holds all values of its name.

**The sink publishes at least once**: a replayed batch is published again.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from cbnet.errors import InputError
from cbnet.matching.storage.arrow_messages import messages_of_rows
from cbnet.network.client.blocking_client import Client, Subscription, connect
from cbnet.pipeline.match.message_columns import attributes_of
from cbnet.pipeline.schemas import arrow_schema

PAYLOAD = "payload"
NAME = "cbnet"
_QUEUE = 1_000_000  # messages waiting for the next batch
_MAX_BATCH = 100_000  # messages
_TIMEOUT = 0.05  # seconds to wait for one more message

Offset = dict[str, int]
Row = tuple[Any, ...]


class RouterSource(DataSource):
    """A live network as source and sink of rows, with the options `router`, `predicate`, `partitions` and `network`."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return NAME

    def schema(self) -> StructType:
        """Raise an error: messages have no schema of their own."""
        raise InputError("messages of a live network need a schema", hint="use .schema('price double')")

    def streamReader(self, schema: StructType) -> RouterReader:  # noqa: N802
        """Return the reader of messages."""
        predicate = self.options.get("predicate", "true")
        return RouterReader(schema, self._routers(), predicate, self._network(), self._partitions())

    def writer(self, schema: StructType, overwrite: bool) -> BatchPublisher:  # noqa: ARG002
        """Return the publisher of the rows of a batch."""
        return BatchPublisher(RowPublisher(schema, self._routers(), self._network()))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamPublisher:  # noqa: ARG002, N802
        """Return the publisher of the rows of a stream."""
        return StreamPublisher(RowPublisher(schema, self._routers(), self._network()))

    def _routers(self) -> list[str]:
        if "router" not in self.options:
            raise InputError("no router given", hint='use .option("router", "127.0.0.1:4001")')
        return [router.strip() for router in self.options["router"].split(",")]

    def _partitions(self) -> int:
        text = self.options.get("partitions", "1")
        if not text.isdecimal() or int(text) < 1:
            raise InputError(f"{text!r} is not a number of partitions", hint='use .option("partitions", 8)')
        return int(text)

    def _network(self) -> str:
        return str(self.options.get("network", "cbnet"))


class RouterReader(DataSourceStreamReader):
    """Receives messages in the driver and sends them to the executors with their batch."""

    def __init__(
        self, schema: StructType, routers: Sequence[str], predicate: str, network: str, partitions: int = 1
    ) -> None:
        self._reader = RowReader(schema)
        self._schema = schema
        self._partitions = partitions
        self._routers, self._predicate, self._network = routers, predicate, network
        self._client: Client | None = None
        self._subscription: Subscription | None = None
        self._kept: list[Row] = []  # of uncommitted batches
        self._first = 0  # number of the first of them
        self._not_replayed = 0  # messages
        self._earlier = self.initialOffset()  # counters of earlier processes

    def __getstate__(self) -> dict[str, Any]:
        """Omit the driver's state: executors get their messages with their partition."""
        return {**self.__dict__, "_client": None, "_subscription": None, "_kept": []}

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the offset of a new stream."""
        return {"taken": 0, "lost": 0, "misfits": 0}

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:  # noqa: ARG002, N802
        """Receive waiting messages and return the new offset."""
        before = start or self.initialOffset()
        if self._client is None:
            self._first = before["taken"]
            self._earlier = before
            self._client = connect(self._routers, network=self._network)
            self._subscription = self._client.subscribe(
                self._predicate, wait=True, queue=_QUEUE, when_full="drop oldest"
            )
        assert self._subscription is not None
        while len(self._kept) < _MAX_BATCH and (delivery := self._subscription.get(timeout=_TIMEOUT)) is not None:
            self._kept.append(self._reader.row(delivery.message, delivery.payload))
        lost = self._client.lost + self._subscription.dropped + self._not_replayed
        return {
            "taken": self._first + len(self._kept),
            "lost": self._earlier["lost"] + lost,
            "misfits": self._earlier["misfits"] + self._reader.misfits,
        }

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the messages of a batch; none if they were received before a restart: these are lost."""
        first, last = start["taken"] - self._first, end["taken"] - self._first
        if self._client is None or first < 0:
            self._not_replayed += end["taken"] - start["taken"]
            first = last = 0
        count = last - first
        bounds = [first + count * part // self._partitions for part in range(self._partitions + 1)]
        return [InputPartition(_as_bytes(self._batch(self._kept[low:high]))) for low, high in pairwise(bounds)]

    def _batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        schema = arrow_schema(self._schema)
        columns = [*zip(*rows, strict=True)] or [()] * len(schema)
        return pa.RecordBatch.from_arrays([*map(pa.array, columns, schema.types)], schema=schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, in an executor."""
        with pa.ipc.open_stream(partition.value) as batches:
            yield from batches

    def commit(self, end: Offset) -> None:
        """Discard the messages of committed batches."""
        done = end["taken"] - self._first
        if done > 0:
            self._kept, self._first = self._kept[done:], self._first + done

    def stop(self) -> None:
        """End the subscription."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _as_bytes(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


class RowPublisher:
    """Converts rows to messages and publishes them."""

    def __init__(self, schema: StructType, routers: Sequence[str], network: str) -> None:
        columns = [field for field in schema if not is_payload(field)]
        attributes_of(StructType(columns), None, lambda _: True)  # refuses other types
        self._names = [field.name for field in columns]
        self._has_payload = len(columns) < len(schema)
        self._routers, self._network = routers, network

    def publish(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a partition, in an executor; skip rows that are not valid messages."""
        with connect(self._routers, network=self._network) as client:
            for batch in batches:
                payloads = batch.column(PAYLOAD).to_pylist() if self._has_payload else [b""] * batch.num_rows
                for message, payload in zip(messages_of_rows(batch.select(self._names)), payloads, strict=True):
                    if message is not None:
                        client.publish(message, payload or b"")
            client.flush()
        return WriterCommitMessage()


class BatchPublisher(DataSourceArrowWriter):
    """Publishes the rows of a batch."""

    def __init__(self, publisher: RowPublisher) -> None:
        self._publisher = publisher

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a partition."""
        return self._publisher.publish(iterator)


class StreamPublisher(DataSourceStreamArrowWriter):
    """Publishes the rows of a stream, batch by batch."""

    def __init__(self, publisher: RowPublisher) -> None:
        self._publisher = publisher

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a partition."""
        return self._publisher.publish(iterator)


def _ints(bits: int) -> Callable[[Any], int | None]:
    half = 1 << (bits - 1)
    return lambda value: value if type(value) is int and -half <= value < half else None


def _float(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) else None


_CELLS: dict[type[DataType], Callable[[Any], Any]] = {  # None for a value of another type
    StringType: lambda value: value if isinstance(value, str) else None,
    BooleanType: lambda value: value if isinstance(value, bool) else None,
    ByteType: _ints(8), ShortType: _ints(16), IntegerType: _ints(32), LongType: _ints(64),
    FloatType: _float, DoubleType: _float,
}  # fmt: skip


def is_payload(field: StructField) -> bool:
    """Return whether a column holds the payload."""
    return field.name == PAYLOAD and isinstance(field.dataType, BinaryType)


class RowReader:
    """Converts messages to rows, and counts values of another type than their column, which become null."""

    def __init__(self, schema: StructType) -> None:
        for field in schema:
            if not is_payload(field):
                _check_type(field.name, field.dataType)
        self._schema = schema
        self.misfits = 0

    def row(self, message: Mapping[str, Any], payload: bytes) -> tuple[Any, ...]:
        """Return the cells of a message."""
        return tuple(
            payload if is_payload(field) else self._cell(_member(message, field.name), field.dataType)
            for field in self._schema
        )

    def _cell(self, value: Any, type: DataType) -> Any:
        if value is None:
            return None
        if isinstance(type, ArrayType):
            return [self._cell(item, type.elementType) for item in (value if isinstance(value, list) else [value])]
        if isinstance(type, StructType) and isinstance(value, dict):
            return {field.name: self._cell(_member(value, field.name), field.dataType) for field in type}
        if isinstance(type, MapType) and isinstance(value, dict):
            return {key: self._cell(member, type.valueType) for key, member in value.items()}
        convert = _CELLS.get(type.__class__)
        cell = convert and convert(value)
        self.misfits += cell is None
        return cell


def _check_type(name: str, type: DataType) -> None:
    if isinstance(type, StructType):
        for field in type:
            _check_type(f"{name}.{field.name}", field.dataType)
    elif isinstance(type, ArrayType):
        _check_type(name, type.elementType)
    elif isinstance(type, MapType) and isinstance(type.keyType, StringType):
        _check_type(f"{name}.*", type.valueType)
    elif type.__class__ not in _CELLS:
        hint = "use string, boolean, ints, float or double, structs, arrays and maps of them; `payload` may be binary"
        raise InputError(f"column {name!r}: {type.simpleString()} is not a valid type for attributes", hint=hint)


def _member(members: Mapping[str, Any], name: str) -> Any:
    """Return the member of a name, in either spelling of nested names; None if there is none."""
    if name in members:
        return members[name]
    for key, value in members.items():
        if isinstance(value, dict) and name.startswith(f"{key}."):
            return _member(value, name[len(key) + 1 :])
    below = {key[len(name) + 1 :]: value for key, value in members.items() if key.startswith(f"{name}.")}
    return below or None
