from types import SimpleNamespace

import pytest
from pyspark.sql.types import DateType, StructField, StructType

from cbnet import Table
from cbnet.errors import InputError
from cbnet.matching.column_check import check_columns
from cbnet.pipeline.match.dataframe_matcher import FOLDER, LINE
from cbnet.pipeline.match.match_job import MatchTask
from cbnet.pipeline.match.message_columns import UsedNames, attributes_of, open_columns, used_columns
from cbnet.pipeline.match.shipped_tables import ship_tables

pytestmark = pytest.mark.usefixtures("spark")  # whose parser reads the schemas of these tests


def all_used(_):
    return True


def kinds(ddl, columns=None, uses=all_used):
    return {found.name: found.kind for found in attributes_of(StructType.fromDDL(ddl), columns, uses)}


def sent(spark, ddl, *names):
    """Return the types of the columns that workers get if filters use these attributes."""
    schema = StructType.fromDDL(ddl)
    columns = used_columns(schema, None, UsedNames(frozenset(names) - {"#"}, "#" in names))
    rows = spark.createDataFrame([], schema).select(*(column.alias(name) for name, column in columns.items()))
    return {field.name: field.dataType.simpleString() for field in rows.schema}


def test_every_type_has_its_kind():
    ddl = """a string, b boolean, c tinyint, d smallint, e int, f bigint, g float, h double, i date, j timestamp,
        k timestamp_ntz, l decimal(18,0), m decimal(38,6), `#` array<string>, o void, p varchar(3), q char(3)"""
    found = kinds(ddl)
    assert "".join(found) == "abcdefghijklm#opq"
    expected = "string bool int int int int float float time time time number number tags absent string string"
    assert [*found.values()] == expected.split()


def test_attributes_are_named_by_path():
    ddl = "a struct<b:struct<c:int,`d.e`:string>,t:array<string>>, l array<struct<x:int>>, m map<string,array<int>>"
    found = attributes_of(StructType.fromDDL(ddl), None, all_used)
    assert [(each.name, each.kind, each.is_several) for each in found] == [
        ("a.b.c", "int", False),
        ("a.b.d.e", "string", False),
        ("a.t", "string", True),
        ("l.x", "int", True),
        ("m.*", "int", True),
    ]


@pytest.mark.parametrize(
    ("ddl", "name", "remedy"),
    [
        ("b binary", "b", "cast it"), ("s struct<m:map<string,binary>>", "s.m.*", "cast it"),
        ("a array<struct<b:binary>>", "a.b", "cast it"), ("m map<int,int>", "m", "cast it"),
        ("i interval day to second", "i", "cast it"), ("v variant", "v", "cast it"),
        ("`#` string", "#", "array of strings"),
    ],
)  # fmt: skip
def test_unsupported_type_is_refused_with_the_column_name(ddl, name, remedy):
    with pytest.raises(InputError, match="is not a valid type for attributes") as raised:
        kinds(f"x int, {ddl}")
    assert f"column {name!r}" in raised.value.problem
    assert remedy in raised.value.hint
    assert kinds(f"x int, {ddl}", uses=UsedNames(frozenset(["x"]), False)) == {"x": "int", name: None}


def test_all_refused_columns_are_reported_together():
    with pytest.raises(InputError) as raised:
        kinds("b binary, x int, m variant")
    assert "'b'" in raised.value.problem
    assert "'m'" in raised.value.problem


def test_columns_may_nest_64_levels():
    deep = "int"
    for _ in range(63):
        deep = f"struct<a:{deep}>"
    assert kinds(f"a {deep}") == {".".join("a" * 64): "int"}
    with pytest.raises(InputError, match="nested deeper than 64 levels"):
        kinds(f"a array<{deep}>")
    assert kinds(f"a array<{deep}>", uses=UsedNames(frozenset(), False))


def test_only_selected_columns_are_attributes():
    ddl = "b binary, x int, s struct<y:int,m:binary>, `s.y` string"
    assert kinds(ddl, ["x"]) == {"x": "int"}
    assert kinds("b binary, s struct<y:int,m:binary>", ["s.y"]) == {"s.y": "int"}
    with pytest.raises(InputError, match=r"no column 's\.z'"):
        kinds("s struct<y:int>", ["s.z"])
    with pytest.raises(InputError, match="no column 'prise'; did you mean 'price'"):
        kinds("price int", ["prise"])
    with pytest.raises(InputError, match=r"no column 'x\.y'"):
        kinds("x int", ["x.y"])


