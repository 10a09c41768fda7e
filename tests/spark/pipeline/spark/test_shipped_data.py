from functools import partial

import numpy as np
import pyarrow as pa

from cbnet.pipeline.population.application_models import default_models
from cbnet.pipeline.population.user_model import open_models, ship_models, user_sets
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


def test_shipped_models_generate_the_same_users(spark):
    models = default_models(["web", "blog"], first=2**31 - 5000)
    opened = open_models(ship_models(spark, models))
    assert [*opened] == ["web", "blog"]
    for name, model in models.items():
        made = [user_sets(each, 1, 0, np.arange(20), 5)[1].to_lists() for each in (model, opened[name])]
        assert made[0] == made[1]
        assert max(map(max, made[0])) < 2**31
