from threading import Thread

import psutil

from cbnet.pipeline.spark.costs import CostMeter, process_usage


def test_java_and_python_are_measured_apart(spark):
    assert spark.range(10).count() == 10
    usage = process_usage()
    assert psutil.Process() in usage
    java = sum(each.memory_bytes for each in usage.values() if each.is_java)
    assert java > 50 * 2**20  # Spark's Java alone has more
    assert not usage[psutil.Process()].is_java
    assert usage[psutil.Process()].memory_bytes > 10 * 2**20
    assert usage[psutil.Process()].cpu_seconds > 0


def shuffle(spark):
    rows = spark.range(0, 200_000, 1, 2).selectExpr("id", "id % 1000 AS key").repartition(3, "key")
    assert rows.groupBy("key").count().count() == 1000


def test_meter_counts_work_and_shuffled_bytes(spark):
    with CostMeter(spark) as meter:
        shuffle(spark)
        cost = meter.cost()
    assert cost["shuffle_bytes"] > 100_000  # 200,000 different numbers in two columns
    assert cost["java_cpu_seconds"] > 0
    assert cost["executor_seconds"] > cost["gc_seconds"] >= 0
    assert cost["tasks"] >= 6  # of two and of three partitions, and one that adds up
    assert cost["failed_tasks"] == 0
    assert cost["skew"]["longest_task_seconds"] >= cost["skew"]["median_task_seconds"]
    assert cost["peak_bytes"] >= max(cost["java_peak_bytes"], cost["python_peak_bytes"])


def test_meter_counts_only_jobs_of_its_own_thread(spark):
    with CostMeter(spark) as meter:
        other = Thread(target=shuffle, args=(spark,))
        other.start()
        assert spark.range(7).collect()
        other.join()
        cost = meter.cost()
    assert (cost["shuffle_bytes"], cost["tasks"]) == (0, 2)  # local[2]
    shuffle(spark)
    assert meter.cost()["shuffle_bytes"] == 0
