import pytest
from pyspark.sql.types import StructType

from cbnet.errors import InputError
from cbnet.pipeline.match.message_columns import attributes_of

pytestmark = pytest.mark.usefixtures("spark")  # whose parser reads the schemas of these tests


def kinds(ddl, columns=None):
    return {(found.name, ".".join(found.path)): found.kind for found in attributes_of(StructType.fromDDL(ddl), columns)}


def test_every_type_has_its_kind():
    ddl = """a string, b boolean, c tinyint, d smallint, e int, f bigint, g float, h double, i date, j timestamp,
        k timestamp_ntz, l decimal(18,0), m decimal(38,6), n array<string>, o void, p varchar(3), q char(3)"""
    found = kinds(ddl)
    assert "".join(name for name, _ in found) == "abcdefghijklm#opq"
    expected = "string bool int int int int float float date time time int float tags absent string string"
    assert [*found.values()] == expected.split()


def test_struct_fields_are_attributes_named_by_path():
    found = kinds("a struct<b:struct<c:int,`d.e`:string>,tags:array<string>>, `f.g` int")
    assert found == {
        ("a.b.c", "a.b.c"): "int",
        ("a.b.d.e", "a.b.d.e"): "string",
        ("#", "a.tags"): "tags",
        ("f.g", "f.g"): "int",
    }


@pytest.mark.parametrize(
    ("ddl", "name", "remedy"),
    [
        ("b binary", "b", "base64"),
        ("m map<string,int>", "m", "m['k']"),
        ("s struct<m:map<string,int>>", "s.m", "m['k']"),
        ("a array<int>", "a", "arrays of strings"),
        ("a array<struct<b:int>>", "a", "arrays of strings"),
        ("d decimal(19,0)", "d", "bigint or double"),
        ("i interval day to second", "i", "cast it"),
        ("v variant", "v", "cast it"),
        ("`#` string", "#", "array of strings"),
    ],
)
def test_unsupported_type_is_refused_with_the_column_name(ddl, name, remedy):
    with pytest.raises(InputError, match="is not a valid type for attributes") as raised:
        attributes_of(StructType.fromDDL(f"x int, {ddl}"))
    assert f"column {name!r}" in raised.value.problem
    assert remedy in raised.value.hint


def test_all_refused_columns_are_reported_together():
    with pytest.raises(InputError) as raised:
        attributes_of(StructType.fromDDL("b binary, x int, m map<string,int>"))
    assert "'b'" in raised.value.problem
    assert "'m'" in raised.value.problem


def test_only_selected_columns_are_attributes():
    ddl = "b binary, x int, s struct<y:int,m:map<string,int>>, `s.y` string"
    assert kinds(ddl, ["x"]) == {("x", "x"): "int"}
    assert kinds("b binary, s struct<y:int,m:map<string,int>>", ["s.y"]) == {("s.y", "s.y"): "int"}
    with pytest.raises(InputError, match=r"no column 's\.z'"):
        kinds("s struct<y:int>", ["s.z"])
    with pytest.raises(InputError, match="no column 'prise'; did you mean 'price'"):
        kinds("price int", ["prise"])
    with pytest.raises(InputError, match=r"no column 'x\.y'"):
        kinds("x int", ["x.y"])


def test_two_columns_with_one_attribute_are_refused():
    with pytest.raises(InputError, match=r"two columns have the attribute 'a.b'"):
        kinds("`a.b` int, a struct<b:int>")
