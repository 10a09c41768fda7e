import psutil

from cbnet.pipeline.spark.costs import CostMeter, process_usage, shuffled_bytes


def test_java_and_python_are_measured_apart(spark):
    assert spark.range(10).count() == 10
    usage = process_usage()
    assert psutil.Process() in usage
    java = sum(each.memory_bytes for each in usage.values() if each.is_java)
    assert java > 50 * 2**20  # Spark's Java alone has more
    assert not usage[psutil.Process()].is_java
    assert usage[psutil.Process()].memory_bytes > 10 * 2**20
    assert usage[psutil.Process()].cpu_seconds > 0


def test_meter_counts_work_and_shuffled_bytes(spark):
    rows = spark.range(0, 200_000, 1, 2).selectExpr("id", "id % 1000 AS key").repartition(3, "key")
    with CostMeter(spark) as meter:
        assert rows.groupBy("key").count().count() == 1000
        cost = meter.cost()
    assert cost["shuffle_bytes"] > 100_000  # 200,000 different numbers in two columns
    assert cost["java_cpu_seconds"] > 0
    assert cost["peak_bytes"] >= max(cost["java_peak_bytes"], cost["python_peak_bytes"])
    before = shuffled_bytes(spark)
    with CostMeter(spark) as idle:
        assert idle.cost()["shuffle_bytes"] == 0
    assert shuffled_bytes(spark) == before
