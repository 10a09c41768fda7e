"""Messages with too many combinations of values on Spark: rejected with that reason and counted, never "no match"."""

import json

import pytest
from pyspark.errors import PySparkException

from cbnet import Table
from cbnet.pipeline.match.match_job import MatchJob, run_match
from cbnet.spark import MatchStream, StreamJob, match, register

RULES = {"none": "a + b = -1", "plain": "x = 1"}  # of 160,000 combinations of row 2, none satisfies the first rule
NUMBERS = list(range(400))
ROWS = [{"id": 1, "x": 1, "a": [0], "b": [-1]}, {"id": 2, "x": 1, "a": NUMBERS, "b": NUMBERS}, {"id": 3, "x": 1}]
DECIDED = {(1, "none"), (1, "plain"), (3, "plain")}
REASON = "undecided for rule 'none': the message has more than 100,000 combinations of values to examine"


@pytest.fixture(scope="module")
def table():
    return Table.build(RULES)


@pytest.fixture(scope="module")
def rows(spark):
    data = [(row["id"], row["x"], row.get("a"), row.get("b")) for row in ROWS]
    return spark.createDataFrame(data, "id int, x int, a array<int>, b array<int>").repartition(1)


def test_data_frames_reject_undecided_rows(rows, table):
    found = [tuple(row) for row in match(rows, table, key="id", on_error="column").collect()]
    assert {*found} == {(*pair, None) for pair in DECIDED} | {(2, None, REASON)}
    assert {tuple(row) for row in match(rows, table, key="id", on_error="drop").collect()} == DECIDED
    with pytest.raises(PySparkException, match="undecided for rule 'none'"):
        match(rows, table, key="id").collect()


def test_functions_of_sql_reject_undecided_rows(spark, rows, table):
    rows.createOrReplaceTempView("undecided_rows")
    register(spark, "rules_or_null", table, key="id int", on_error="drop")
    lists = spark.sql("select id, rules_or_null(struct(*)) from undecided_rows").collect()
    assert {*map(repr, map(tuple, lists))} == {"(1, ['none', 'plain'])", "(2, None)", "(3, ['plain'])"}
    register(spark, "rules_or_error", table, key="id int", on_error="column")
    found = spark.sql("select * from rules_or_error(TABLE(undecided_rows))").collect()
    assert {tuple(row) for row in found} == {(*pair, None) for pair in DECIDED} | {(2, None, REASON)}
    register(spark, "rules_or_fail", table)
    with pytest.raises(PySparkException, match="undecided for rule 'none'"):
        spark.sql("select rules_or_fail(struct(*)) from undecided_rows").collect()


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_jobs_and_streams_count_and_store_undecided_messages(spark, rows, table, tmp_path, format):
    table.save(tmp_path / "table.cbt")
    (tmp_path / "in").mkdir()
    if format == "json":
        (tmp_path / "in" / "0.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        rows.toPandas().to_parquet(tmp_path / "in" / "0.parquet")
    members = {"format": format, "tables": [str(tmp_path / "table.cbt")], "key": ["id"], "buckets": 0}
    job = MatchJob(messages=[str(tmp_path / "in")], **members)
    stream = StreamJob(messages=str(tmp_path / "in"), **members)
    for out, summary in (
        ("job", run_match(spark, job, str(tmp_path / "job"))),
        ("stream", MatchStream(spark, stream, str(tmp_path / "stream")).run(once=True)),
    ):
        assert (summary.records, summary.matches, dict(summary.rejected)) == (3, 3, {REASON: 1})
        matches = spark.read.parquet(f"{tmp_path}/{out}/matches").select("id", "rule").collect()
        assert {tuple(row) for row in matches} == DECIDED
        [letter] = spark.read.parquet(f"{tmp_path}/{out}/rejected").select("id", "_error").collect()
        assert tuple(letter) == (2, REASON)
