"""A session of the user: its settings stay as they are, and change no row."""

import pytest
from support.pipeline_runs import rows_of

from cbnet import Table
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.runner import run
from cbnet.spark import match

UNUSUAL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.shuffle.partitions": "5",
}
CONFIG = """
[network]
graph = "ring:6"
[population]
clusters = 40
[sources.tweets]
preset = "tweets"
path = "tweets.tsv"
[sources.follows]
preset = "followers"
path = "follows.txt"
[applications.web]
descriptors = 2
users = 50
[applications.social]
read = "tweets"
followers = "follows"
"""


@pytest.fixture
def borrowed(spark):
    """A session with its own settings, in the process of the shared one."""
    session = spark.newSession()
    for key, value in UNUSUAL.items():
        session.conf.set(key, value)
    yield session
    spark.createDataFrame([(1,)], "n int")  # the shared one is the active one again
    assert {key: session.conf.get(key) for key in UNUSUAL} == UNUSUAL


def test_a_pipeline_gives_the_same_rows_with_any_settings(spark, borrowed, tmp_path):
    (tmp_path / "tweets.tsv").write_text("user\tlink\thashtags\nann\tl1\t#news #now\nbob\tl1\t#late\nbob\tl2\t\n")
    (tmp_path / "follows.txt").write_text("eve ann\nfay ann\nfay bob\n")
    (tmp_path / "run.toml").write_text(CONFIG)
    usual, unusual = (read_config(tmp_path / "run.toml", out=str(tmp_path / name)) for name in ("usual", "unusual"))
    expected = [*run(usual, lambda: spark)]
    found = [*run(unusual, lambda: borrowed)]
    for one, other in zip(expected, found, strict=True):
        assert rows_of(spark, unusual.out, one.name) == rows_of(spark, usual.out, one.name), one.name
        assert {**other.result.facts, "aside": None} == {**one.result.facts, "aside": None}


def test_matching_gives_the_same_rows_with_any_settings(spark, borrowed):
    columns = ["1 as id", "timestamp'2024-05-01 10:00:00Z' as t", "date'2024-05-01' as d", "1.50BD as n", "'x' as s"]
    rules = {"t": 't = "2024-05-01T10:00:00.000000000Z"', "d": "exists d", "n": "n = 1.5", "s": 's = "x"'}
    frames = [session.sql(f"select {', '.join(columns)}") for session in (spark, borrowed)]
    usual, unusual = (
        sorted(row.rule for row in match(frame, Table.build(rules), key="id").collect()) for frame in frames
    )
    assert usual == unusual == ["d", "n", "s", "t"]
