"""The functions that `register` gives, in SQL."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

import cbnet
from cbnet import Table
from cbnet.errors import InputError

TABLE = {"cheap": "price < 5", "acme": 'symbol = "ACME"', "rome": 'venue.city = "Rome" and #hot', "all": "true"}
ROWS = [
    (1, "ACME", 4.5, ("Rome",), ["hot"], {"a": 1}, b"x"),
    (2, "EMCA", 9.0, None, None, None, None),
    (3, None, None, ("Rome",), ["hot", "new"], {"b": 2}, b"y"),
]
SCHEMA = (
    "id bigint, symbol string, price double, venue struct<city:string>, `#` array<string>, m map<string,int>, b binary"
)
EXPECTED = {1: ["cheap", "acme", "rome", "all"], 2: ["all"], 3: ["rome", "all"]}


@pytest.fixture(scope="module", autouse=True)
def trades(spark):
    spark.createDataFrame(ROWS, SCHEMA).repartition(2).createOrReplaceTempView("trades")
    spark.createDataFrame([(7, float("nan")), (8, 1.0)], "id bigint, price double").createOrReplaceTempView("broken")
    cbnet.spark.register(spark, "routes", Table.build(TABLE), key="id bigint")


def pairs(frame):
    return sorted((row.id, row.rule) for row in frame.collect())


def test_function_returns_the_rules_of_a_struct(spark):
    rows = spark.sql("SELECT id, routes(struct(*)) AS found FROM trades").collect()
    assert {row.id: row.found for row in rows} == EXPECTED  # in the order of the table


def test_function_takes_named_columns(spark):
    rows = spark.sql("SELECT id, routes(price => price, `venue.city` => venue.city, `#` => `#`) AS found FROM trades")
    assert {row.id: row.found for row in rows.collect()} == {
        1: ["cheap", "rome", "all"],
        2: ["all"],
        3: ["rome", "all"],
    }


def test_registered_function_takes_columns_of_dataframes(spark):
    function = cbnet.spark.register(spark, "returned", Table.build(TABLE), key="id bigint", details=True)
    trades = spark.table("trades")
    assert {
        row.id: row.found for row in trades.select("id", function(F.struct("*")).alias("found")).collect()
    } == EXPECTED
    [row] = spark.sql("SELECT * FROM returned(TABLE(SELECT id, symbol FROM trades WHERE id = 2))").collect()
    assert row.asDict() == {"id": 2, "rule": "all", "rule_priority": 0, "rule_metadata": None}


def test_function_filters_and_explodes(spark):
    cheap = spark.sql("SELECT id FROM trades WHERE array_contains(routes(struct(*)), 'cheap')")
    assert [row.id for row in cheap.collect()] == [1]
    exploded = spark.sql("SELECT id, explode(routes(struct(*))) AS rule FROM trades")
    assert pairs(exploded) == sorted((id, name) for id, names in EXPECTED.items() for name in names)


def test_table_function_returns_a_row_for_each_match(spark):
    expected = sorted((id, name) for id, names in EXPECTED.items() for name in names)
    assert pairs(spark.sql("SELECT id, rule FROM routes(TABLE(trades))")) == expected
    some = "SELECT * FROM routes(TABLE(SELECT id, symbol FROM trades WHERE id < 3))"
    assert pairs(spark.sql(some)) == [(1, "acme"), (1, "all"), (2, "all")]


def test_null_message_has_null_rules_and_a_message_of_nulls_may_match(spark):
    rows = spark.sql("SELECT routes(if(id = 1, struct(id, price), null)) AS found, id FROM trades WHERE id < 3")
    assert {row.id: row.found for row in rows.collect()} == {1: ["cheap", "all"], 2: None}


def test_integer_rules_are_strings_in_arrays_and_numbers_in_rows(spark):
    cbnet.spark.register(spark, "numbers", Table.build({7: "id = 1", 9: "id >= 1"}), key="id bigint")
    assert spark.sql("SELECT numbers(id => 1L) AS found").collect()[0].found == ["7", "9"]
    assert pairs(spark.sql("SELECT * FROM numbers(TABLE(SELECT id FROM trades WHERE id = 1))")) == [(1, 7), (1, 9)]


def test_filters_and_several_tables(spark):
    tables = [Table.build({"a": "id = 1 or id = 1 and exists price"}), Table.build({"a": "id = 1", "b": "id < 3"})]
    cbnet.spark.register(spark, "parts", tables, key="id bigint")
    rows = spark.sql("SELECT id, parts(struct(*)) AS found FROM trades").collect()
    assert {row.id: sorted(row.found) for row in rows} == {1: ["a", "b"], 2: ["b"], 3: []}
    cbnet.spark.register(spark, "why", Table.build({"a": "id = 1 or price < 5"}), key="id bigint", filters=True)
    found = spark.sql("SELECT * FROM why(TABLE(trades))").collect()
    assert sorted((row.id, row["filter"]) for row in found) == [(1, "id = 1"), (1, "price < 5")]
    assert spark.sql("SELECT why(struct(*)) AS found FROM trades WHERE id = 1").collect()[0].found == ["a"]


def test_rows_that_are_not_messages_fail_or_are_null_or_have_a_reason(spark):
    reason = "column 'price': NaN and infinity are not values"
    for query in ("SELECT routes(struct(*)) FROM broken", "SELECT * FROM routes(TABLE(broken))"):
        with pytest.raises(PySparkException, match=reason):
            spark.sql(query).collect()
    cbnet.spark.register(spark, "lenient", Table.build({"x": "price = 1"}), key="id bigint", on_error="drop")
    rows = spark.sql("SELECT id, lenient(struct(*)) AS found FROM broken").collect()
    assert {row.id: row.found for row in rows} == {7: None, 8: ["x"]}
    assert pairs(spark.sql("SELECT * FROM lenient(TABLE(broken))")) == [(8, "x")]
    cbnet.spark.register(spark, "letters", Table.build({"x": "price = 1"}), key="id bigint", on_error="column")
    rows = spark.sql("SELECT * FROM letters(TABLE(broken))").collect()
    assert {tuple(row) for row in rows} == {(7, None, reason), (8, "x", None)}


def test_registering_again_replaces_the_table(spark):
    for predicate, expected in (("id = 1", ["it"]), ("id = 2", [])):
        cbnet.spark.register(spark, "changing", Table.build({"it": predicate}))
        assert spark.sql("SELECT changing(id => 1) AS found").collect()[0].found == expected


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT routes(id) FROM trades", r"a message is a struct, not int64; pass struct\(\*\)"),
        ("SELECT routes() FROM trades", r"give either one struct or named columns; pass struct\(\*\)"),
        ("SELECT * FROM routes(TABLE(SELECT symbol FROM trades))", "the table has no column 'id' of the key"),
    ],
)
def test_wrong_calls_say_what_a_message_is(spark, query, problem):
    with pytest.raises(PySparkException, match=problem):
        spark.sql(query).collect()


def test_wrong_arguments_are_refused(spark):
    with pytest.raises(InputError, match="unknown error policy"):
        cbnet.spark.register(spark, "wrong", Table.build(TABLE), on_error="ignore")
    with pytest.raises(InputError, match="is not a schema"):
        cbnet.spark.register(spark, "wrong", Table.build(TABLE), key="id")
