"""Arrow record batches as messages: they are refused for the same values as dicts."""

import pandas as pd
import pyarrow as pa
import pytest

from cbnet import InputError, Table

TABLE = Table.build({"a": "x = 1", "s": 'name = "n"', "t": "#sale"})
COLUMNS = ("x", "other")  # the first is used by a filter, the second is not


def match(**columns):
    return TABLE.match_arrow(pa.RecordBatch.from_pydict(columns)).to_pylist()


def refusal(messages):
    with pytest.raises(InputError) as error:
        TABLE.match_arrow(messages)
    return error.value.problem


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("type", [pa.float64(), pa.float32(), pa.float16()])
def test_nan_and_infinity_are_refused_in_every_column(name, value, type):
    batch = pa.RecordBatch.from_pydict({"x": [1, 2, 3]} | {name: pa.array([0.5, None, value], type)})
    assert refusal(batch) == f"row 3, column {name!r}: NaN and infinity are not values"


@pytest.mark.parametrize("name", COLUMNS)
def test_integers_beyond_64_bits_are_refused_in_every_column(name):
    batch = pa.RecordBatch.from_pydict({name: pa.array([2**63 - 1, None, 2**63], pa.uint64())})
    assert f"row 3, column {name!r}: the integer does not fit in 64 bits" in refusal(batch)
    assert TABLE.match_arrow(batch[:2]).num_rows == 0


@pytest.mark.parametrize("name", COLUMNS)
def test_values_of_a_dictionary_are_checked_where_they_are_used(name):
    values = pa.array([1.0, float("nan")])
    column = pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), values)
    assert "row 3" in refusal(pa.RecordBatch.from_pydict({name: column}))
    assert TABLE.match_arrow(pa.RecordBatch.from_pydict({name: column[:2]})).num_rows == (name == "x")


def test_a_null_is_an_absent_attribute():
    assert match(x=[None, 1], other=pa.nulls(2), y=pa.array([None, None], pa.float64())) == [
        {"row": 1, "interface": "a"}
    ]


def test_a_null_in_a_list_of_tags_is_refused_and_a_null_list_has_no_tags():
    lists = pa.array([["sale"], None, [], ["x", None]])
    assert refusal(pa.RecordBatch.from_pydict({"#": lists})) == "row 4, column '#': a tag is null"
    assert refusal(pa.RecordBatch.from_pydict({"#": lists[2:]})) == "row 2, column '#': a tag is null"
    assert match(**{"#": lists[:3]}) == [{"row": 0, "interface": "t"}]  # the null is outside the slice


@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array(["sale"]), pa.array([1]), pa.array([[["sale"]]])])
def test_tags_are_lists_of_strings(column):
    assert "is not a list of strings" in refusal(pa.RecordBatch.from_pydict({"#": column}))


def test_a_row_that_sets_two_columns_of_one_name_is_refused():
    def batch(ints, strings):
        return pa.RecordBatch.from_arrays([pa.array(ints, pa.int64()), pa.array(strings, pa.string())], ["x", "x"])

    assert refusal(batch([1, 1], [None, "s"])) == "row 2, column 'x': two columns of this name are set"
    assert TABLE.match_arrow(batch([None, 1], ["s", None])).to_pylist() == [{"row": 1, "interface": "a"}]


def test_tags_of_several_columns_are_united():
    columns = [pa.array([["red"], ["sale"], None]), pa.array([["sale"], None, ["red"]])]
    matches = TABLE.match_arrow(pa.RecordBatch.from_arrays(columns, ["#", "#"])).to_pylist()
    assert matches == [{"row": 0, "interface": "t"}, {"row": 1, "interface": "t"}]


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_type_of_strings_is_read(type):
    assert match(name=pa.array(["n", None, "m"], type)) == [{"row": 0, "interface": "s"}]
    encoded = pa.array(["n", None, "m"], type).dictionary_encode()
    assert match(name=encoded, other=encoded) == [{"row": 0, "interface": "s"}]
    assert match(**{"#": pa.array([["sale"], []], pa.list_(type))}) == [{"row": 0, "interface": "t"}]


def test_tables_and_data_frames_are_read_with_consecutive_row_numbers():
    chunks = pa.chunked_array([[1, 2], [], [1]])
    expected = [{"row": 0, "interface": "a"}, {"row": 2, "interface": "a"}]
    assert TABLE.match_arrow(pa.table({"x": chunks})).to_pylist() == expected
    assert TABLE.match_arrow(pd.DataFrame({"x": [1, 2, 1]})).to_pylist() == expected
    assert TABLE.match_arrow(pa.table({"x": pa.chunked_array([], pa.int64())})).to_pylist() == []
    struct = pa.array([{"x": 1}, {"x": 2}, {"x": 1}])  # has __arrow_c_array__ only
    assert TABLE.match_arrow(struct).to_pylist() == expected
    wrong = pa.table({"x": pa.chunked_array([[1.0], [float("nan")]])})
    assert "row 2, column 'x'" in refusal(wrong)


@pytest.mark.parametrize("messages", [[{"x": 1}], {"x": [1]}, None, "x", pa.array([1]), pa.chunked_array([[1]])])
def test_input_that_is_not_columns_is_refused_with_a_remedy(messages):
    with pytest.raises(InputError, match="pass a pyarrow RecordBatch or Table"):
        TABLE.match_arrow(messages)
