"""The synthetic job: how does a trace become one of any size?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.population.model import Model
from cbnet.pipeline.population.model_file import open_model, ship_model
from cbnet.pipeline.population.synthetic_sets import synthetic_rows
from cbnet.pipeline.schemas import SETS, arrow_schema
from cbnet.pipeline.spark.partitions import partitions_for
from cbnet.pipeline.spark.shipped_arrays import Shipped

_AT_ONCE = 1 << 16  # sets


def synthetic_sets(
    spark: SparkSession, model: Model, app: str, role: str, rows: int, *, seed: int = 0, partitions: int | None = None
) -> DataFrame:
    """Return so many sets as the model makes, for any number of partitions the same: SETS."""
    if rows < 0:
        raise InputError(f"{rows} sets: give 0 or more")
    make = partial(_made, shipped=ship_model(spark, model), app=app, role=role, seed=seed)
    return spark.range(0, rows, 1, partitions or partitions_for(spark, rows)).mapInArrow(make, SETS)


def _made(
    batches: Iterator[pa.RecordBatch], shipped: Shipped, app: str, role: str, seed: int
) -> Iterator[pa.RecordBatch]:
    model = open_model(shipped)
    for batch in batches:
        numbers = np.asarray(batch.column(0))
        for start in range(0, len(numbers), _AT_ONCE):
            sets = synthetic_rows(model, seed, numbers[start : start + _AT_ONCE])
            columns = [pa.repeat(app, len(sets)), pa.repeat(role, len(sets)), sets.to_arrow()]
            yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(SETS))
