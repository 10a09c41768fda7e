"""`match` against the reference, on random rows of every type that can be matched."""

import random
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql.types import StructType

from cbnet import ColumnWarning, Message, Rule, Table, parse, parse_filter
from cbnet.errors import InputError
from cbnet.matching import reference
from cbnet.pipeline.match.batch_matcher import COUNTS, MatchPlan, match_batches
from cbnet.pipeline.match.dataframe_matcher import COUNTS_TYPE
from cbnet.pipeline.match.shipped_tables import store_table
from cbnet.pipeline.schemas import arrow_schema
from cbnet.spark import match

COLUMNS = {
    "id": "bigint", "s": "string", "flag": "boolean", "b": "tinyint", "h": "smallint", "i": "int", "l": "bigint",
    "f": "float", "d": "double", "price": "decimal(8,2)", "big": "decimal(20,1)", "day": "date", "at": "timestamp",
    "wall": "timestamp_ntz", "#": "array<string>", "n": "array<double>", "labels": "map<string,int>",
    "inner": "struct<x:int,deep:struct<y:string>,more:array<string>,blob:binary>",
    "items": "array<struct<sku:string,n:int,blob:binary,parts:array<struct<p:int,q:int>>>>", "items.sku": "string",
    "grid": "array<array<struct<x:int,y:int>>>", "by.key": "map<string,struct<v:int,blob:binary>>",
}  # fmt: skip
SCHEMA = ", ".join(f"`{name}` {type}" for name, type in COLUMNS.items())
EPOCH = datetime(2024, 2, 27, tzinfo=UTC)


def random_rows(rng, count):
    """Return rows whose values are few, so that filters meet them; a third of all values are null."""

    def maybe(value):
        return None if rng.random() < 1 / 3 else value

    def row(number):
        return (
            number,
            maybe(rng.choice(["", "a", "ab", "ba", "é", "\U0010ffff"])),
            maybe(rng.random() < 0.5),
            maybe(rng.choice([-128, 0, 127])),
            maybe(rng.choice([-1, 0, 1])),
            maybe(rng.randrange(5)),
            maybe(rng.choice([2**53, 2**53 + 1, -(2**63), 2**63 - 1])),
            maybe(rng.choice([0.5, 0.1, -0.0, 3e38])),
            maybe(rng.choice([0.1, 2.0**53, 5e-324, -0.0, 1.5])),
            maybe(Decimal(rng.choice(["0.10", "12.34", "-0.01", "999999.99"]))),
            maybe(Decimal(rng.choice(["9223372036854775807", "0.1", "-1.0"]))),
            maybe(date(2024, 2, 27) + timedelta(days=rng.randrange(4))),
            maybe(EPOCH + timedelta(microseconds=rng.randrange(4) * 43_200_000_001)),
            maybe(EPOCH.replace(tzinfo=None) + timedelta(hours=rng.randrange(60))),
            maybe(rng.sample(["p", "q", "r", None], rng.randrange(4))),
            maybe([maybe(rng.choice([0.5, 1.0, 2.0])) for _ in range(rng.randrange(4))]),
            maybe({key: maybe(rng.randrange(3)) for key in rng.sample(["x", "y", "z.w"], rng.randrange(4))}),
            maybe((maybe(rng.randrange(3)), maybe((maybe(rng.choice("uv")),)), maybe(["q", None]), b"blob")),
            maybe([maybe(item()) for _ in range(rng.randrange(3))]),
            maybe(rng.choice("ab")) if rng.random() < 0.3 else None,
            maybe([maybe([maybe((rng.randrange(3), rng.randrange(3))) for _ in range(2)]) for _ in range(2)]),
            maybe({key: maybe((maybe(rng.randrange(3)), b"blob")) for key in rng.sample("ab", rng.randrange(3))}),
        )

    def item():
        parts = [(rng.randrange(3), maybe(rng.randrange(3))) for _ in range(rng.randrange(3))]
        return (maybe(rng.choice("ab")), maybe(rng.randrange(3)), b"blob", maybe(parts))

    return [row(number) for number in range(count)]


FIELDS = {
    "inner": ["x", "deep", "more", "blob"], "inner.deep": ["y"], "items": ["sku", "n", "blob", "parts"],
    "items.parts": ["p", "q"], "grid": ["x", "y"], "by.key": ["v", "blob"],
}  # fmt: skip


def message_of(row):
    """Return the message that a row says, by the rules of the document and by nothing of the code."""
    members = {name: plain(name, value) for name, value in zip(COLUMNS, row, strict=True) if value is not None}
    return Message.from_dict(members)