def test_only_the_used_parts_of_columns_are_sent(spark):
    ddl = """x int, s struct<y:int,z:binary>, l array<struct<y:int,z:interval year,deep:array<struct<a:int,b:int>>>>,
        m map<string,struct<v:int,w:binary>>, `#` array<string>, y binary"""
    assert sent(spark, ddl) == {}
    assert sent(spark, ddl, "x", "#", "s.y", "l") == {"x": "int", "s": "struct<y:int>", "#": "array<string>"}
    assert sent(spark, ddl, "l.y", "l.deep.b") == {"l": "array<struct<y:int,deep:array<struct<b:int>>>>"}
    assert sent(spark, ddl, "m.any.key.v", "m.v") == {"m": "map<string,struct<v:int>>"}
    assert sent(spark, ddl, "m.v") == {}


def test_lines_may_hold_more_than_their_schema():
    def of_lines(*columns):
        schema = StructType.fromDDL("price double, at string, `#` string, data binary, legs array<struct<n:int>>")
        found = attributes_of(schema, columns or None, used, of_lines=True)
        report = check_columns([table._compiled], open_columns(found), names_only=True)
        return [each.name for each in found], report.warning

    used = UsedNames(frozenset({"price", "at.city", "data", "legs.n"}), True)
    table = Table.build({"a": 'price = "x" and at.city = null and absent data and #t', "b": "legs.n = 1"})
    assert of_lines() == (["price", "at", "#", "data", "legs.n"], None)
    assert of_lines("at.city", "price", "#", "data", "legs.n.m")[0] == ["at.city", "price", "#", "data", "legs.n.m"]
    assert of_lines("price", "at", "#", "data")[1] == (
        "1 of 2 rules does not fit the columns:\n  rule b: no column 'legs.n'"
    )
    with pytest.raises(InputError, match="no column 'prise'; did you mean 'price'"):
        of_lines("prise")


@pytest.mark.parametrize("is_strict", [False, True])
def test_rules_about_columns_of_kafka_are_a_warning_and_strictly_an_error(spark, is_strict):
    schema = StructType.fromDDL(f"topic string, partition int, offset bigint, price double, {LINE} string")
    rows = SimpleNamespace(schema=schema, columns=schema.names)
    task = MatchTask(format="kafka", schema="price double", tables=[], strict=is_strict)
    tables = ship_tables(spark, Table.build({"a": 'topic = "trades"'}), filters=False)
    if is_strict:
        with pytest.raises(InputError, match=r"'topic' is a column of Kafka's records.*; match a DataFrame"):
            task.warning(rows, tables)
    else:
        assert task.warning(rows, tables).startswith("'topic' is a column of Kafka's records, not an attribute")
        assert task.warning(rows, ship_tables(spark, Table.build({"a": "other = 1"}), filters=False)) is None


def test_columns_that_lines_cannot_have_are_refused_before_matching():
    def attributes(ddl, **task):
        schema = StructType(
            [*StructType.fromDDL(f"{ddl}, {LINE} string"), StructField("day", DateType(), True, in_folder)]
        )
        rows = SimpleNamespace(schema=schema, columns=schema.names)
        return [each.name for each in MatchTask(format="json", tables=[], **task).attributes(rows, used)]

    used, in_folder = UsedNames(frozenset({"price", "day"}), False), {FOLDER: True}
    assert attributes("price int", columns=["price"]) == ["price"]
    assert attributes("price int, at string", columns=["at.city"], schema="price int, at string") == ["at.city"]
    with pytest.raises(InputError, match="--column: no column 'prise' in --schema; did you mean 'price'"):
        attributes("price int", columns=["prise"], schema="price int")
    with pytest.raises(InputError, match=r"--column: no column 'at\.city' in --schema; add it to --schema"):
        attributes("price int", columns=["at.city"], schema="price int")
    for columns in (None, ["day"]):
        with pytest.raises(InputError, match="'day' is in the names of folders, not in the lines"):
            attributes("price int", columns=columns)
    with pytest.raises(InputError, match="no column 'at"):
        attributes("price int", columns=["at.city"])
