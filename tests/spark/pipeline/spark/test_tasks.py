from functools import partial

from cbnet.pipeline.spark.tasks import run_tasks


def test_outcomes_come_in_the_order_of_the_tasks(spark):
    tasks = [partial(pow, base, 2) for base in range(9)]
    for partitions in (None, 1, 2, 7):
        assert run_tasks(spark, tasks, partitions) == [base**2 for base in range(9)]


def test_no_tasks_have_no_outcomes(spark):
    assert run_tasks(spark, []) == []
