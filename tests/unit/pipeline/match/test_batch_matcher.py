"""Matching of Arrow batches with several tables, in slices; the oracle is a list of multiples."""

import pyarrow as pa
import pytest

from cbnet import Table
from cbnet.errors import InputError
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
