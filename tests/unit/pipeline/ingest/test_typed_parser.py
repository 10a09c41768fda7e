import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.matching import Table
from cbnet.pipeline.ingest.fields import Layout
from cbnet.pipeline.ingest.readers import schema_of
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.ingest.typed_parser import NO_TYPE, NOT_PAIRS, TWICE, parse_pairs, parse_table
from cbnet.pipeline.schemas import arrow_schema

TYPES = {"s": "string", "i": "int", "f": "float", "b": "bool", "#": "tags"}


def table(*lines, types=TYPES, absent=("", "NA")):
    columns = {name: index for index, name in enumerate(types, 1)}
    section = {"path": "f", "format": "table", "separator": ",", "types": types, "columns": columns, "absent": absent}
    source = Source.of(section)
    parsed = parse_table(
        pa.array(lines, pa.string()), Layout(",", range(len(types))), arrow_schema(schema_of(source)), source
    )
    return parsed.rows.to_pylist(), parsed.lines.tolist(), parsed.rejected


def pairs(*lines, types):
    source = Source.of({"path": "f", "format": "quotes", "types": types})
    parsed = parse_pairs(pa.array(lines, pa.string()), arrow_schema(schema_of(source)), source)
    return parsed.rows.to_pylist(), parsed.lines.tolist(), parsed.rejected


def test_each_cell_has_its_type():
    rows, _, rejected = table("x, 7 ,-1.5,true,a b", "NA,+8,.5e1,FALSE,")
    assert rows == [
        {"s": "x", "i": 7, "f": -1.5, "b": True, "#": ["a", "b"]},
        {"s": None, "i": 8, "f": 5.0, "b": False, "#": []},
    ]
    assert rejected == {}


def test_absent_value_is_null_in_every_type():
    assert table("NA,NA,,NA,NA")[0] == [{"s": None, "i": None, "f": None, "b": None, "#": []}]


@pytest.mark.parametrize("text", ["x", "1.0", "1e3", "--1", "9" * 19, "0x1", "1 2", "٣"])
def test_text_that_is_not_an_int_is_rejected(text):
    assert table(f"s,{text},1,true,") == ([], [], {0: "i is not an int"})


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1e999", "9" * 400, ".", "1.2.3", "e5", "-"])
def test_text_that_is_not_a_finite_float_is_rejected(text):
    assert table(f"s,1,{text},true,") == ([], [], {0: "f is not a float"})


@pytest.mark.parametrize("text", ["yes", "1", "t", "tRuE"])
def test_text_that_is_neither_true_nor_false_is_rejected(text):
    assert table(f"s,1,1,{text},") == ([], [], {0: "b is not true or false"})


def test_wrong_cell_does_not_affect_other_lines():
    rows, lines, rejected = table("a,1,1,true,", "b,x,1,true,", "c,2,x,true,", "d,3,1,true,")
    assert ([row["s"] for row in rows], lines) == (["a", "d"], [0, 3])
    assert rejected == {1: "i is not an int", 2: "f is not a float"}


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_ints_of_18_digits_are_exact(number):
    assert table(str(number), types={"i": "int"})[0] == [{"i": number}]


@given(st.floats(-1e90, 1e90).filter(lambda x: x == 0 or abs(x) > 1e-90))
def test_floats_are_read_as_python_prints_them(number):
    found = table(repr(number), types={"f": "float"})[0][0]["f"]
    assert found == number
    assert math.copysign(1, found) == math.copysign(1, number)


QUOTE = {"class": "string", "symbol": "string", "open": "float", "volume": "int"}


def test_pairs_are_attributes_in_any_order():
    rows, lines, rejected = pairs(
        "[class,'STOCK'],[symbol,'A,B'],[open,9.25],[volume,59500]", " [volume, 7],[class,'x']", types=QUOTE
    )
    assert rows == [
        {"class": "STOCK", "symbol": "A,B", "open": 9.25, "volume": 59500},
        {"class": "x", "symbol": None, "open": None, "volume": 7},
    ]
    assert (lines, rejected) == ([0, 1], {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", NOT_PAIRS),
        ("[]", NOT_PAIRS),
        ("[", NOT_PAIRS),
        ("class,'x'", NOT_PAIRS),
        ("[class]", NOT_PAIRS),
        ("[class,]", NOT_PAIRS),
        ("[class,'x],[open,1]", NOT_PAIRS),
        ("[class,'x'][class,'y']", NOT_PAIRS),  # two lines that were glued together
        ("[class,'x'] [open,1]", NOT_PAIRS),
        ("[class,'x'],[colour,'red']", NO_TYPE),
        ("[class,'x'],[class,'y']", TWICE),
        ("[open,x]", "open is not a float"),
        ("[volume,1.5]", "volume is not an int"),
    ],
)
def test_malformed_lines_are_rejected_with_a_reason(line, reason):
    rows, lines, rejected = pairs("[class,'a']", line, "[class,'b']", types=QUOTE)
    assert ([row["class"] for row in rows], lines, rejected) == (["a", "b"], [0, 2], {1: reason})


def test_table_matches_the_parsed_columns():
    source = Source.of({"path": "f", "format": "quotes", "types": QUOTE})
    lines = pa.array(["[class,'STOCK'],[symbol,'AA'],[open,9.25],[volume,5]", "[symbol,'BB'],[open,20]"])
    parsed = parse_pairs(lines, arrow_schema(schema_of(source)), source)
    table = Table.build({"cheap": "open < 10", "some": "exists volume", "b": 'symbol ^= "B"'})
    assert table.match_frame(parsed.rows).to_pylist() == [["cheap", "some"], ["b"]]
