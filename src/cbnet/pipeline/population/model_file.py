"""Rows and files of user models: one row of MODELS for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from cbnet.matching.minimal_sets import TagSets
from cbnet.pipeline.population.user_model import Activity, TagLaw, UserModel
from cbnet.pipeline.schemas import MODELS, arrow_schema
from cbnet.pipeline.spark.shipped_data import ShippedData, ship_table


def ship_models(spark: SparkSession, models: Mapping[str, UserModel]) -> ShippedData:
    """Send models, by application, to all executors of a session."""
    return ship_table(spark, model_table(models))


@lru_cache(maxsize=8)
def open_models(shipped: ShippedData) -> dict[str, UserModel]:
    """Return models in a task; they are kept as long as the process."""
    return models_of_table(shipped.table())


def model_table(models: Mapping[str, UserModel]) -> pa.Table:
    """Return models as rows of MODELS."""
    rows = [
        {
            "app": app,
            "law": model.law.array(),
            "deviation": model.activity.deviation,
            "one_tag": model.activity.one_tag,
            "sizes": model.activity.sizes,
            "limit": model.activity.limit,
            "known": model.known,
            "first_new": model.first_new,
            "stride": model.stride,
            "topic_offsets": None if model.topics is None else model.topics.offsets,
            "topic_tags": None if model.topics is None else model.topics.tags,
        }
        for app, model in models.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(MODELS))


def models_of_table(table: pa.Table) -> dict[str, UserModel]:
    """Return the models of rows of MODELS."""
    return {
        batch["app"][row].as_py(): _model({name: batch[name][row] for name in batch.schema.names})
        for batch in table.combine_chunks().to_batches()
        for row in range(batch.num_rows)
    }


def _model(row: Mapping[str, Any]) -> UserModel:
    def array(name: str) -> Any:
        return np.asarray(row[name].values)

    return UserModel(
        TagLaw(*row["law"].as_py()),
        Activity(row["deviation"].as_py(), array("one_tag"), array("sizes"), row["limit"].as_py()),
        array("known"),
        row["first_new"].as_py(),
        row["stride"].as_py(),
        TagSets(array("topic_offsets"), array("topic_tags")) if row["topic_offsets"].is_valid else None,
    )
