"""Messages of a live network as rows, and rows as messages."""

import time

import pytest
from pyspark.sql.types import StructType

from cbnet import connect
from cbnet.errors import InputError
from cbnet.network import ProcessNetwork, Settings
from cbnet.pipeline.match.router_source import RouterReader, RouterSource, RowPublisher, RowReader

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "price double, symbol string, n int, `#` array<string>, payload binary"


@pytest.fixture(scope="module")
def router():
    with ProcessNetwork([Settings("a")], []) as network:
        network.wait()
        yield str(network.addresses["a"])


@pytest.fixture
def schema():
    return StructType.fromDDL(SCHEMA)


def test_published_messages_become_rows_and_rows_messages(spark, router, tmp_path):
    """A stream takes messages, doubles their number, and publishes what comes of them."""
    spark.dataSource.register(RouterSource)
    source = spark.readStream.format("cbnet").schema(SCHEMA).option("router", router).option("predicate", "price < 5")
    rows = source.load().selectExpr("n * 2 as n", "'back' as symbol", "`#`", "payload")
    sink = rows.writeStream.format("cbnet").option("router", router).option("checkpointLocation", str(tmp_path))
    with connect(router) as client:
        back = client.subscribe('symbol = "back"', wait=True)
        query = sink.start()
        try:
            deadline = time.monotonic() + 120
            while client.status().subscriptions < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            for number in range(20):
                client.publish({"price": number, "n": number, "#": ["t"]}, bytes([number]))
            found = [back.get(timeout=200) for _ in range(5)]
            assert sorted((each.message["n"], each.payload) for each in found) == [
                (2 * number, bytes([number])) for number in range(5)
            ]
            assert {(each.message["symbol"], *each.message["#"]) for each in found} == {("back", "t")}
            assert back.get(timeout=0.5) is None
        finally:
            query.stop()


def test_losses_and_misfits_are_counted(router, schema):
    reader = RouterReader(schema, [router], "exists n", "cbnet")
    start = reader.latestOffset(reader.initialOffset())
    try:
        with connect(router) as client:
            client.publish({"n": 1, "price": 2}, b"p")
            client.publish({"n": "one", "symbol": True, "price": 1.5})
            client.publish({"n": 2**40})
            client.flush()
        end = start
        while end["taken"] < 3:
            end = reader.latestOffset(start)
        assert end == {"taken": 3, "lost": 0, "misfits": 3}
        [part] = reader.partitions(start, end)
        [batch] = reader.read(part)
        assert batch.to_pylist() == [
            {"price": 2.0, "symbol": None, "n": 1, "#": None, "payload": b"p"},
            {"price": 1.5, "symbol": None, "n": None, "#": None, "payload": b""},
            {"price": None, "symbol": None, "n": None, "#": None, "payload": b""},
        ]
        reader.commit(end)
        assert reader.latestOffset(end) == end
    finally:
        reader.stop()


def test_batch_has_as_many_partitions_as_asked(router, schema):
    options = {"router": router, "predicate": "exists n", "partitions": "3"}
    reader = RouterSource(options).streamReader(schema)
    start = reader.latestOffset(reader.initialOffset())
    try:
        with connect(router) as client:
            for number in range(8):
                client.publish({"n": number})
            client.flush()
        end = start
        while end["taken"] < 8:
            end = reader.latestOffset(start)
        parts = [
            [row["n"] for batch in reader.read(part) for row in batch.to_pylist()]
            for part in reader.partitions(start, end)
        ]
        assert parts == [[0, 1], [2, 3, 4], [5, 6, 7]]
    finally:
        reader.stop()
    for wrong in ("0", "two", "-1"):
        with pytest.raises(InputError, match="is not a number of partitions"):
            RouterSource({**options, "partitions": wrong}).streamReader(schema)


def test_batch_that_cannot_be_replayed_is_counted_as_lost(router, schema):
    reader = RouterReader(schema, [router], "true", "cbnet")  # a new process: nothing is left of the old one
    before, after = {"taken": 10, "lost": 1, "misfits": 0}, {"taken": 15, "lost": 1, "misfits": 0}
    try:
        [part] = reader.partitions(before, after)
        assert [batch.num_rows for batch in reader.read(part)] == [0]
        assert reader.latestOffset(after) == {"taken": 15, "lost": 6, "misfits": 0}
    finally:
        reader.stop()


def test_batch_of_rows_is_published(spark, router):
    spark.dataSource.register(RouterSource)
    frame = spark.createDataFrame(
        [(1, (2.5,), ["a"], [("x",), None]), (2, None, None, None), (3, (float("nan"),), None, None)],
        "n int, inner struct<x:double>, `#` array<string>, items array<struct<sku:string>>",
    )
    with connect(router) as client:
        taken = client.subscribe("exists n", wait=True)
        frame.write.format("cbnet").option("router", router).mode("append").save()
        messages = sorted((taken.get(timeout=30).message for _ in range(2)), key=lambda message: message["n"])
    assert messages == [{"n": 1, "inner": {"x": 2.5}, "#": ["a"], "items": [{"sku": "x"}]}, {"n": 2}]


def test_nested_members_are_read_in_either_spelling():
    reader = RowReader(StructType.fromDDL("a struct<b:int,c:string>, `a.b` int, l array<struct<x:int>>, n array<int>"))
    assert reader.row({"a": {"b": 1}, "l": [{"x": 1}, {"y": 2}], "n": 5}, b"") == (
        {"b": 1, "c": None},
        1,
        [{"x": 1}, {"x": None}],
        [5],
    )
    assert reader.row({"a.b": 1, "a.c": "c", "n": None}, b"") == ({"b": 1, "c": "c"}, 1, None, None)
    assert reader.misfits == 0
    assert reader.row({"a": [1], "l": {"x": "1"}, "n": [1, "2"]}, b"") == (None, None, [{"x": None}], [1, None])
    assert reader.misfits == 3
    maps = RowReader(StructType.fromDDL("m map<string,int>"))
    assert maps.row({"m": {"k": 1, "l": "1"}}, b"") == ({"k": 1, "l": None},)


def test_columns_of_unsupported_types_are_refused():
    with pytest.raises(InputError, match="date is not a valid type for attributes"):
        RowReader(StructType.fromDDL("a array<struct<d:date>>"))
    with pytest.raises(InputError, match="binary is not a valid type for attributes"):
        RowPublisher(StructType.fromDDL("d binary, payload binary"), [], "cbnet")
    with pytest.raises(InputError, match="no router given"):
        RouterSource({})._routers()
