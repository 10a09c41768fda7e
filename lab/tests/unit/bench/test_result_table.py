from dataclasses import dataclass, field

import pytest

from cbnet_lab.bench.result_table import FLAT, HIDDEN, ResultTable, cell, members, part


@dataclass
class Speed:
    per_s: float


@dataclass
class Row:
    name: str
    count: int
    speed: Speed = field(metadata=FLAT)
    note: str = field(default="", metadata=HIDDEN)


ROW = Row("a", 12_345, Speed(1 / 3), "not shown")


def test_fields_are_json_members_floats_have_six_digits_and_parts_are_flat():
    assert members(ROW) == {"name": "a", "count": 12_345, "per_s": 0.333333}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "NO"),
        (12_345, "12,345"),
        (0.12345, "0.123"),
        (12_345.6, "12,346"),
        ("x", "x"),
    ],
)
def test_cells(value, text):
    assert cell(value) == text


def test_columns_are_attributes_functions_or_those_of_a_part():
    columns = {"row": "name", "twice": lambda row: 2 * row.count, **part("speed", {"rate": "per_s"})}
    assert list(ResultTable("", [ROW], columns).lines()) == [["a", "24,690", "0.333"]]
    listed = ResultTable("", [ROW], columns, is_list=True)
    assert list(listed.lines()) == [["row", "a"], ["twice", "24,690"], ["rate", "0.333"]]
