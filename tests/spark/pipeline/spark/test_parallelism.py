from functools import partial

from cbnet.pipeline.spark.parallelism import run_tasks
from cbnet.topology import Ties, topology
from cbnet.topology.survey import survey


def test_results_have_the_order_of_the_tasks(spark):
    tasks = [partial(pow, base, 2) for base in range(9)]
    for partitions in (None, 1, 2, 7):
        assert run_tasks(spark, tasks, partitions) == [base**2 for base in range(9)]


def test_no_tasks_give_no_results(spark):
    assert run_tasks(spark, []) == []


def test_survey_of_trees_equals_that_of_one_process(spark):
    graph = topology("aslike:60", seed=1)
    chosen = {"ties": [Ties.SMALLEST, Ties.RANDOM], "sources": 9, "selections": 3, "seed": 2}
    expected = survey(graph, [2, 5], **chosen)
    found = survey(graph, [2, 5], run=partial(run_tasks, spark), **chosen)
    size = {"nodes": len(graph), "links": graph.edge_count, "scale": graph.scale}
    assert [each.members(**size) for each in found] == [each.members(**size) for each in expected]
    assert [(each.ties, each.k) for each in found] == [(ties, k) for ties in chosen["ties"] for k in (2, 5)]
