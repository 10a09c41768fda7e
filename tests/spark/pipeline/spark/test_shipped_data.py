from functools import partial

import pyarrow as pa

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model_file import open_models, ship_models
from cbnet.pipeline.population.tag_model import TagModel
from cbnet.pipeline.spark.shipped_data import ship_table


def sums(batches, shipped):
    table = shipped.table()
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"sum": [sum(table["a"].to_pylist())], "rows": [table.num_rows]})


def test_tables_arrive_in_tasks(spark):
    shipped = ship_table(spark, pa.table({"a": range(5)}))
    rows = spark.range(2).repartition(2).mapInArrow(partial(sums, shipped=shipped), "sum long, rows long").collect()
    assert {tuple(row) for row in rows} == {(10, 5)}


def test_equal_tables_are_shipped_once(spark):
    one, same, other = (ship_table(spark, pa.table({"a": [number]})) for number in (1, 1, 2))
    assert one == same != other


def test_shipped_models_are_unchanged(spark):
    models = {
        "web": TagModel(TagSets.of([[1, 5], [2]]), 0.25, 2**31 - 5, 3),
        "blog": TagModel(TagSets.of([[7]]), 0.5, 9, 1),
    }
    opened = open_models(ship_models(spark, models))
    assert [*opened] == ["web", "blog"]
    for name, model in models.items():
        assert (opened[name].mutation, opened[name].first_new) == (model.mutation, model.first_new)
        assert opened[name].stride == model.stride
        assert opened[name].sets.to_lists() == model.sets.to_lists()