def plain(path, value):
    """Return a value as members of a message, without nulls, and without what is not a value and no filter uses."""
    if isinstance(value, list):
        return [plain(path, item) for item in value if item is not None]
    if isinstance(value, tuple):
        value = dict(zip(FIELDS[path], value, strict=True))
        return {
            name: plain(f"{path}.{name}", member)
            for name, member in value.items()
            if member is not None and name != "blob"
        }
    if isinstance(value, dict):
        return {key: plain(path, member) for key, member in value.items() if member is not None}
    if path == "f":
        return pa.scalar(value, pa.float32()).cast(pa.float64()).as_py()  # what a float of 32 bits is, exactly
    return value


PREDICATES = {
    "strings": 's = "a" or s ^= "b" or s > "é"',
    "bools": "flag = true and i > 1 or flag = false and i = 0",
    "bytes": "b < -127 or b = 127 and h >= 0",
    "ints": "i = 3 or i < 1",
    "longs": f"l = {2**53 + 1} or l = {2**63 - 1} or l < {-(2**63) + 1}",
    "floats": "f = 0.5 or f = 0 or f > 1000000",
    "thirty-two bits": "f = 0.1 or f = 0.10000000149011612",
    "doubles": f"d = 0.1 or d = {2**53} or d > 0 and d < 0.001",
    "decimals": "price = 12.34 or price < 0",
    "whole decimals": "big = 9223372036854775807 or big < 0",
    "days": 'day ^= "2024-02" and day >= "2024-02-28"',
    "day": 'day = "2024-02-28T00:00:00.000000000Z" or at = "2024-02-27T12:00:00.000001000Z"',
    "times": 'at >= "2024-02-28" and at < "2024-02-28T12"',
    "walls": 'wall < "2024-02-27T10" or wall ^= "2024-02-29"',
    "tags": "#p and #q",
    "nested": 'inner.x >= 1 and inner.deep.y = "u"',
    "several values": 'inner.more = "q" and n > 0.5 and n < 2',
    "none of them": "n != 1",
    "one element": 'items.sku = "a" and items.n = 1',
    "deeper elements": "items.n >= 1 and items.parts.p = 1 and items.parts.q = 2",
    "two arrays": "items.n = n and grid.x = 1",
    "arrays in arrays": "grid.x = 1 and grid.y = 2",
    "keys of maps": "labels.x = 1 or labels.z.w = 2 and labels.y >= 0",
    "structs in maps": "by.key.a.v = 1",
    "sets": 'i in (1, 3) or s in ("a", 5)',
    "null": "i = null",
    "not null": "i != null and labels.x != null",
    "conditions": 'h * 2 + i > d or lower(s) = "ab" and not #p',
    "unknown": "(i > 2) is not true and absent labels.x",
    "patterns": 's like "%b" or at like "2024-02-2_T12%"',
    "condition of elements": "items.n < items.parts.p",
    "exists": "exists inner.deep.y and exists s",
    "absent": 's != "a"',
    "all": "true",
    "none": "i = 7",
    "mixed": 'i > 0 and s = "ab" and #q or day > "2024-02-28" and d > 1',
}


@pytest.fixture(scope="module")
def rows():
    return random_rows(random.Random(9), 400)


@pytest.fixture(scope="module")
def frame_of_all(spark, rows):
    return spark.createDataFrame(rows, SCHEMA).repartition(7).cache()


@pytest.fixture(scope="module")
def messages(rows):
    return {row[0]: message_of(row) for row in rows}


@pytest.fixture(scope="module")
def expected(messages):
    predicates = {rule: parse(text) for rule, text in PREDICATES.items()}
    return sorted((key, name) for key, message in messages.items() for name in reference.match(predicates, message))


def found(frame, *names):
    return sorted(tuple(row[name] for name in names) for row in frame.collect())


def test_every_type_matches_as_in_the_reference(frame_of_all, expected):
    assert found(match(frame_of_all, Table.build(PREDICATES), key="id"), "id", "rule") == expected


def test_every_predicate_of_the_test_matches_some_but_not_all_rows(expected, rows):
    counts = {name: sum(rule == name for _, rule in expected) for name in PREDICATES}
    assert counts.pop("all") == len(rows)
    assert counts.pop("none") == counts.pop("null") == 0  # a null cell is an absent attribute
    assert all(0 < count < len(rows) for count in counts.values()), counts


