"""Filters as Arrow tables, one row per constraint."""

import pyarrow as pa
import pytest

from cbnet import InputError, Table, parse

SCHEMA = pa.schema(
    [
        ("rule", pa.string()),
        ("filter", pa.int64()),
        ("name", pa.string()),
        ("op", pa.string()),
        ("string", pa.string()),
        ("int", pa.int64()),
        ("float", pa.float64()),
        ("bool", pa.bool_()),
    ]
)


def filters(*rows):
    return pa.Table.from_pylist([{"rule": "a", "filter": 1, **row} for row in rows], SCHEMA)


def test_a_row_is_a_constraint_and_rows_of_one_filter_are_a_conjunction():
    table = Table.from_arrow(
        filters(
            {"name": "x", "op": "<", "int": 5},
            {"name": "y", "op": "=", "string": "s"},
            {"filter": 2, "name": "vip", "op": "#"},
            {"filter": 3, "rule": "b", "name": "z", "op": "!=", "bool": True},
        )
    )
    assert table.match({"x": 4, "y": "s"}) == ["a"]
    assert table.match({"x": 4}) == []
    assert table.match({"#": ["vip"], "z": False}) == ["a", "b"]


def test_rows_without_an_op_are_empty_filters():
    table = Table.from_arrow(filters({}, {"filter": 2, "rule": "b"}))
    assert table.match({}) == ["a", "b"]


def test_a_table_without_rows_matches_nothing():
    assert Table.from_arrow(filters()).match({"x": 1}) == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"name": "x", "op": "==", "int": 1}, "row 2: unknown op, or a constant of a type that the op does not take"),
        (
            {"name": "x", "op": "<", "bool": True},
            "row 2: unknown op, or a constant of a type that the op does not take",
        ),
        ({"name": "x", "op": "=", "int": 1, "string": "s"}, "row 2: two constants are set"),
        ({"op": "=", "int": 1}, "row 2: the name is null"),
        ({"name": "#", "op": "=", "int": 1}, 'row 2: the name "#" is reserved'),
        ({"name": "x", "op": "=", "float": float("nan")}, "row 2: NaN and infinity are not values"),
        ({"rule": None, "name": "x", "op": "exists"}, "row 2: column 'rule' is null"),
    ],
)
def test_an_error_names_its_row(row, problem):
    with pytest.raises(InputError) as error:
        Table.from_arrow(filters({"name": "x", "op": "exists"}, row))
    assert problem in str(error.value)


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="no column 'filter'"):
        Table.from_arrow(filters({"name": "x", "op": "exists"}).drop_columns("filter"))


def test_the_column_of_version_0_2_is_refused_with_its_new_name():
    old = filters({"name": "x", "op": "exists"}).rename_columns(["interface", *SCHEMA.names[1:]])
    with pytest.raises(InputError, match="no column 'rule'; rename the column interface to rule"):
        Table.from_arrow(old)


def test_text_rows_hold_what_columns_cannot():
    table = pa.table(
        {
            "rule": [1, 1, 2, 1, 3],
            "filter": [0, 1, 2, 0, 3],
            "name": ["x", None, None, None, "y"],
            "op": [">", "text", "text", "text", "="],
            "string": [None, "x in (1, 2)", "y = null", "a < b and not #t", "z"],
            "int": [5, None, None, None, None],
        }
    )
    built = Table.from_arrow(table)
    assert {interface: built[interface] for interface in built} == {
        1: parse("x > 5 and a < b and not #t or x in (1, 2)"),
        2: parse("y = null"),
        3: parse('y = "z"'),
    }


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"string": [None, "x ="]}, "row 2: a value is missing"),
        ({"rule": [1, 2]}, "row 2: another row of its filter has another rule"),
        ({"op": ["?", "text"]}, "row 1: unknown operator"),
    ],
)
def test_errors_of_filters_with_text_name_their_row(changes, problem):
    columns = {"rule": [1, 1], "filter": [0, 0], "name": ["x", None], "op": [">", "text"], "string": [None, "a < b"], "int": [5, None]}  # fmt: skip
    with pytest.raises(InputError, match=problem):
        Table.from_arrow(pa.table(columns | changes))
