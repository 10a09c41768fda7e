"""The benchmark, on a few records: what is measured, and that the rivals find the same."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cbnet import Table
from cbnet.errors import InputError
from cbnet_lab.bench import spark_matching
from cbnet_lab.bench.plans import SparkPlan
from cbnet_lab.bench.spark_matching import compare, rivals, speed

QUOTES = "[class,'STOCK'],[symbol,'{symbol}'],[open,{open}],[volume,{volume}]\n"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    lines = [QUOTES.format(symbol=f"S{n % 30}'s"[:3], open=n % 97 + 0.25, volume=n * 7 % 1009) for n in range(400)]
    (folder / "quotes.txt").write_text("".join(lines))
    sizes = {"records": 2000, "filters": 1000, "rival_records": 1000, "rival_filters": (20,), "budget": 0.1}
    return SparkPlan(quotes=str(folder / "quotes.txt"), folder=str(folder / "kept"), **sizes)


def test_speed_is_measured_beside_no_spark(given, spark):
    bare, on_spark, bound = speed(given, ["local[2]"], lambda _: None)
    assert (bare.way, on_spark.way) == ("without Spark", "local[2]")
    assert on_spark.records == bare.records == 2000
    assert on_spark.matches == bare.matches > 0
    assert 0 < bound.checked <= on_spark.matches
    assert on_spark.java_s > 0
    assert on_spark.kernel_s > 0
    assert bound.two_processes > 0
    assert spark.range(1).count() == 1


@pytest.mark.usefixtures("spark")
def test_rivals_give_the_same_answers(given):
    ways = list(rivals(given, "local[2]", lambda _: None))
    assert [(one.method, one.filters) for one in ways] == [("cbnet", 20), ("join", 20), ("case", 20)]
    assert all(one.us_record > 0 for one in ways)


@pytest.mark.usefixtures("spark")
def test_a_rival_that_fails_does_not_end_the_others(given, monkeypatch):
    def failing(records, _):
        return records.selectExpr("id", "raise_error('too much') AS rule")

    monkeypatch.setattr(spark_matching, "_cases", failing)
    cbnet, join, case = rivals(given, "local[2]", lambda _: None)
    assert (cbnet.failure, join.failure) == ("", "")
    assert "too much" in case.failure
    assert case.us_record is None


def test_rivals_read_every_operator_and_quote_as_the_table_does(spark, tmp_path):
    records = pa.table(
        {"id": range(6), "s": ["a'b", "a\\b", "ab", None, "b", ""], "x": [1, 2, 3, 4, None, 6], "y": [0.5] * 6}
    )
    pq.write_table(records, tmp_path / "r.parquet")
    rows = [
        (0, "s", "=", "a'b", None, None), (1, "s", "=", "a\\b", None, None), (2, "s", "^=", "a", None, None),
        (2, "x", ">=", None, 2, None), (3, "x", "<=", None, 3, None), (3, "y", "<=", None, None, 0.5),
    ]  # fmt: skip
    names = ("rule", "name", "op", "string", "int", "float")
    types = (pa.int64(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.float64())
    columns = {name: pa.array([row[place] for row in rows], types[place]) for place, name in enumerate(names)}
    filters = pa.table({**columns, "filter": columns["rule"]})
    found = compare(spark, spark.read.parquet(str(tmp_path / "r.parquet")), filters, 0.1, lambda _: None)
    expected = sum(map(len, Table.from_arrow(filters).match_frame(records.drop_columns(["id"])).to_pylist()))
    assert {one.matches for one in found} == {expected}


def test_without_records_it_says_what_to_name(tmp_path):
    with pytest.raises(InputError, match="no records to match"):
        next(speed(SparkPlan(records=10, folder=str(tmp_path)), ["local[2]"], lambda _: None))
