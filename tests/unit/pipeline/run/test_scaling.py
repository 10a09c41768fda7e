import pytest

from cbnet.errors import InputError
from cbnet.pipeline.run.scaling import descriptors_of, measured_costs
from cbnet.pipeline.spark.results import Provenance, StoredFile, StoredFiles, StoredResult


def stored(name, rows, size, master="local[2]", **cost):
    stored = StoredFiles("folder", [StoredFile("part-0", size, rows)])
    cost = {"java_cpu_seconds": 0.0, "python_cpu_seconds": 0.0, "shuffle_bytes": 0, "tasks": 1} | cost
    return StoredResult(name, Provenance(name), stored, rows, 1.0, "", cost, origin={"master": master})


RESULTS = {
    "models": stored("models", 4, 1_000, java_cpu_seconds=3.0),
    "population": stored("population", 2_000, 12_000, java_cpu_seconds=1.5, python_cpu_seconds=2.5, tasks=2),
    "predicates": stored("predicates", 500, 6_000, python_cpu_seconds=8.0, shuffle_bytes=40_000, tasks=10),
}


def test_costs_are_those_of_java_and_python_together():
    costs = measured_costs(RESULTS)
    assert [cost.cpu_seconds for cost in costs] == [3.0, 4.0, 8.0]
    assert descriptors_of(costs) == 2_000


def test_costs_of_a_cluster_are_those_of_its_tasks_and_not_of_the_driver():
    population = stored(
        "population",
        2_000,
        12_000,
        "spark://host:7077",
        java_cpu_seconds=0.5,
        python_cpu_seconds=0.5,
        executor_seconds=9.0,
    )
    assert [cost.cpu_seconds for cost in measured_costs({"population": population})] == [9.0]


def test_costs_grow_with_the_descriptors_except_those_of_models():
    models, _, predicates = (cost.times(10.0) for cost in measured_costs(RESULTS))
    assert (models.cpu_seconds, models.stored_bytes) == (3.0, 1_000)
    assert (predicates.rows, predicates.cpu_seconds, predicates.shuffle_bytes) == (5_000, 80.0, 400_000)


def test_tasks_keep_their_size():
    costs = measured_costs(RESULTS)
    assert [cost.bytes_per_task for cost in costs] == [1_000, 6_000, 4_000]
    assert [cost.times(7.0).bytes_per_task for cost in costs] == [1_000, 6_000, 4_000]


def test_a_run_without_population_is_an_error():
    with pytest.raises(InputError, match="no population"):
        measured_costs({"models": RESULTS["models"]})
