"""Matching where data people work: the namespaces of Polars and pandas, and the function of DuckDB."""

import duckdb
import pandas as pd
import polars as pl
import pytest

import cbnet.duckdb
import cbnet.pandas
import cbnet.polars
from cbnet import InputError, Rule, Table

TABLE = Table.build(
    {"cheap": "price < 5", "rome": 'venue.city = "Rome"', "all": "true"}, rules=[Rule("all", priority=1)]
)
ROWS = {"price": [4.5, 9.0, None], "venue": [{"city": "Rome"}, None, {"city": "Rome"}]}
EXPECTED = [["all", "cheap", "rome"], ["all"], ["all", "rome"]]


@pytest.fixture(params=["table", "compiled", "rules"])
def table(request, tmp_path):
    """The table, or one of the files that stand for it."""
    if request.param == "table":
        return TABLE
    TABLE.save(tmp_path / "t.cbt")
    (tmp_path / "t.toml").write_text(
        "[rules]\ncheap = 'price < 5'\nrome = 'venue.city = \"Rome\"'\n[rules.all]\nwhen = 'true'\npriority = 1\n"
    )
    return str(tmp_path / "t.cbt") if request.param == "compiled" else tmp_path / "t.toml"


def test_frames_of_polars_have_a_column_of_rules(table):
    found = pl.DataFrame(ROWS).cbnet.match(table)
    assert found.columns == ["price", "venue", "rules"]
    assert found["rules"].to_list() == EXPECTED
    assert pl.DataFrame(ROWS).cbnet.match(table, column="r", threads=2)["r"].to_list() == EXPECTED


def test_lazy_frames_of_polars_are_matched_when_they_are_collected(table, tmp_path):
    pl.DataFrame(ROWS).write_parquet(tmp_path / "in.parquet")
    lazy = pl.scan_parquet(tmp_path / "in.parquet").cbnet.match(table)
    assert lazy.collect_schema()["rules"] == pl.List(pl.String)
    assert lazy.collect()["rules"].to_list() == EXPECTED
    assert lazy.select("rules").collect(engine="streaming")["rules"].to_list() == EXPECTED
    chosen = lazy.filter(pl.col("rules").list.contains("rome"), pl.col("price") < 5).select("price").head(5)
    assert chosen.collect().rows() == [(4.5,)]


def test_names_that_are_ints_stay_ints():
    numbers = Table.build({7: "price > 5", 8: "true"})
    lazy = pl.LazyFrame(ROWS).cbnet.match(numbers)
    assert lazy.collect_schema()["rules"] == lazy.collect().schema["rules"] == pl.List(pl.Int64)
    with duckdb.connect() as connection:
        cbnet.duckdb.register(connection, "rules_of", numbers)
        assert connection.sql("SELECT rules_of({'price': 6})").fetchall() == [([7, 8],)]


def test_frames_of_pandas_keep_their_index(table):
    frame = pd.DataFrame(ROWS, index=[30, 10, 20])
    found = frame.cbnet.match(table)
    assert found["rules"].to_dict() == dict(zip([30, 10, 20], EXPECTED, strict=True))
    assert frame.columns.tolist() == ["price", "venue"]


@pytest.mark.parametrize("frame", [pl.DataFrame(ROWS), pd.DataFrame(ROWS)], ids=["Polars", "pandas"])
def test_a_column_is_not_replaced_and_errors_are_those_of_match_frame(frame):
    with pytest.raises(InputError, match="the frame has a column 'price' already"):
        frame.cbnet.match(TABLE, column="price")
    with pytest.raises(InputError, match="did you mean 'price'"):
        frame.cbnet.match(Table.build({"a": "prise = 1"}), strict=True)


def test_duckdb_has_a_function_of_structs(table):
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES (1, 4.5, {'city': 'Rome'}), (2, 9, NULL)) v(id, price, venue)"
        )
        cbnet.duckdb.register(connection, "rules_of", table)
        assert connection.sql("SELECT id, rules_of(t) FROM t ORDER BY id").fetchall() == [
            (1, EXPECTED[0]),
            (2, ["all"]),
        ]
        cheap = "SELECT id FROM t WHERE list_contains(rules_of({'price': price}), 'cheap')"
        assert connection.sql(cheap).fetchall() == [(1,)]
        assert connection.sql("SELECT rules_of(CASE id WHEN 1 THEN t END) FROM t ORDER BY id").fetchall() == [
            (["all", "cheap", "rome"],),
            (None,),
        ]
        cbnet.duckdb.register(connection, "rules_of", Table.build({"other": "id = 2"}))
        assert connection.sql("SELECT rules_of(t) FROM t ORDER BY id").fetchall() == [([],), (["other"],)]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("rules_of(1)", "a message is one struct"),
        ("rules_of({'price': 1}, 2)", "a message is one struct"),
        ("rules_of({'price': 'nan'::DOUBLE})", "row 1, column 'price': NaN and infinity are not values"),
    ],
)
def test_wrong_calls_of_the_function_of_duckdb_say_why(call, problem):
    with duckdb.connect() as connection:
        cbnet.duckdb.register(connection, "rules_of", TABLE)
        with pytest.raises(duckdb.Error, match=problem):
            connection.sql(f"SELECT {call}").fetchall()
