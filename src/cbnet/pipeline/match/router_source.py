"""The router source and sink: how do messages of a live network become rows, and rows messages?

    spark.dataSource.register(RouterSource)
    rows = spark.readStream.format("cbnet").schema("price double, `#` array<string>, payload binary")
    rows = rows.option("router", "127.0.0.1:4001").option("predicate", "price < 5").load()
    rows.writeStream.format("cbnet").option("router", …)

**The source is at most once.** The driver subscribes, and a message that it has taken exists nowhere else. What is lost
is counted, in the offset of each batch, which Spark's progress shows:

    taken     messages so far
    lost      what the router or the queue here dropped because Spark was slow, and what a restart could not replay
    misfits   values that are not of their column's type, and became null

What is published while no stream runs is not counted: nobody asked for it.

**The sink publishes at least once** what a batch holds: a batch that is replayed is published again.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
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
    ShortType,
    StringType,
    StructType,
)

from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.network.client.client import Client, Subscription, connect
from cbnet.pipeline.match.message_batches import messages_of
from cbnet.pipeline.match.message_columns import Attribute, attributes_of
from cbnet.pipeline.schemas import arrow_schema

NAME = "cbnet"
PAYLOAD = "payload"
_QUEUE = 1_000_000  # messages that wait for the next batch
_MOST = 100_000  # of a batch
_PATIENCE = 0.05  # seconds to wait for one more message
_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}

Offset = dict[str, int]
Taken = tuple[dict[str, Any], bytes]


class RouterSource(DataSource):
    """A live network as a source of rows and a sink of them; its options are `router`, `predicate` and `network`."""

    @classmethod
    def name(cls) -> str:
        """Return what it is called in `format`."""
        return NAME

    def schema(self) -> StructType:
        """Say that the columns must be given: messages have no schema."""
        raise InputError("messages do not say their columns", hint="give them: .schema('price double')")

    def streamReader(self, schema: StructType) -> RouterReader:  # noqa: N802
        """Return who takes messages."""
        return RouterReader(schema, self._routers(), self.options.get("predicate", "true"), self._network())

    def writer(self, schema: StructType, overwrite: bool) -> BatchPublisher:  # noqa: ARG002
        """Return who publishes the rows of a batch."""
        return BatchPublisher(Publishing(schema, self._routers(), self._network()))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamPublisher:  # noqa: ARG002, N802
        """Return who publishes the rows of a stream."""
        return StreamPublisher(Publishing(schema, self._routers(), self._network()))

    def _routers(self) -> list[str]:
        if "router" not in self.options:
            raise InputError("which router?", hint='.option("router", "127.0.0.1:4001")')
        return [router.strip() for router in self.options["router"].split(",")]

    def _network(self) -> str:
        return str(self.options.get("network", "cbnet"))


class RouterReader(DataSourceStreamReader):
    """Takes messages in the driver and gives them to the executors with their batch."""

    def __init__(self, schema: StructType, routers: Sequence[str], predicate: str, network: str) -> None:
        self._columns = columns_of(schema)
        self._schema = schema
        self._routers, self._predicate, self._network = routers, predicate, network
        self._client: Client | None = None
        self._subscription: Subscription | None = None
        self._kept: list[Taken] = []  # of the batches that are not committed
        self._first = 0  # the number of the first of them
        self._gone = 0  # messages of a batch that could not be replayed
        self._misfits = 0
        self._already = self.initialOffset()  # what was counted before this process

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what only the driver has: executors get their messages with their part."""
        return {**self.__dict__, "_client": None, "_subscription": None, "_kept": []}

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return where a new stream begins."""
        return {"taken": 0, "lost": 0, "misfits": 0}

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:  # noqa: ARG002, N802
        """Take what has come."""
        before = start or self.initialOffset()
        if self._client is None:
            self._first = before["taken"]
            self._already = before
            self._client = connect(self._routers, network=self._network)
            self._subscription = self._client.subscribe(
                self._predicate, wait=True, queue=_QUEUE, when_full="drop oldest"
            )
        assert self._subscription is not None
        while len(self._kept) < _MOST and (delivery := self._subscription.get(timeout=_PATIENCE)) is not None:
            self._misfits += self._count_misfits(delivery.message)
            self._kept.append((delivery.message, delivery.payload))
        lost = self._client.lost + self._subscription.dropped + self._gone
        return {
            "taken": self._first + len(self._kept),
            "lost": self._already["lost"] + lost,
            "misfits": self._already["misfits"] + self._misfits,
        }

    def _count_misfits(self, message: dict[str, Any]) -> int:
        return sum(
            name in message and fitted(message[name]) is None for name, fitted in self._columns.items() if fitted
        )

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the messages of a batch; none, if they were taken before a restart, and then they are lost."""
        first, last = start["taken"] - self._first, end["taken"] - self._first
        if self._client is None or first < 0:
            self._gone += end["taken"] - start["taken"]
            return [InputPartition(_as_bytes(self._batch([])))]
        return [InputPartition(_as_bytes(self._batch(self._kept[first:last])))]

    def _batch(self, taken: Sequence[Taken]) -> pa.RecordBatch:
        columns = []
        schema = arrow_schema(self._schema)
        for field, fitted in zip(schema, self._columns.values(), strict=True):
            if fitted is None:
                values: list[Any] = [payload for _, payload in taken]
            else:
                values = [fitted(message[field.name]) if field.name in message else None for message, _ in taken]
            columns.append(pa.array(values, field.type))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of a part; this runs in an executor."""
        with pa.ipc.open_stream(partition.value) as batches:
            yield from batches

    def commit(self, end: Offset) -> None:
        """Forget what is done."""
        done = end["taken"] - self._first
        if done > 0:
            self._kept, self._first = self._kept[done:], self._first + done

    def stop(self) -> None:
        """End the subscription."""
        if self._client is not None:
            self._client.close()
            self._client = None


def columns_of(schema: StructType) -> dict[str, Callable[[Any], Any] | None]:
    """Return for each column what makes a value of its type, or None of one that does not fit; the payload has none."""
    found: dict[str, Callable[[Any], Any] | None] = {}
    for field in schema:
        if field.name == PAYLOAD and isinstance(field.dataType, BinaryType):
            found[field.name] = None
        else:
            found[field.name] = _fitting(field.name, field.dataType)
    return found


def _fitting(name: str, type: DataType) -> Callable[[Any], Any]:
    if name == RESERVED_NAME and isinstance(type, ArrayType) and isinstance(type.elementType, StringType):
        return list
    if isinstance(type, StringType):
        return lambda value: value if isinstance(value, str) else None
    if isinstance(type, BooleanType):
        return lambda value: value if isinstance(value, bool) else None
    if isinstance(type, DoubleType | FloatType):
        return lambda value: float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if (bits := _BITS.get(type.__class__)) is not None:
        half = 1 << (bits - 1)
        return lambda value: (
            value if isinstance(value, int) and not isinstance(value, bool) and -half <= value < half else None
        )
    hint = "use string, boolean, ints, float or double; `#` array<string> for tags; payload binary"
    raise InputError(f"column {name!r}: no attribute of a message is of type {type.simpleString()}", hint=hint)


def _as_bytes(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


class Publishing:
    """How rows become messages, and where they are published."""

    def __init__(self, schema: StructType, routers: Sequence[str], network: str) -> None:
        self._has_payload = PAYLOAD in schema.names and isinstance(schema[PAYLOAD].dataType, BinaryType)
        said = StructType([field for field in schema if not (self._has_payload and field.name == PAYLOAD)])
        self._attributes = attributes_of(said)
        for attribute in self._attributes:
            if attribute.cast is not None:
                raise InputError(
                    f"column {attribute.name!r}: {attribute.type} is not published", hint="cast it to double"
                )
        self._routers, self._network = routers, network

    def publish(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a part, in an executor; a row that is no message, as it holds NaN, is left out."""
        with connect(self._routers, network=self._network) as client:
            for batch in batches:
                for message, payload in self._messages(batch):
                    client.publish(message, payload)
            client.flush()
        return WriterCommitMessage()

    def _messages(self, batch: pa.RecordBatch) -> Iterator[Taken]:
        columns = [_leaf(batch, attribute) for attribute in self._attributes]
        found = messages_of(columns, self._attributes, batch.num_rows)
        payloads = batch.column(PAYLOAD).to_pylist() if self._has_payload else [b""] * batch.num_rows
        places = range(batch.num_rows) if found.rows is None else found.rows.tolist()
        names = [attribute.name for attribute in self._attributes]
        values = [found.batch.column(place).to_pylist() for place in range(len(names))]
        for place, *row in zip(places, *values, strict=True):
            yield _message(names, row), payloads[place] or b""


def _leaf(batch: pa.RecordBatch, attribute: Attribute) -> pa.Array:
    column = batch.column(attribute.path[0])
    for part in attribute.path[1:]:
        column = column.flatten()[column.type.get_field_index(part)]  # a field of a null struct is null
    return column


def _message(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    for name, value in zip(names, row, strict=True):
        if value is not None and name == RESERVED_NAME:
            message[name] = [*message.get(name, []), *(tag for tag in value if tag is not None)]
        elif value is not None:
            message[name] = value
    return message


class BatchPublisher(DataSourceArrowWriter):
    """Publishes the rows of a batch."""

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a part."""
        return self._publishing.publish(iterator)


class StreamPublisher(DataSourceStreamArrowWriter):
    """Publishes the rows of a stream, batch by batch."""

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a part."""
        return self._publishing.publish(iterator)
