from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from cbnet.pipeline.match.interface_buckets import bucket_of, interface_counts, read_interface, write_matches
from cbnet.pipeline.match.match_counts import COUNTS, COUNTS_TYPE

BUCKETS = 4


@pytest.fixture(scope="module")
def matches():
    return [(number, f"interface-{number % 11}") for number in range(300)]


@pytest.fixture(scope="module")
def folder(spark, matches, tmp_path_factory):
    path = tmp_path_factory.mktemp("routed") / "matches"
    write(spark.createDataFrame(matches, "id int, interface string").repartition(5), path, BUCKETS)
    return path


def write(frame, path, buckets):
    counted = frame.withColumn(COUNTS, F.lit(None).cast(COUNTS_TYPE))
    write_matches(counted, str(path), Observation(), buckets=buckets)


def test_each_bucket_is_one_file_sorted_by_interface(spark, folder, matches):
    files = [*folder.rglob("*.parquet")]
    assert len(files) == len({bucket_of(interface, BUCKETS) for _, interface in matches})
    for file in files:
        found = [row.interface for row in spark.read.parquet(str(file)).collect()]
        assert found == sorted(found)
        assert {f"bucket={bucket_of(interface, BUCKETS)}" for interface in found} == {file.parent.name}


def test_no_match_is_lost_or_duplicated(spark, folder, matches):
    assert sorted((row.id, row.interface) for row in spark.read.parquet(str(folder)).collect()) == sorted(matches)


def test_matches_are_counted_by_interface(spark, folder, matches):
    counts = {row.interface: row.matches for row in interface_counts(spark, str(folder), StringType()).collect()}
    assert counts == Counter(interface for _, interface in matches)


def test_one_interface_is_read_from_its_bucket(spark, folder):
    own = read_interface(spark, str(folder), "interface-3", buckets=BUCKETS)
    assert sorted(row.id for row in own.collect()) == [*range(3, 300, 11)]
    assert {Path(path).parent.name for path in own.inputFiles()} >= {f"bucket={bucket_of('interface-3', BUCKETS)}"}


def test_integer_interfaces_have_buckets(spark, tmp_path):
    write(spark.range(20).withColumnRenamed("id", "interface"), tmp_path / "m", 3)
    rows = spark.read.parquet(str(tmp_path / "m")).collect()
    assert {(row.interface, row.bucket) for row in rows} == {(number, bucket_of(number, 3)) for number in range(20)}


def test_zero_buckets_give_one_folder_without_a_shuffle(spark, tmp_path):
    frame = spark.range(20, numPartitions=2).withColumnRenamed("id", "interface")
    write(frame, tmp_path / "m", 0)
    assert len([*(tmp_path / "m").glob("*.parquet")]) == 2
    own = read_interface(spark, str(tmp_path / "m"), 7)
    assert [row.interface for row in own.collect()] == [7]
