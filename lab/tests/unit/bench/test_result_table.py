from dataclasses import dataclass, field

import pytest

from cbnet_lab.bench.result_table import FLAT, HIDDEN, ResultTable, cell, flat, members, shown, shown_columns


@dataclass
class Speed:
    per_s: float


@dataclass
class Row:
    name: str = shown("row")
    count: int = shown("messages")
    speed: Speed = field(metadata=FLAT)
    best: Speed = field(metadata=flat("best_"))
    note: str = field(default="", metadata=HIDDEN)


ROW = Row("a", 12_345, Speed(1 / 3), Speed(0.5), "not shown")


def test_fields_are_json_members_floats_have_six_digits_and_parts_are_flat():
    assert members(ROW) == {"name": "a", "count": 12_345, "per_s": 0.333333, "best_per_s": 0.5}


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


def test_columns_are_attributes_functions_or_attributes_of_parts():
    columns = {"row": "name", "twice": lambda row: 2 * row.count, "rate": "per_s", "best": "best_per_s"}
    assert list(ResultTable("", [ROW], columns).lines()) == [["a", "24,690", "0.333", "0.5"]]
    listed = ResultTable("", [ROW], columns, is_list=True)
    assert list(listed.lines()) == [["row", "a"], ["twice", "24,690"], ["rate", "0.333"], ["best", "0.5"]]


def test_fields_with_a_head_are_columns():
    assert shown_columns(Row) == {"row": "name", "messages": "count"}
