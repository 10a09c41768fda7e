import os

from cbnet.pipeline.spark.costs import Meter, memory_bytes, process_times, shuffled_bytes


def test_java_and_python_are_told_apart(spark):
    assert spark.range(10).count() == 10
    assert {process.is_java for process in process_times()} == {True, False}
    assert os.getpid() in {process.number for process in process_times()}
    java, python = memory_bytes()
    assert java > 50 * 2**20  # Spark's Java alone has more
    assert python > 10 * 2**20


def test_a_meter_counts_work_and_bytes_that_are_shuffled(spark):
    rows = spark.range(0, 200_000, 1, 2).selectExpr("id", "id % 1000 AS key").repartition(3, "key")
    with Meter(spark) as meter:
        assert rows.groupBy("key").count().count() == 1000
        cost = meter.cost()
    assert cost["shuffle_bytes"] > 100_000  # 200,000 different numbers in two columns
    assert cost["java_cpu_seconds"] > 0
    assert cost["peak_bytes"] >= max(cost["java_peak_bytes"], cost["python_peak_bytes"])
    before = shuffled_bytes(spark)
    with Meter(spark) as idle:
        assert idle.cost()["shuffle_bytes"] == 0
    assert shuffled_bytes(spark) == before