def test_split_tables_match_as_one_even_with_shared_rules(frame_of_all, expected, tmp_path):
    names = [*PREDICATES]
    paths = []
    for place, part in enumerate((names[:8], names[8:], names[5:12])):
        paths.append(tmp_path / f"{place}.cbt")
        Table.build({name: PREDICATES[name] for name in part}).save(paths[-1])
    apart, shared = match(frame_of_all, paths[:2], key="id"), match(frame_of_all, paths, key="id")
    assert found(apart, "id", "rule") == found(shared, "id", "rule") == expected


def canonical(filter):
    """Return what a filter says, in whatever order."""
    return frozenset(map(str, filter.constraints)), filter.tags, frozenset(map(str, filter.conditions))


def test_filters_option_gives_a_row_for_each_matching_filter(frame_of_all, messages):
    matched = match(frame_of_all, Table.build(PREDICATES), key="id", filters=True)
    expected = {
        (key, name, canonical(filter))
        for name, text in PREDICATES.items()
        for filter in parse(text).filters
        for key, message in messages.items()
        if filter.matches(message)
    }
    rows_found = found(matched, "id", "rule", "filter")
    filters = {text: canonical(parse_filter(text)) for _, _, text in rows_found}
    assert {(key, name, filters[text]) for key, name, text in rows_found} == expected
    assert len(rows_found) == len(expected)


def test_keys_of_every_type_are_copied(spark):
    schema = "at timestamp, b binary, m map<string,int>, inner struct<x:int>, list array<int>, none void, x int"
    row = (EPOCH.replace(tzinfo=None), b"\0\xff", {"a": 1}, (5,), [1, None], None, 7)
    frame = spark.createDataFrame([row], schema)
    table = Table.build({1: "x = 7", 2: "x > 7"})
    matched = match(frame, table, key=["at", "b", "m", "inner", "list", "x"], columns=["x"], version=True)
    [only] = matched.collect()
    assert (only.at, bytes(only.b), only.m, only.inner.x, only.list, only.x) == (
        EPOCH.replace(tzinfo=None),
        b"\0\xff",
        {"a": 1},
        5,
        [1, None],
        7,
    )
    assert only.rule == 1
    assert len(only.version) == 16


def test_result_has_all_columns_by_default(spark):
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "x int, s string")
    matched = match(frame, Table.build({"one": "x = 1"}))
    assert [tuple(row) for row in matched.collect()] == [(1, "a", "one")]


def test_empty_frames_and_empty_partitions_match_nothing(spark):
    table = Table.build({"all": "true", "x": "x >= 0"})
    assert match(spark.createDataFrame([], "x int"), table).collect() == []
    few = spark.range(3).withColumnRenamed("id", "x").repartition(11)
    assert found(match(few, table), "x", "rule") == [(x, name) for x in range(3) for name in ("all", "x")]


@pytest.fixture
def with_nan(spark):
    return spark.createDataFrame([(1, float("nan")), (2, 0.5)], "id int, x double")


NAN = "column 'x': NaN and infinity are not values"


def test_rows_that_are_not_messages_fail_the_query_by_default(with_nan):
    with pytest.raises(PySparkException, match=f"the row with id = 1 is not a valid message: {NAN}"):
        match(with_nan, Table.build({"x": "x < 1"}), key="id").collect()
    with pytest.raises(PySparkException, match=f"a row is not a valid message: {NAN}"):
        match(with_nan, Table.build({"x": "x < 1"}), key=[]).collect()
    assert len(match(with_nan, Table.build({"all": "true"}), key="id").collect()) == 2  # no filter uses the NaN


def test_rows_that_are_not_messages_are_dropped_or_kept_with_the_reason(with_nan):
    table = Table.build({"x": "x < 1", "all": "true"})
    matches = [(2, "all"), (2, "x")]
    assert found(match(with_nan, table, key="id", on_error="drop"), "id", "rule") == matches
    kept = match(with_nan, table, key="id", on_error="column", version=True)
    assert {tuple(row)[:3] for row in kept.collect()} == {(1, None, NAN), *((*pair, None) for pair in matches)}
    with pytest.raises(InputError, match=r'unknown error policy \'skip\'; use "fail", "drop" or "column"'):
        match(with_nan, table, on_error="skip")


def test_observation_counts_records_matches_and_rejected_rows(with_nan):
    for policy, rows in (("drop", 2), ("column", 3)):
        observation = Observation()
        matched = match(with_nan, Table.build({"x": "x < 1", "all": "true"}), on_error=policy, observation=observation)
        assert matched.count() == rows
        counts = observation.get
        assert (counts["records"], counts["matches"], counts["rejected"]) == (2, 2, 1)
        assert counts["encode_s"] > 0


