"""Rows and files of tag models: one row of MODELS for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.tag_model import TagModel
from cbnet.pipeline.schemas import MODELS, arrow_schema
from cbnet.pipeline.spark.shipped_data import ShippedData, ship_table


def ship_models(spark: SparkSession, models: Mapping[str, TagModel]) -> ShippedData:
    """Send models, by application, to all executors of a session."""
    return ship_table(spark, model_table(models))


@lru_cache(maxsize=8)
def open_models(shipped: ShippedData) -> dict[str, TagModel]:
    """Return models in a task; they and their cached properties are kept as long as the process."""
    return models_of_table(shipped.table())


def model_table(models: Mapping[str, TagModel]) -> pa.Table:
    """Return models as rows of MODELS: few, each with all its sets."""
    rows = [
        {
            "app": app,
            "mutation": model.mutation,
            "first_new": model.first_new,
            "stride": model.stride,
            "offsets": model.sets.offsets,
            "tags": model.sets.tags,
        }
        for app, model in models.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(MODELS))


def models_of_table(table: pa.Table) -> dict[str, TagModel]:
    """Return the models of rows of MODELS."""
    return {
        batch["app"][row].as_py(): TagModel(
            TagSets(np.asarray(batch["offsets"][row].values), np.asarray(batch["tags"][row].values)),
            batch["mutation"][row].as_py(),
            batch["first_new"][row].as_py(),
            batch["stride"][row].as_py(),
        )
        for batch in table.combine_chunks().to_batches()
        for row in range(batch.num_rows)
    }
