"""The form of the table. Its speed is no test: 5 million constraints take about a second and 350 MiB."""

import numpy as np
import pyarrow as pa
import pytest

from cbnet.language import Constraint, Op
from cbnet_lab.workload import Forwarding2001, Forwarding2002, filters, mix

VALUES = ("string", "int", "float", "bool")


@pytest.fixture(params=["2002", "2001", "equality"])
def table(request):
    return filters(mix(request.param, filters=500, interfaces=20, seed=3))


def test_the_columns_are_those_of_the_file_format(table):
    text = pa.dictionary(pa.int32(), pa.string())
    assert [(field.name, field.type) for field in table.schema] == [
        ("rule", pa.int64()), ("filter", pa.int64()),
        ("name", text), ("op", pa.dictionary(pa.int8(), pa.string())),
        ("string", text), ("int", pa.int64()), ("float", pa.float64()), ("bool", pa.bool_()),
    ]  # fmt: skip
    table.validate(full=True)


def test_every_row_is_a_constraint_of_the_language(table):
    for row in table.to_pylist():
        (value,) = [row[column] for column in VALUES if row[column] is not None]
        Constraint(row["name"], Op(row["op"]), value)


def test_the_table_is_sorted_by_filter_and_a_filter_has_one_interface(table):
    filter_of, interface_of = table["filter"].to_numpy(), table["rule"].to_numpy()
    assert (np.diff(filter_of) >= 0).all()
    assert (np.diff(interface_of) >= 0).all()
    assert len(set(zip(filter_of, interface_of, strict=True))) == 500


@pytest.mark.parametrize("made", [Forwarding2001, Forwarding2002])
@pytest.mark.parametrize(("interfaces", "expected"), [(None, 300), (300, 300), (1, 1), (50, 50)])
def test_filters_and_interfaces_are_as_many_as_asked_for(made, interfaces, expected):
    table = filters(made(F=300, I=interfaces))
    assert set(table["filter"].to_pylist()) == set(range(300))
    assert set(table["rule"].to_pylist()) == set(range(expected))


def test_a_filter_without_constraints_is_a_row_without_operator():
    rows = filters(Forwarding2002(F=400, I=4, c_l=0, c_h=2)).to_pylist()
    assert [row["filter"] for row in rows] == list(range(400))
    empty = [row for row in rows if row["op"] is None]
    assert 100 < len(empty) < 300
    assert all(row[column] is None for row in empty for column in ("name", *VALUES))
    assert all(sum(row[column] is not None for column in VALUES) == 1 for row in rows if row["op"])


def test_interfaces_may_be_left_without_filters():
    interfaces = set(filters(Forwarding2002(I=100, f_l=0, f_h=2))["rule"].to_pylist())
    assert 20 < len(interfaces) < 80
    assert filters(Forwarding2002(I=100, f_l=0, f_h=1)).num_rows == 0


def test_a_name_may_occur_twice_in_a_filter():
    table = filters(Forwarding2002(F=500, I=5))
    pairs = list(zip(table["filter"].to_pylist(), table["name"].to_pylist(), strict=True))
    assert len(set(pairs)) < len(pairs)


def test_another_number_of_messages_leaves_the_filters_as_they_are():
    assert filters(Forwarding2002(M=1)) == filters(Forwarding2002(M=100))