def test_rejected_rows_have_their_reason_and_the_others_go_on(spark):
    texts = ["cast(null as date)", "date'10000-01-01'", "date'2024-05-01'", "date'2024-05-01'"]
    rows = " union all ".join(f"select {text} day, array({number}D) n" for number, text in enumerate(texts))
    frame = spark.sql(f"select * from ({rows})").selectExpr(
        "day", "if(n[0] = 3, array(1D, double('NaN')), n) n", "make_ym_interval(1) unused"
    )
    tables = [Table.build({"day": "exists day"}), Table.build({"n": "n >= 0"})]
    matched = match(frame, tables, key="n", on_error="column")
    assert found(matched.where("_error is null"), "n", "rule") == [([0.0], "n"), ([2.0], "day"), ([2.0], "n")]
    assert found(matched.where("_error is not null"), "_error", "rule") == [
        ("column 'day': the time is not in the years 1 to 9999", None),
        ("column 'n': NaN and infinity are not values", None),
    ]


@pytest.mark.parametrize(
    ("ddl", "predicate", "warning"),
    [
        ("price double", "Price > 1", "no column 'Price'; did you mean 'price'?"),
        ("venue struct<city_name:string>", "venue.city_nam = 1", "no column 'venue.city_nam'; did you mean"),
        ("x int", "x = 1 and #a", "no column '#', which holds the tags"),
        ("price decimal(8,2)", 'price = "5"', "price = \"5\": the column 'price' holds numbers"),
        ("at timestamp", "at > 5", "at > 5: the column 'at' holds strings"),
        (
            "l array<struct<x:int>>",
            "absent l.x or l.x = null",
            "l.x = null: a null cell is an absent attribute; write absent l.x",
        ),
        ("id bigint not null", "absent id", "absent id: the column 'id' has no nulls"),
    ],
)
def test_rules_that_do_not_fit_the_columns_are_a_warning_and_strictly_an_error(spark, ddl, predicate, warning):
    frame, table = spark.createDataFrame([], ddl), Table.build({"a": predicate})
    with pytest.warns(ColumnWarning, match=re.escape(f"1 of 1 rules does not fit the columns:\n  rule a: {warning}")):
        match(frame, table)
    with pytest.raises(InputError, match=re.escape(warning)):
        match(frame, table, strict=True)


def test_no_warning_where_a_column_may_hold_the_attribute(spark):
    frame = spark.createDataFrame([], "labels map<string,map<string,int>>, l array<struct<x:int>>, `#` array<string>")
    match(frame, Table.build({"a": "labels.x.y = 1 and absent labels.y.z and l.x = 1 and #a"}), strict=True)
    with pytest.warns(ColumnWarning, match=r"'l\.x'"):
        match(frame, Table.build({"a": "l.x = 1"}), columns=["labels"])


def test_stream_is_matched_like_a_batch(spark, tmp_path):
    spark.range(20).repartition(3).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id bigint").parquet(str(tmp_path / "in"))
    matched = match(stream, Table.build({"few": "id < 5"}))
    query = matched.writeStream.format("memory").queryName("few").trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(row.id for row in spark.table("few").collect()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"key": "y"}, "no column 'y'"),
        ({"key": ["x", "rule"]}, "the key column 'rule' is a column of the result"),
        ({"key": "x", "columns": ["z"]}, "no column 'z'"),
        ({"key": "i"}, "the key column 'i': Spark cannot pass interval year to Python"),
        ({"key": "x"}, "column 'b': binary is not a valid type for attributes"),
    ],
)
def test_missing_and_unusable_columns_are_refused_before_the_job_runs(spark, arguments, problem):
    frame = spark.sql("select 1 x, 2 rule, binary('') b, interval '1' year i")
    with pytest.raises(InputError, match=problem):
        match(frame, Table.build({"a": "x = 1 and absent b"}), **arguments)


def test_fields_of_structs_are_keys(spark):
    frame = spark.sql("select named_struct('number', 7, 'lines', array(1)) as `order`, 1 as x, 2 as `a.b`")
    [row] = match(frame, Table.build({"one": "order.lines = 1"}), key=["order.number", "a.b"]).collect()
    assert row.asDict() == {"order.number": 7, "a.b": 2, "rule": "one"}


