from functools import partial

import numpy as np
import pyarrow as pa

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model import Model
from cbnet.pipeline.population.model_file import model_arrays, model_of
from cbnet.pipeline.spark.shipped_arrays import ship


def sums(batches, shipped):
    arrays = shipped.arrays()
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"sum": [int(arrays["a"].sum())], "size": [len(arrays["b"])]})


def test_arrays_arrive_where_tasks_run(spark):
    shipped = ship(spark, {"a": np.arange(5, dtype=np.int64), "b": np.zeros(0, dtype=np.float64)})
    found = spark.range(2).repartition(2).mapInArrow(partial(sums, shipped=shipped), "sum long, size long").collect()
    assert {tuple(row) for row in found} == {(10, 0)}


def test_equal_arrays_are_shipped_once(spark):
    one, same, other = (ship(spark, {"a": np.array([number])}) for number in (1, 1, 2))
    assert one == same != other


def test_a_model_is_the_same_after_its_arrays():
    model = Model(TagSets.of([[1, 5], [2]]), 0.25, 2**31 - 5, 3)
    again = model_of(model_arrays(model))
    assert (again.mutation, again.first_new, again.stride) == (0.25, 2**31 - 5, 3)
    assert again.sets.to_lists() == [[1, 5], [2]]
