from functools import partial

from cbnet.pipeline.spark.parallelism import run_tasks


def test_results_have_the_order_of_the_tasks(spark):
    tasks = [partial(pow, base, 2) for base in range(9)]
    for partitions in (None, 1, 2, 7):
        assert run_tasks(spark, tasks, partitions) == [base**2 for base in range(9)]


def test_no_tasks_give_no_results(spark):
    assert run_tasks(spark, []) == []