def test_priority_and_metadata_of_rules_are_columns(spark):
    predicates = {"low": "x = 1", "high": "x = 1", "plain": "true"}
    rules = [Rule("low", priority=-1), Rule("high", priority=9, metadata={"owner": "José", "tags": [1]})]
    tables = Table.build(predicates, rules=rules), [Table.build({"plain": "true"}), Table.build({"other": "x = 1"})]
    rows = match(spark.range(1, 2).toDF("x"), tables[0], details=True).collect()
    assert [tuple(row) for row in rows] == [
        (1, "high", 9, '{"owner": "José", "tags": [1]}'),
        (1, "plain", 0, None),
        (1, "low", -1, None),
    ]
    rows = match(spark.range(1, 2).toDF("x"), tables[1], details=True, filters=True, version=True).collect()
    assert {tuple(row)[1:5] for row in rows} == {("plain", 0, None, "true"), ("other", 0, None, "x = 1")}


def test_invalid_tables_are_refused(spark, tmp_path):
    frame = spark.range(1)
    with pytest.raises(InputError, match="no such table"):
        match(frame, tmp_path / "none.cbt")
    with pytest.raises(InputError, match="no table given"):
        match(frame, [])
    (tmp_path / "text.cbt").write_text("not a table")
    with pytest.raises(InputError, match=r"text\.cbt: not a compiled table"):
        match(frame, str(tmp_path / "text.cbt"))


def test_table_is_stored_under_its_version(tmp_path):
    source, kept = tmp_path / "t.cbt", tmp_path / "kept"
    kept.mkdir()
    Table.build({"a": "x = 1"}).save(source)
    first = store_table(source, kept)
    Table.build({"a": "x = 2"}).save(source)  # a new file in place of the old
    second = store_table(source, kept)
    assert first != second
    assert Table.open(first).match({"x": 1}) == ["a"]
    assert store_table(source, kept) == second
    assert sorted(path.name for path in kept.iterdir()) == sorted([first.name, second.name])


def test_table_may_be_at_a_uri(spark, remote, tmp_path):
    for limit in (3, 2):  # the second replaces the first
        Table.build({"low": f"id < {limit}"}).save(tmp_path / "t.cbt")
        matched = match(spark.range(5), f"{remote}/t.cbt")
        assert sorted(row.id for row in matched.collect()) == [*range(limit)]
    with pytest.raises(InputError, match="there is no such file"):
        match(spark.range(5), f"{remote}/none.cbt")


def test_rule_file_is_compiled_before_it_is_stored(tmp_path):
    source, kept = tmp_path / "rules.toml", tmp_path / "kept"
    kept.mkdir()
    source.write_text("[rules.a]\nwhen = 'x = 1'\npriority = 3\n")
    stored = Table.open(store_table(str(source), kept), verify=True)
    assert (stored.match({"x": 1}), stored.rule("a").priority) == (["a"], 3)
    source.write_text("[rules]\na = 'x =< 1'\n")
    with pytest.raises(InputError, match="unknown operator"):
        store_table(source, kept)


def test_table_replaced_after_the_call_has_no_effect(spark, tmp_path):
    path = tmp_path / "t.cbt"
    Table.build({"old": "id = 1"}).save(path)
    matched = match(spark.range(3), path)
    Table.build({"new": "id = 2"}).save(path)
    assert found(matched, "id", "rule") == [(1, "old")]


class Local:
    """A table where the test is: what a worker needs of a `ShippedTable`."""

    def __init__(self, path):
        self.path = path

    def open(self):
        from cbnet.pipeline.match.shipped_tables import OpenTable

        return OpenTable(self.path, with_filters=False)


def test_worker_counts_matches_and_bounds_its_batches(tmp_path):
    rules = 3000
    Table.build({number: "true" if number % 2 else "x >= 0" for number in range(rules)}).save(tmp_path / "t.cbt")
    result = arrow_schema(StructType().add("rule", "long").add(COUNTS, COUNTS_TYPE))
    plan = MatchPlan((Local(tmp_path / "t.cbt"),), ("id",), ("x",), result, False, "drop")
    values = [1.0, float("nan"), None] * 200
    batch = pa.RecordBatch.from_arrays([pa.array(range(600)), pa.array(values)], ["c0", "c1"])
    *batches, last = match_batches([batch, batch.slice(0, 0)], plan)
    assert max(part.num_rows for part in batches) <= 256 * rules
    assert min(part.num_rows for part in batches[1:3]) <= 200_000
    [counts] = last.column(COUNTS).to_pylist()
    assert (counts["records"], counts["matches"]) == (600, 200 * rules + 200 * rules // 2)
    assert sum(part.num_rows for part in batches) == counts["matches"]
    assert counts["rejected"] == 200
    assert counts["match_s"] > 0
