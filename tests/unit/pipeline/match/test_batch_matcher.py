"""Matching of Arrow batches with several tables, in slices; the oracle is a list of multiples."""

import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cbnet import Table
from cbnet.errors import InputError
from cbnet.matching.files.file_matching import FileMatcher, RuleNames
from cbnet.pipeline.ingest.line_reader import Block
from cbnet.pipeline.match import batch_matcher
from cbnet.pipeline.match.batch_matcher import MatchPlan, match_batches, match_lists
from cbnet.pipeline.match.shipped_tables import ShippedTable

ROWS = 500
INTERFACES = {f"i{number}": number for number in range(40)}  # matches all x of at least this number
RESULT = pa.schema([("rule", pa.string())])


@pytest.fixture
def plan(tmp_path):
    """Two tables, which have the rules i10 to i29 in common."""
    tables = []
    for part, own in enumerate((range(30), range(10, 40))):
        path = tmp_path / f"{part}.cbt"
        Table.build({f"i{number}": f"x >= {number}" for number in own}).save(path)
        tables.append(ShippedTable(str(part), str(path), is_shipped=False, with_filters=False, size=0))
    return MatchPlan(tuple(tables), ("x",), ("x",), RESULT, is_overlapping=True, on_error="fail")


@pytest.fixture
def batch():
    xs = pa.array([row % 50 for row in range(ROWS)])
    return pa.RecordBatch.from_arrays([xs, xs], ["x", "x"])


def expected(row):
    return sorted(name for name, least in INTERFACES.items() if row % 50 >= least)


def test_matches_of_overlapping_tables_come_once_and_in_small_parts(plan, batch, monkeypatch):
    monkeypatch.setattr(batch_matcher, "_FIRST_ROWS", 20)
    monkeypatch.setattr(batch_matcher, "_MATCHES_PER_SLICE", 400)
    parts = [*match_batches([batch], plan)]
    found = [(x, name) for part in parts for x, name in zip(*(part.column(n).to_pylist() for n in (0, 1)), strict=True)]
    assert sorted(found) == sorted((row % 50, name) for row in range(ROWS) for name in expected(row))
    assert max(part.num_rows for part in parts) < 2_000  # of 14,600


def test_lists_of_overlapping_tables_have_every_rule_once(plan, batch, monkeypatch):
    monkeypatch.setattr(batch_matcher, "_FIRST_ROWS", 20)
    monkeypatch.setattr(batch_matcher, "_MATCHES_PER_SLICE", 400)
    messages = batch.select([1])
    lists = match_lists(messages, MatchPlan(plan.tables, (), ("x",), RESULT, is_overlapping=True, on_error="fail"))
    assert [sorted(each) for each in lists.to_pylist()] == [*map(expected, range(ROWS))]


def test_lists_that_no_column_holds_are_an_error(plan, batch, monkeypatch):
    monkeypatch.setattr(batch_matcher, "_MAX_BYTES", 10_000)
    lists_plan = MatchPlan(plan.tables, (), ("x",), RESULT, is_overlapping=True, on_error="fail")
    with pytest.raises(InputError, match="more than an Arrow column holds"):
        match_lists(batch.select([1]), lists_plan)


LINES = [
    b'{"temp": 21}', b'{"temp": "err"}\r', b'{"temp": [1, "err", 50.5]}', b"  ", b'{"temp": 50,', b'{"temp": NaN}',
    b'{"temp": 1, "temp": 2}', b'{"temp": 9007199254740993}', b'{"temp": true}', b'{"temp": null}', b"\xff", b"[1]",
    b'{"temp": 1e400}', b'{"temp": {"a.b": 3}}', b'{"temp.a": {"b": 3}}', b"{}", b'{"other": 1e400}', b'{"#": ["hot"]}', b'{"temp": [{"a": {"b": 3}}]}',
]  # fmt: skip
PREDICATES = {
    "number": "temp >= 0", "text": "temp ^= \"e\"", "exact": "temp = 9007199254740993", "nested": "temp.a.b = 3",
    "null": "temp = null", "absent": "not exists temp", "hot": "#hot",
}  # fmt: skip


def test_lines_match_as_those_of_a_file_whatever_their_types(tmp_path):
    table = Table.build(PREDICATES)
    table.save(tmp_path / "t.cbt")
    shipped = ShippedTable("t", str(tmp_path / "t.cbt"), is_shipped=False, with_filters=False, size=0)
    result = pa.schema([("rule", pa.string()), ("_error", pa.string()), ("_place", pa.string())])
    # Two blocks of a file: the second begins with the line 8.
    starts = [0] * 7 + [400] * (len(LINES) - 7)
    plan = MatchPlan(
        (shipped,), ("row",), (), result, is_overlapping=False, on_error="column", has_lines=True,
        first={Block("file:/a%20b", 0): 0, Block("file:/a%20b", 400): 7},
    )  # fmt: skip
    rows = pa.table(
        {"row": [*range(1, len(LINES) + 1)], "line": LINES, "file": ["file:/a%20b"] * len(LINES), "start": starts}
    )
    batches = rows.to_batches(max_chunksize=4)
    found = [row for part in match_batches(batches, plan) for row in part.to_pylist()]
    matches = {(row["row"], row["rule"]) for row in found if row["rule"] is not None}
    rejected = {row["_place"]: row["_error"] for row in found if row["rule"] is None}

    read = io.BytesIO(b"\n".join(LINES) + b"\n").read
    expected, errors = set(), {}
    for part in FileMatcher(table._compiled).match_lines(read, "/a b"):
        names = RuleNames(table._compiled).array.take(pa.array(part.targets)).to_pylist()
        owners = np.repeat(part.numbers, np.diff(part.offsets)).tolist()
        expected |= {*zip(owners, names, strict=True)}
        errors |= {error.location: error.problem for error in part.errors.values()}
    assert matches == expected
    assert {(1, "number"), (2, "text"), (3, "number"), (3, "text"), (8, "exact"), (14, "nested")} <= matches
    assert rejected == errors
    assert len(errors) == 7
    only_rejected = replace(plan, result=pa.schema([result.field("_error"), result.field("_place")]))
    letters = [row for part in match_batches(batches, only_rejected) for row in part.to_pylist()]
    assert {row["_place"]: row["_error"] for row in letters} == errors


@pytest.mark.parametrize(
    ("attributes", "rules"),
    [((), ["nested", "number", "hot"]), (("temp", "#"), ["number", "hot"]), (("a.b",), ["nested"])],
)
def test_only_the_chosen_attributes_of_lines_count(tmp_path, attributes, rules):
    Table.build({"nested": "a.b.c = 1", "number": "temp = 2", "hot": "#hot"}).save(tmp_path / "t.cbt")
    shipped = ShippedTable("t", str(tmp_path / "t.cbt"), is_shipped=False, with_filters=False, size=0)
    plan = MatchPlan((shipped,), (), attributes, RESULT, is_overlapping=False, on_error="fail", has_lines=True)
    line = pa.table({"line": [b'{"a": {"b": {"c": 1}}, "temp": 2, "#": ["hot"]}']}).to_batches()
    assert [name for part in match_batches(line, plan) for name in part.column("rule").to_pylist()] == rules


def test_error_of_a_line_shows_its_text(plan):
    lines = pa.table({"line": [b'{"x": 1}', b'{"x": "\xff"}', None]}).to_batches()
    with pytest.raises(InputError, match=r"the line '{\"x\": \"�\"}' is not a valid message: not UTF-8"):
        [*match_batches(lines, replace(plan, keys=(), attributes=(), has_lines=True))]
