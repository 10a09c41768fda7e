import re
from collections import Counter

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.match.stored_matches import (
    bucket_of,
    bucketed,
    compact_batches,
    draft_batch,
    partitions,
    rule_counts,
)
from cbnet.pipeline.spark.results import Provenance, publish, read_result, write_manifest, write_result
from cbnet.spark import read_rule

BUCKETS = 4


@pytest.fixture(scope="module")
def matches():
    return [(number, f"rule-{number % 11}") for number in range(300)]


@pytest.fixture(scope="module")
def folder(spark, matches, tmp_path_factory):
    path = tmp_path_factory.mktemp("routed") / "matches"
    write(spark.createDataFrame(matches, "id int, rule string").repartition(5), path, BUCKETS)
    return path


def write(frame, path, buckets):
    """Write matches as a job does."""
    rows = bucketed(frame, buckets)
    provenance, out, name = Provenance("match/matches", {"buckets": buckets}), str(path.parent), path.name
    write_result(rows.sparkSession, rows, out, name, provenance, partition_by=partitions(rows))


def test_each_bucket_is_one_file_sorted_by_rule(spark, folder, matches):
    files = [*folder.rglob("*.parquet")]
    assert len(files) == len({bucket_of(rule, BUCKETS) for _, rule in matches})
    for file in files:
        found = [row.rule for row in spark.read.parquet(str(file)).collect()]
        assert found == sorted(found)
        assert {f"bucket={bucket_of(rule, BUCKETS)}" for rule in found} == {file.parent.name}


def test_several_tasks_write_a_frequent_rule(spark, tmp_path):
    name = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "100k")
    try:
        frame = spark.range(200_000, numPartitions=4).selectExpr("id", "if(id % 100 = 0, 'rare', 'often') rule")
        write(frame, tmp_path / "m", 8)
    finally:
        spark.conf.set(name, before)
    assert len([*tmp_path.rglob(f"bucket={bucket_of('often', 8)}/*.parquet")]) > 2


def test_no_match_is_lost_or_duplicated(spark, folder, matches):
    assert sorted((row.id, row.rule) for row in read_result(spark, str(folder)).frame(spark).collect()) == sorted(
        matches
    )


def test_matches_are_counted_by_rule(spark, folder, matches):
    rows = rule_counts(read_result(spark, str(folder)).frame(spark)).collect()
    assert {row.rule: row.matches for row in rows} == Counter(rule for _, rule in matches)


def test_one_rule_is_read_from_its_bucket_only(spark, folder):
    """The number of buckets is not the usual one, and is in the manifest."""
    own = read_rule(spark, str(folder.parent), "rule-3")
    assert sorted(row.id for row in own.collect()) == [*range(3, 300, 11)]
    plan = own._jdf.queryExecution().executedPlan().toString()
    assert re.search(rf"PartitionFilters: \[.*\(bucket#\d+ = {bucket_of('rule-3', BUCKETS)}\)", plan)
    assert read_rule(spark, str(folder.parent), "rule-99").count() == 0


@pytest.mark.parametrize("buckets", [3, 0])
def test_one_rule_is_read_from_batches(spark, matches, tmp_path, buckets):
    rows, out = spark.createDataFrame(matches, "id int, rule string"), str(tmp_path)
    write_manifest(spark, out, {"buckets": buckets})
    for batch in range(3):
        part = bucketed(rows.where(rows.id % 3 == batch), buckets)
        publish(spark, out, draft_batch(spark, part, out, batch, batch, buckets))
    for merged in (0, 3):
        assert compact_batches(spark, out, 3 if merged else 0) == merged
        own = read_rule(spark, out, "rule-3")
        assert sorted(row.id for row in own.collect()) == [*range(3, 300, 11)]


def test_folder_without_matches_is_an_error(spark, tmp_path):
    with pytest.raises(InputError, match="there are no complete matches"):
        read_rule(spark, str(tmp_path), "a")


def test_integer_rules_have_buckets(spark, tmp_path):
    write(spark.range(20).withColumnRenamed("id", "rule"), tmp_path / "matches", 3)
    rows = read_result(spark, str(tmp_path / "matches")).frame(spark).collect()
    assert {(row.rule, row.bucket) for row in rows} == {(number, bucket_of(number, 3)) for number in range(20)}
    assert [row.rule for row in read_rule(spark, str(tmp_path), 7).collect()] == [7]


def test_zero_buckets_give_one_folder_without_a_shuffle(spark, tmp_path):
    frame = spark.range(20, numPartitions=2).withColumnRenamed("id", "rule")
    write(frame, tmp_path / "matches", 0)
    assert len([*(tmp_path / "matches").rglob("*.parquet")]) == 2
    own = read_rule(spark, str(tmp_path), 7)
    assert [row.rule for row in own.collect()] == [7]
