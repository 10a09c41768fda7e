"""Arrow record batches as messages: they are refused for the same values as dicts."""

from decimal import Decimal

import pyarrow as pa
import pytest

from cbnet import InputError, Message, Table
from cbnet.matching.storage.arrow_messages import encode_batch, messages_of_rows

TABLE = Table.build({"a": "x = 1", "s": 'name = "n"', "t": "#sale"})


def match(**columns):
    return TABLE.match_frame(pa.RecordBatch.from_pydict(columns)).to_pylist()


def refusal(messages, table=TABLE):
    with pytest.raises(InputError) as error:
        table.match_frame(messages)
    return error.value.problem


BAD_COLUMNS = [
    (pa.array([0.5, None, float("nan")]), "NaN and infinity are not values"),
    (pa.array([0.5, None, float("inf")], pa.float32()), "NaN and infinity are not values"),
    (pa.array([0.5, None, -float("inf")], pa.float16()), "NaN and infinity are not values"),
    (pa.array([2**63 - 1, None, 2**63], pa.uint64()), "the integer does not fit in 64 bits"),
    (pa.DictionaryArray.from_arrays([0, None, 1], [1.0, float("nan")]), "NaN and infinity are not values"),
    (pa.array([b"ok", None, b"\xff"]).view(pa.string()), "the string is not UTF-8"),
    (pa.array([0, None, 253_402_300_800]).cast(pa.timestamp("s")), "the time is not in the years 1 to 9999"),
    (pa.array([None, None, b"bytes"]), "binary is not a valid type for values"),
    (pa.array([None, None, 5], pa.duration("s")), "duration[s] is not a valid type for values"),
    (pa.array([None, None, 5], pa.time32("s")), "time32[s] is not a valid type for values"),
]


@pytest.mark.parametrize(("column", "problem"), BAD_COLUMNS)
def test_what_is_not_a_value_is_refused_in_a_column_that_a_filter_uses(column, problem):
    assert refusal(pa.RecordBatch.from_pydict({"x": column})).startswith(f"row 3, column 'x': {problem}")
    assert len(match(x=column[:2])) == 2


@pytest.mark.parametrize("column", [column for column, _ in BAD_COLUMNS])
def test_a_column_that_no_filter_uses_never_refuses_a_row(column):
    assert match(other=column, x=[1, 2, 1]) == [["a"], [], ["a"]]


def test_errors_can_be_collected_by_row():
    batch = pa.RecordBatch.from_pydict({"x": [1.0, float("nan"), 2.0, float("inf")], "name": ["n", "n", "n", "n"]})
    rejected = {}
    encode_batch(batch, TABLE._compiled.symbols, 10, rejected)
    assert [*rejected] == [1, 3]
    assert rejected[3].problem == "row 14, column 'x': NaN and infinity are not values"


def test_a_null_is_an_absent_attribute():
    assert match(x=[None, 1], other=pa.nulls(2), y=pa.array([None, None], pa.float64())) == [[], ["a"]]


def broken_texts(*texts):
    return pa.array(texts, pa.binary()).view(pa.string())


def test_a_tag_that_is_not_utf8_is_refused():
    tags = pa.ListArray.from_arrays([0, 2, 2, 4], broken_texts(b"sale", None, b"x", b"\xff"))
    rows = pa.RecordBatch.from_pydict({"#": tags})
    assert refusal(rows) == "row 3, column '#': the string is not UTF-8"
    assert refusal(rows.slice(1)) == "row 2, column '#': the string is not UTF-8"
    assert TABLE.match_frame(rows.slice(0, 2)).to_pylist() == [["t"], []]


def test_a_key_of_a_map_that_is_not_utf8_is_no_attribute():
    keys = broken_texts(b"a", b"\xff", b"\xff")
    rows = pa.RecordBatch.from_pydict({"m": pa.MapArray.from_arrays([0, 2, 3], keys, pa.array([1, 1, 1]))})
    assert Table.build({"m": "m.a = 1"}).match_frame(rows).to_pylist() == [["m"], []]


def test_a_null_in_a_list_of_tags_is_no_tag_and_a_null_list_has_no_tags():
    assert match(**{"#": pa.array([["sale", None], None, [], ["x", None]])}) == [["t"], [], [], []]


@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array(["sale"]), pa.array([1]), pa.array([[["sale"]]])])
def test_tags_are_lists_of_strings(column):
    assert "is not a list of strings" in refusal(pa.RecordBatch.from_pydict({"#": column}))
    without_tags = Table.build({"a": "x = 1"})
    assert without_tags.match_frame(pa.RecordBatch.from_pydict({"#": column})).to_pylist() == [[]]


def test_an_attribute_may_have_a_column_per_type():
    ints, strings = pa.array([None, 1], pa.int64()), pa.array(["s", None], pa.string())
    assert TABLE.match_frame(pa.RecordBatch.from_arrays([ints, strings], ["x", "x"])).to_pylist() == [[], ["a"]]


def test_tags_of_several_columns_are_united():
    columns = [pa.array([["red"], ["sale"], None]), pa.array([["sale"], None, ["red"]])]
    batch = pa.RecordBatch.from_arrays(columns, ["#", "#"])
    assert TABLE.match_frame(batch).to_pylist() == [["t"], ["t"], []]


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_type_of_strings_is_read(type):
    assert match(name=pa.array(["n", None, "m"], type)) == [["s"], [], []]
    encoded = pa.array(["n", None, "m"], type).dictionary_encode()
    assert match(name=encoded, other=encoded) == [["s"], [], []]
    assert match(**{"#": pa.array([["sale"], []], pa.list_(type))}) == [["t"], []]


@pytest.mark.parametrize("messages", [[{"x": 1}], {"x": [1]}, None, "x", pa.array([1]), pa.chunked_array([[1]])])
def test_input_that_is_not_columns_is_refused_with_a_remedy(messages):
    with pytest.raises(InputError, match="pass a pyarrow Table or RecordBatch"):
        TABLE.match_frame(messages)


def test_rows_of_values_that_are_not_valid_are_no_messages():
    days = pa.array([0, 3_000_000, 2_932_896, 1], pa.int32()).cast(pa.date32())  # the second is after the year 9999
    prices = pa.array([Decimal("1.0"), Decimal("0.5"), Decimal("0.5"), None])
    floats = pa.array([None, None, float("inf"), 0.5])
    found = messages_of_rows(pa.RecordBatch.from_arrays([days, prices, floats], ["d", "p", "f"]))
    assert found == [
        Message({"d": "1970-01-01T00:00:00.000000000Z", "p": 1}),
        None,
        None,
        Message({"d": "1970-01-02T00:00:00.000000000Z", "f": 0.5}),
    ]
