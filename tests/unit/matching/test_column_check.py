"""What rules test of columns that no row can pass: each finding is compared with the matches of rows of all kinds."""

import warnings
from datetime import date, datetime
from decimal import Decimal

import pandas as pd
import polars
import pyarrow as pa
import pytest

from cbnet import ColumnWarning, InputError, Table
from cbnet.matching import column_check
from cbnet.matching.column_check import check_columns
from cbnet.matching.engines.registry import TAG_ENGINES
from cbnet.matching.storage.attribute_columns import attribute_columns

MOMENT = datetime(2026, 11, 15)
# For each type, values among which each test of the type finds one that passes. All attributes are called x.
COLUMNS = {
    "ints": pa.array([1, 7, None]),
    "floats": pa.array([1.0, 7.5, None]),
    "decimals": pa.array([Decimal("1.0"), Decimal("7.0"), None]),
    "strings": pa.array(["a", "1", "true", None]),
    "dictionary": pa.array(["a", "1", "true", None]).dictionary_encode(),
    "bools": pa.array([True, False, None]),
    "times": pa.array([MOMENT, None]),
    "dates": pa.array([date(2026, 11, 15), None]),
    "nulls": pa.nulls(1),
    "lists": pa.array([[1, 7], [], None]),
    "structs": pa.array([{"y": 1}, {"y": 7}, None]),
    "lists of structs": pa.array([[{"y": "a"}, {"y": "1"}, {"y": "true"}], [], None]),
    "maps": pa.array([[("y", True)], [("y", False)], [("z", True)]], pa.map_(pa.string(), pa.bool_())),
}
TESTS = [
    "exists {x}", "absent {x}", "{x} = null", "{x} != null", "{x} = 1", "{x} > 0", "{x} != 5", "{x} in (1, true)",
    "{x} = true", "{x} != true", '{x} in ("a", "2026-11-15T00:00:00.000000000Z")', '{x} in (1, "a", "2026-11-15T00:00:00.000000000Z")', '{x} ^= ""',
    '{x} $= ""', '{x} *= ""', '{x} < "b"', "{x} + 1 > 0", "abs({x}) < 9", 'lower({x}) != "q"', "length({x}) >= 0",
    'string({x}) != "q"', "bool({x}) = true", "int({x}) >= 0", "{x} not in (8, 9)", "({x} = 5) is not true",
    "({x} = 5) is not false", 'not ({x} ^= "q")', '{x} not like "q%"', "{x} = n", "{x} < s or {x} > s", "{x} != t",
    "{x} + n = 2", "({x} + n = 0) is not true", "{x} = null or {x} + 1 = null", "string({x}) = null",
    '{x} =~ "^[^q]"', "time({x}) > 0",
]  # fmt: skip


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_test_is_found_exactly_where_no_row_passes(kind):
    column = COLUMNS[kind]
    name = "x.y" if kind in ("structs", "maps", "lists of structs") else "x"
    rows = len(column)
    frame = pa.table(
        {"x": column, "n": [1] * rows, "s": ["a"] * (rows - 1) + ["b"], "t": [True] * (rows - 1) + [False]}
    )
    table = Table.build({text: text.format(x=name) for text in TESTS})
    passed = {text for row in table.match_frame(frame).to_pylist() for text in row}
    report = check_columns([table._compiled], attribute_columns(frame.schema))
    found = {text for finding in report.findings for text in finding.rules}
    if kind in ("times", "dates"):  # strings, which could be numbers and bools
        passed |= {"bool({x}) = true", "int({x}) >= 0"}
    if kind in ("strings", "dictionary", "lists of structs"):  # which could be times
        passed |= {"time({x}) > 0"}
    assert found == {*TESTS} - passed


def report(rules, frame, **more):
    return check_columns([Table.build(rules)._compiled], attribute_columns(frame.schema), **more)


def lines(rules, frame, **more):
    return (report(rules, frame, **more).warning or "").split("\n  ")[1:]


ORDERS = pa.table({"price": [1.5], "dest": ["MXP"], "detail": [{"state": "on"}], "unit_cost": [1]})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("prise > 5", "rule a: no column 'prise'; did you mean 'price'?"),
        ("Price > 5", "rule a: no column 'Price'; did you mean 'price'?"),
        ("unitCost > 5", "rule a: no column 'unitCost'; did you mean 'unit_cost'?"),
        ("exists detail", "rule a: no column 'detail'; did you mean 'detail.state'?"),
        ('kind = "order"', "rule a: no column 'kind'"),
        ("whole + 1 > price", "rule a: no column 'whole'"),
        ("price > 5 and #sale", "rule a: no column '#', which holds the tags"),
        ('price ^= "5" or price = "5"', 'rule a: price = "5": the column \'price\' holds numbers'),
        ("dest in (1, 2)", "rule a: dest in (1, 2): the column 'dest' holds strings"),
        ("dest + 1 > price", "rule a: dest + 1 > price: the column 'dest' holds strings; the column 'price' holds numbers"),
        ("dest = null", "rule a: dest = null: a null cell is an absent attribute; write absent dest"),
        ("absent dest", "rule a: absent dest: the column 'dest' has no nulls"),
    ],
)  # fmt: skip
def test_a_finding_names_rule_problem_and_remedy(text, line):
    assert lines(
        {"a": text, "b": "price > 1 and absent unit_cost or true"}, ORDERS, has_nulls=lambda name: name != "dest"
    ) == [line]


def test_attributes_of_every_message_need_no_column():
    assert report({"a": "not (price = 3)", "b": "(price * 2 = 3) is not true", "c": "true"}, ORDERS).warning is None


def test_findings_are_grouped_and_capped_and_probable_mistakes_come_first():
    rules = {f"r{n}": f"other{n} = 1 and none = 2" for n in range(20)}
    rules |= {"typo": "prise > 1", "two": "prise > 2", "type": "dest > 1", "fits": "price > 1"}
    found = report(rules, ORDERS)
    first, *shown, last = found.warning.split("\n  ")
    assert first == "23 of 24 rules do not fit the columns:"
    assert shown[:3] == [
        "rules two, typo: no column 'prise'; did you mean 'price'?",
        "rule type: dest > 1: the column 'dest' holds strings",
        "rules r0, r1, r10 and 17 more: no column 'none'",
    ]
    assert len(shown) == 10
    assert last == "and 13 more tests"  # 23 findings: 20 names, `none`, a typo and a type


def test_the_parts_of_a_table_are_checked_together():
    parts = [Table.build({name: "prise > 1"})._compiled for name in ("one", "two")]
    [finding] = check_columns(parts, attribute_columns(ORDERS.schema)).findings
    assert finding.rules == {"one", "two"}


@pytest.mark.parametrize("engine", ["tags", "bloom", "counting"])
def test_tables_of_every_engine_are_checked(engine):
    table = Table.build({"a": "#x and #y", "b": "#z"}, engine=engine)
    [finding] = check_columns([table._compiled], attribute_columns(ORDERS.schema)).findings
    assert (finding.problem, finding.rules) == ("no column '#', which holds the tags", {"a", "b"})


@pytest.mark.parametrize("export", [lambda frame: frame, pa.Table.to_pandas, polars.from_arrow, pa.Table.to_reader])
def test_a_data_frame_is_warned_of_once_and_strictly_refused(export):
    table = Table.build({"a": "prise > 5", "b": "price > 1"})
    with pytest.warns(
        ColumnWarning, match="1 of 2 rules does not fit the columns:\n  rule a: no column 'prise'"
    ) as caught:
        assert table.match_frame(export(ORDERS.select(["price"]))).to_pylist() == [["b"]]
    assert caught[0].filename == __file__
    with warnings.catch_warnings(action="error"):
        table.match_frame(export(ORDERS.select(["price"])))
    with pytest.raises(InputError, match="rule a: no column 'prise'; did you mean 'price'"):
        table.match_frame(export(ORDERS.select(["price"])), strict=True)
    assert Table.build({"b": "price > 1"}).match_frame(export(ORDERS), strict=True).to_pylist() == [["b"]]


def test_nulls_of_frames_in_memory_are_counted():
    table = Table.build({"a": "absent price"})
    for frame in (ORDERS, pd.DataFrame({"price": [1.5]}), polars.DataFrame({"price": [1.5]})):
        with pytest.raises(InputError, match="absent price: the column 'price' has no nulls"):
            table.match_frame(frame, strict=True)
    for column in ([None, 1.5], []):
        table.match_frame(pa.table({"price": pa.array(column, pa.float64())}), strict=True)
    batches = pa.RecordBatchReader.from_batches(ORDERS.schema, ORDERS.to_batches() * 3)
    table.match_frame(batches, strict=True)  # later batches may have some
    required = pa.schema([pa.field("price", pa.float64(), nullable=False)])
    with pytest.raises(InputError, match="has no nulls"):
        table.match_frame(pa.table({"price": [1.5]}, required), strict=True)


def test_a_large_table_is_compared_only_if_mistakes_are_errors(monkeypatch):
    monkeypatch.setattr(column_check, "_MAX_CONSTRAINTS", 1)
    compiled = Table.build({"one": "prise < 5", "two": "prise < 6"})._compiled
    columns = attribute_columns(ORDERS.schema)
    assert not check_columns([compiled], columns).findings
    assert check_columns([compiled], columns, strict=True).findings


@pytest.mark.parametrize("engine", TAG_ENGINES)
def test_tables_of_tags_need_a_column_of_tags(engine):
    compiled = Table.build({"red": "#red", "blue": "#blue"}, engine=engine)._compiled
    [finding] = check_columns([compiled], attribute_columns(ORDERS.schema)).findings
    assert (finding.problem, finding.rules) == ("no column '#', which holds the tags", {"red", "blue"})
    with_tags = pa.schema([("#", pa.list_(pa.string()))])
    assert not check_columns([compiled], attribute_columns(with_tags)).findings
